package explain_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/result"
	serving "github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/hf"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/trace"
)

// routed generates random weights with which a token alone determines its experts: tokens below half of the vocabulary are
// large and positive in one component, which persists through the layers, and the router reads only that component. In
// turned layers it reads its negative.
type routed struct {
	hf.Source
	cfg  *model.Config
	turn func(layer int) bool
}

func (s routed) Read(name string, off int, dst []float32) error {
	if err := s.Source.Read(name, off, dst); err != nil {
		return err
	}
	var layer int
	router := strings.HasSuffix(name, ".mlp.gate.weight")
	if !router && name != "model.embed_tokens.weight" {
		return nil
	}
	fmt.Sscanf(name, "model.layers.%d.", &layer)
	for i := range dst {
		row, place := (off+i)/s.cfg.Hidden, (off+i)%s.cfg.Hidden
		half := s.cfg.Vocab / 2
		if router {
			dst[i], half = 0, s.cfg.Experts/2
		}
		if place != 0 {
			continue
		}
		dst[i] = 200
		if router {
			dst[i] = 1 - float32(row%half)/8 // prefer the first two experts of a half
		}
		if (row >= half) != (router && s.turn(layer)) {
			dst[i] = -dst[i]
		}
	}
	return nil
}

// TestKnownRouting: findings about experts match the router's known behaviour, on stepscope's own engine, whose first
// rank has the experts of the lower half of the tokens.
func TestKnownRouting(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: runs the engine")
	}
	const steps, tokens = 13, 256
	straight := func(int) bool { return false }
	for _, c := range []struct {
		name string
		turn func(layer int) bool
		low  func(step int) int // tokens below half of the vocabulary
		// Expected results. Times are measured: a balance of 0.5 may be up to 0.6.
		ratio [2]float64
		same  [2]float64
		leads []int // by layer; nil: no particular one
		says  string
	}{
		{"all tokens to the second rank", straight, func(int) int { return 0 }, [2]float64{0.5, 0.65}, [2]float64{0.9, 1}, []int{1, 1, 1, 1}, "which is always the same in a layer: by where experts are placed"},
		{"to each rank in alternate layers", func(layer int) bool { return layer%2 == 1 }, func(int) int { return tokens }, [2]float64{0.5, 0.65}, [2]float64{0.9, 1}, []int{0, 1, 0, 1}, "which is always the same in a layer: by where experts are placed"},
		{"to one rank or the other, by step", straight, func(n int) int { return tokens * (n * n / 3 % 2) }, [2]float64{0.5, 0.65}, [2]float64{0, 0.5}, nil, "which changes from step to step: by what the router chooses"},
		{"as many to each rank", straight, func(int) int { return tokens / 2 }, [2]float64{0.8, 1}, [2]float64{0, 1}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, err := model.BuiltinConfig("qwen3-moe-tiny", []byte(`{"moe_intermediate_size": 512}`))
			if err != nil {
				t.Fatal(err)
			}
			ranks, err := serving.NewRanks(serving.RanksOptions{
				TeamOptions: serving.TeamOptions{Sizes: serving.Sizes{TP: 2, EP: 2}, Host: "here", Device: func(int) device.Options { return device.Options{Name: "test"} }},
				Config:      cfg, Source: routed{model.NewDummy(cfg, 1), cfg, c.turn},
				Model: model.Options{Format: tensor.F32, NumBlocks: 2 * tokens / model.BlockLen, MaxSeqs: 1, MaxTokens: tokens, NoGraphs: true},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer ranks.Close()
			for _, r := range ranks.Ranks() {
				if err := r.Recorder.StartRecording(device.RecordOptions{CPU: true, GPU: true}); err != nil {
					t.Fatal(err)
				}
			}
			for n := range steps {
				seq := model.Seq{Tokens: make([]int32, tokens)}
				for i := range seq.Tokens {
					if seq.Tokens[i] = int32((7*i + n) % 200); i >= c.low(n) {
						seq.Tokens[i] += int32(cfg.Vocab / 2)
					}
				}
				for i := range tokens / model.BlockLen {
					seq.Blocks = append(seq.Blocks, int32(i))
				}
				name := fmt.Sprintf("step[EXTEND bs=1 toks=%d]", tokens)
				if _, err := ranks.Run(name, func() string { return "" }, &model.Batch{Seqs: []model.Seq{seq}}); err != nil {
					t.Fatal(err)
				}
			}
			dir := t.TempDir()
			for _, r := range ranks.Ranks() {
				f, err := os.Create(filepath.Join(dir, fmt.Sprintf("1700000000.5-TP-%d-EP-%d.trace.json.gz", r.TP, r.EP)))
				if err != nil {
					t.Fatal(err)
				}
				if err := serving.WriteTrace(f, r.Recorder.StopRecording(), r.Meta); err != nil {
					t.Fatal(err)
				}
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
			}
			ts := explaintest.ReadDir(t, dir)
			rep := explaintest.Analyzed(t, ts)
			rows := explaintest.BalanceRows(rep, result.Experts)
			if len(rows) != 1 {
				t.Fatalf("got balance rows %+v, want one%s", rows, explaintest.Describe(rep))
			}
			b := rows[0]
			var leads []int
			for _, l := range b.Layers {
				leads = append(leads, l.Slowest)
			}
			// With enough cores the report states all of this; otherwise it states neither an imbalance nor that the
			// work is even.
			var noCore, host int64
			for _, tr := range ts {
				for _, s := range tr.Spans {
					if s.Cat == trace.NoCore {
						noCore += s.Dur
					}
				}
			}
			for _, x := range rep.Times {
				if x.Rank == "all" && x.Kind == "all" {
					host = x.IdleBy.Host
				}
			}
			if text := explaintest.AllWords(rep); c.says != "" && !strings.Contains(text, c.says) && 2*noCore <= host || c.says != "" && explaintest.Has(rep, result.Balanced) {
				t.Errorf("want %q and no balanced finding in\n%s", c.says, text)
			}
			t.Logf("balance %.3f, same %.2f, %s of %s lost, waited %s, leads %v%s", b.Ratio, b.Same, metric.Duration(b.Lost), metric.Duration(b.Period), metric.Duration(b.Waited), leads, explaintest.Describe(rep))
			if b.Ratio < c.ratio[0] || b.Ratio > c.ratio[1] || b.Same < c.same[0] || b.Same > c.same[1] || len(b.Layers) != 4 || c.leads != nil && !slices.Equal(leads, c.leads) {
				t.Errorf("got %+v, want ratio in %v, same in %v, leading ranks %v%s", b, c.ratio, c.same, c.leads, explaintest.Describe(rep))
			}
		})
	}
}
