package launch_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/launch"
	"github.com/stepscope/stepscope/internal/reference/server"
)

// TestGreedyTokens serves models of Hugging Face directories in every supported way: the greedy tokens are those of
// transformers, 64 steps of batches of 1 and 8, the second time from the prefix cache.
func TestGreedyTokens(t *testing.T) {
	type change = func(*launch.ModelArgs)
	ways := []struct {
		name    string
		change  change
		experts bool
	}{
		{"default", nil, false},
		{"no radix cache", func(a *launch.ModelArgs) { a.DisableRadix = true }, false},
		{"chunked prefill", func(a *launch.ModelArgs) { a.ChunkedPrefill = 16 }, false},
		{"no graphs", func(a *launch.ModelArgs) { a.DisableGraph = true }, false},
		{"little memory", func(a *launch.ModelArgs) { a.MaxTotalTokens = 640 }, false},
		{"TP2", func(a *launch.ModelArgs) { a.TP = 2 }, false},
		{"TP4", func(a *launch.ModelArgs) { a.TP = 4 }, false},
		{"PP2", func(a *launch.ModelArgs) { a.PP = 2 }, false},
		{"DP2", func(a *launch.ModelArgs) { a.DP = 2 }, false},
		{"TP2 DP2 PP2", func(a *launch.ModelArgs) { a.TP, a.DP, a.PP = 2, 2, 2 }, false},
		{"EP2", func(a *launch.ModelArgs) { a.TP, a.EP = 2, 2 }, true},
	}
	for _, model := range []string{"llama", "qwen2", "qwen3", "qwen3moe"} {
		dir, want := reference(t, model)
		for _, way := range ways {
			if way.experts && model != "qwen3moe" {
				continue
			}
			t.Run(model+"/"+way.name, func(t *testing.T) {
				e := load(t, func(a *launch.ModelArgs) {
					// Products of bf16 pairs, which auto selects for bf16 weights, round as GPUs do.
					a.ModelPath, a.DType, a.SkipTokenizer = dir, "float32", true
					if way.change != nil {
						way.change(a)
					}
				})
				greedy(t, e, want.Prompts, want.Tokens)
			})
		}
	}
}

// answers are the greedy tokens of transformers after eight prompts.
type answers struct{ Prompts, Tokens [][]int32 }

// reference is a model with its answers.
func reference(t *testing.T, model string) (dir string, want answers) {
	t.Helper()
	dir = filepath.Join("..", "engine", "model", "testdata", model)
	data, err := os.ReadFile(filepath.Join(dir, "reference.json"))
	if err == nil {
		err = json.Unmarshal(data, &want)
	}
	if err != nil || len(want.Prompts) != 8 || len(want.Tokens[0]) != 64 {
		t.Fatal(err, len(want.Prompts))
	}
	return dir, want
}

// greedy asks for 64 tokens after one of the prompts, and twice after all of them.
func greedy(t *testing.T, e server.Engine, prompts, want [][]int32) {
	t.Helper()
	for _, batch := range [][]int{{7}, {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}} {
		streams := make([]<-chan api.Event, len(batch))
		for k, i := range batch {
			var err error
			streams[k], err = e.Submit(t.Context(), &api.Request{
				ID: fmt.Sprint(i), Input: prompts[i], LogprobStart: -1, DPRank: -1,
				Params: api.Sampling{MaxNewTokens: 64, TopP: 1, RepetitionPenalty: 1, IgnoreEOS: true},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for k, i := range batch {
			var got []int32
			for ev := range streams[k] {
				got = append(got, ev.Token)
			}
			if !slices.Equal(got, want[i]) {
				t.Errorf("batch of %d, prompt %d:\n%v\nwant\n%v", len(batch), i, got, want[i])
			}
		}
	}
}
