package engine

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
	"github.com/stepscope/stepscope/internal/reference/engine/sched"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
	"github.com/stepscope/stepscope/internal/tracefile/check"
	"github.com/stepscope/stepscope/internal/tracefile/set"
)

// serve starts an engine on real ranks with dummy weights.
func serve(t *testing.T, name string, z Sizes, noGraphs bool, so sched.Options) *Engine {
	t.Helper()
	cfg, err := model.BuiltinConfig(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	z = z.normal()
	so.Blocks, so.Vocab, so.MaxRunning = 24, cfg.Vocab, 8
	if so.ChunkedPrefill == 0 {
		so.ChunkedPrefill = 256
	}
	var groups []Group
	for dp := range z.DP {
		g, err := NewRanks(RanksOptions{
			TeamOptions: TeamOptions{
				Sizes: z, DP: dp, Host: "here", Device: func(int) device.Options { return device.Options{Name: "test"} },
			},
			Config: cfg, Source: model.NewDummy(cfg, 1),
			Model: model.Options{
				Format: tensor.F32, NumBlocks: so.Blocks, MaxSeqs: so.MaxRunning, MaxTokens: so.ChunkedPrefill,
				NoGraphs: noGraphs, GraphSizes: []int{1, 4},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		groups = append(groups, g)
	}
	so.Graphs = !noGraphs
	e := New(groups, Options{Sched: so, ContextLen: cfg.ContextLen(), Sizes: z})
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// ask submits prompts together and returns the tokens that each generates.
func ask(t *testing.T, e *Engine, prompts [][]int32, n int) [][]int32 {
	t.Helper()
	var streams []<-chan api.Event
	for _, p := range prompts {
		events, err := e.Submit(t.Context(), &api.Request{Input: p, Params: api.Sampling{MaxNewTokens: n, IgnoreEOS: true}, LogprobStart: -1, DPRank: -1})
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, events)
	}
	var out [][]int32
	for _, s := range streams {
		var tokens []int32
		for _, ev := range drain(s) {
			tokens = append(tokens, ev.Token)
			if f := ev.Finish; f != nil && f.Type == api.FinishAbort {
				t.Fatal(f.Message)
			}
		}
		out = append(out, tokens)
	}
	return out
}

func prompts() [][]int32 {
	var out [][]int32
	for i := range 5 {
		p := make([]int32, 40+70*i)
		for j := range p {
			p[j] = int32(j*j*7+i/3) % 250
		}
		out = append(out, p)
	}
	return out
}

// The tokens of a model do not depend on its layout, batching, caching or replaying.
func TestSameTokensInEveryLayout(t *testing.T) {
	for _, name := range []string{"llama-tiny", "qwen3-moe-tiny"} {
		t.Run(name, func(t *testing.T) {
			one := serve(t, name, Sizes{}, true, sched.Options{DisableRadix: true, ChunkedPrefill: 1024})
			var want [][]int32
			for _, p := range prompts() {
				want = append(want, ask(t, one, [][]int32{p}, 12)[0])
			}
			layouts := []Sizes{{}, {TP: 2}, {PP: 2}, {DP: 2}, {TP: 2, PP: 2}}
			if strings.Contains(name, "moe") {
				layouts = append(layouts, Sizes{TP: 2, EP: 2})
			}
			for _, z := range layouts {
				e := serve(t, name, z, false, sched.Options{ChunkedPrefill: 100})
				for range 2 { // the second time from the cache
					if got := ask(t, e, prompts(), 12); !slices.EqualFunc(got, want, slices.Equal) {
						t.Errorf("%+v:\n%v\nwant\n%v", z, got, want)
					}
				}
			}
		})
	}
}

// Eight rank files and a merged one, each with the requested steps, which this program's own reader and checker accept.
func TestProfileOfRealRanks(t *testing.T) {
	e := serve(t, "llama-tiny", Sizes{TP: 2, DP: 2, PP: 2}, false, sched.Options{})
	dir := t.TempDir()
	req := profileIn(dir)
	req.NumSteps, req.Merge = 6, true
	req.Activities |= api.ActivityMem
	req.RecordShapes, req.WithStack = true, true
	if err := e.StartProfile(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	s := e.session.Load()
	ask(t, e, prompts(), 20)
	res := waitOver(t, s)
	if len(res.Files) != 16 || res.Merged == "" || strings.Contains(res.Message, "incomplete") {
		t.Fatalf("%+v", res)
	}
	sets, err := set.Find([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	report, err := check.Check(t.Context(), sets[0], nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(sets) != 1 || len(report.Files) != 8 || len(report.Missing) > 0 {
		t.Fatalf("%d sets, %d files, missing %v", len(sets), len(report.Files), report.Missing)
	}
	ranks := map[int]int{} // each data-parallel replica is a job of its own, of 4 ranks
	for _, f := range report.Files {
		n := 0
		for _, k := range f.Steps {
			n += k
		}
		if n != 6 || f.Problem != nil || len(f.Odd) > 0 || f.World != 4 || f.Rank == nil {
			t.Errorf("%+v", f)
			continue
		}
		ranks[*f.Rank]++
	}
	if want := map[int]int{0: 2, 1: 2, 2: 2, 3: 2}; !maps.Equal(ranks, want) {
		t.Errorf("ranks %v", ranks)
	}
}

func TestRanksRefuse(t *testing.T) {
	cfg, err := model.BuiltinConfig("llama-tiny", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewRanks(RanksOptions{TeamOptions: TeamOptions{Sizes: Sizes{EP: 2}}, Config: cfg, Source: model.NewDummy(cfg, 1)}); err == nil {
		t.Error("expert parallelism without experts was accepted")
	}
}
