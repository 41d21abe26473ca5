package graphlayers_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/graphlayers"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

const (
	balanced = "../../../testdata/traces/balanced"
	skewed   = "../../../testdata/traces/compute_skew"
	graphs   = "../../../testdata/traces/graphs"
	sglang   = "testdata"
)

func traces(t testing.TB, dir string) []*trace.Trace {
	t.Helper()
	sets, err := set.Find([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	ts, failures, err := read.ReadSet(context.Background(), sets[0], read.Options{})
	if err != nil || len(failures) > 0 {
		t.Fatal(err, failures)
	}
	return ts
}

// withheld returns a trace as if each step of a kind replayed one graph: one launch for all GPU work, no names of layers.
func withheld(t *trace.Trace, kind trace.StepKind) *trace.Trace {
	out := *t
	out.Spans = nil
	first := map[int]int64{} // by step: the correlation that stays
	corr := map[int64]int64{}
	passes, _ := trace.Passes(t)
	work := map[int64]bool{}
	for i := range t.Spans {
		if s := &t.Spans[i]; s.Cat.OnGPU() {
			work[s.Corr] = true
		}
	}
	launch := out.Strings.Intern([]byte("cudaGraphLaunch"))
	for _, s := range t.Spans {
		name := t.Strings.Get(s.Name)
		at := slices.IndexFunc(passes, func(p trace.Pass) bool { return s.Start >= p.Start && s.Start < p.End && p.Step.Kind == kind })
		switch {
		case s.Cat == trace.PythonFunction, s.Cat == trace.UserAnnotation && strings.HasPrefix(name, "model."):
			continue
		case s.Cat.Launch() && work[s.Corr] && at >= 0:
			if of, ok := first[at]; ok {
				corr[s.Corr] = of
				continue
			}
			first[at], s.Name = s.Corr, launch
		}
		out.Spans = append(out.Spans, s)
	}
	for i := range out.Spans {
		if s := &out.Spans[i]; s.Cat.OnGPU() && corr[s.Corr] != 0 {
			s.Corr = corr[s.Corr]
		}
	}
	return &out
}

func ranksOf(ts []*trace.Trace) graphlayers.Window {
	w := graphlayers.Window{}
	for _, t := range ts {
		w.Ranks = append(w.Ranks, prep.Trace(t, nil))
	}
	w.Names = prep.Join(w.Ranks)
	return w
}

// numbers returns the layer of each of a rank's ops; -1: none.
func numbers(m *prep.Markers, r *prep.Rank) []int {
	out := make([]int, len(r.Ops))
	for i := range r.Ops {
		if out[i] = -1; len(r.Ranges) == 0 {
			continue
		}
		if l := m.LayerAt(r, r.RangeAt(i)); l >= 0 {
			out[i] = m.Layers[l].N
		}
	}
	return out
}

// TestWithheld turns steps that real captures launched kernel by kernel into graph replays without names of layers, and
// counts the layers that are found again.
func TestWithheld(t *testing.T) {
	type of struct {
		dir  string
		rank int // -1: all
	}
	for _, c := range []struct {
		name      string
		own, from of // from: none if the layers are to be found without another window
		kind      trace.StepKind
		by        string
	}{
		{"decode, aligned with another window of the same server", of{skewed, -1}, of{balanced, -1}, trace.Decode, result.GraphsAligned},
		{"prefill, aligned with another window of the same server", of{skewed, -1}, of{balanced, -1}, trace.Prefill, result.GraphsAligned},
		{"SGLang's prefill on a data-parallel rank, aligned with the batch of the other", of{sglang, 0}, of{sglang, 1}, trace.Prefill, result.GraphsAligned},
		{"SGLang's prefill on the other data-parallel rank", of{sglang, 1}, of{sglang, 0}, trace.Prefill, result.GraphsAligned},
		{"SGLang's prefill, by the repeated pattern", of{sglang, -1}, of{}, trace.Prefill, result.GraphsMotif},
	} {
		capture := func(x of) []*trace.Trace {
			if x.rank < 0 {
				return traces(t, x.dir)
			}
			return traces(t, x.dir)[x.rank : x.rank+1]
		}
		t.Run(c.name, func(t *testing.T) {
			known := ranksOf(capture(c.own))
			marks := prep.FindLayers(known.Ranks)
			var cut []*trace.Trace
			for _, x := range capture(c.own) {
				cut = append(cut, withheld(x, c.kind))
			}
			own := ranksOf(cut)
			var from *graphlayers.Window
			all := own.Ranks
			if c.from.dir != "" {
				w := ranksOf(capture(c.from))
				from, all = &w, slices.Concat(own.Ranks, w.Ranks)
			}
			back := prep.FindLayers(all)
			rows := graphlayers.Find(own, from, back)
			i := slices.IndexFunc(rows, func(g result.GraphLayers) bool { return g.Kind == prep.KindName(c.kind) })
			if i < 0 || !rows[i].Known || rows[i].By != c.by {
				t.Fatalf("got rows %+v, want known layers by %v", rows, c.by)
			}
			named, right, wrong := 0, 0, 0
			for i, r := range known.Ranks {
				want, got := numbers(marks, r), numbers(back, own.Ranks[i])
				for k, n := range want {
					if r.KindAt(r.Ops[k].Step) != c.kind {
						continue
					}
					if n >= 0 {
						named++
					}
					switch {
					case got[k] < 0:
					case got[k] == n:
						right++
					default: // another layer, or none
						wrong++
					}
				}
			}
			t.Logf("%d of %d kernels have the right layer, %d a wrong one", right, named, wrong)
			// A rank of the first window runs kernels that the other lacks: their layers stay unknown.
			if told := right + wrong; named < 400 || float64(right) < 0.99*float64(told) || float64(told) < 0.98*float64(named) {
				t.Errorf("got %d right and %d wrong layers of %d kernels, want layers for 98 %% and 99 %% of them right: %+v", right, wrong, named, rows)
			}
		})
	}
}

// TestReplays compares real replays with the known models: the number of layers, and equal kernels in all layers but the
// first.
func TestReplays(t *testing.T) {
	for _, c := range []struct {
		dir, by string
		layers  int
	}{
		{graphs, result.GraphsAligned, 6},
		{sglang, result.GraphsMotif, 16},
		{"../../../testdata/traces/sglang_shared", result.GraphsMotif, 24},
	} {
		t.Run(c.dir, func(t *testing.T) {
			own := ranksOf(traces(t, c.dir))
			marks := prep.FindLayers(own.Ranks)
			rows := graphlayers.Find(own, nil, marks)
			i := slices.IndexFunc(rows, func(g result.GraphLayers) bool { return g.Kind == "decode" })
			if i < 0 || !rows[i].Known || rows[i].By != c.by || rows[i].Covered < graphlayers.Enough {
				t.Fatalf("got rows %+v, want known layers by %v", rows, c.by)
			}
			for _, r := range own.Ranks {
				kernels := map[int]map[int][]int32{} // by step and layer
				for k, n := range numbers(marks, r) {
					o := &r.Ops[k]
					if n < 0 || r.KindAt(o.Step) != trace.Decode {
						continue
					}
					if kernels[int(o.Step)] == nil {
						kernels[int(o.Step)] = map[int][]int32{}
					}
					kernels[int(o.Step)][n] = append(kernels[int(o.Step)][n], o.Key)
				}
				for step, by := range kernels {
					if len(by) != c.layers {
						t.Errorf("step %d: got %d layers, want %d", step, len(by), c.layers)
					}
					for n, k := range by {
						if n > 1 && !slices.Equal(k, by[1]) || len(k) != len(by[1]) {
							t.Errorf("step %d: the kernels of layer %d differ from those of layer 1", step, n)
						}
					}
				}
			}
		})
	}
}

// TestRefused has replays whose layers cannot be found.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name      string
		dir, from string
		why       string
		unsure    bool
	}{
		{"no norm after the last repetition", balanced, "", "graph_layers_repeat", false},
		{"a window of another model", balanced, sglang, "graph_layers_unlike", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var cut []*trace.Trace
			for _, x := range traces(t, c.dir) {
				cut = append(cut, withheld(x, trace.Decode))
			}
			own := ranksOf(cut)
			var from *graphlayers.Window
			all := own.Ranks
			if c.from != "" {
				w := ranksOf(traces(t, c.from))
				from, all = &w, slices.Concat(own.Ranks, w.Ranks)
			}
			marks := prep.FindLayers(all)
			rows := graphlayers.Find(own, from, marks)
			if len(rows) != 1 || rows[0].Known || rows[0].Covered >= graphlayers.Enough || rows[0].Unsure > 0 != c.unsure || rows[0].Why.Key != c.why {
				t.Errorf("got rows %+v, want unknown layers for the reason %s", rows, c.why)
			}
			for _, r := range own.Ranks {
				if got := numbers(marks, r); slices.Max(got) >= 0 {
					t.Errorf("got layers %v of ops, want none", got)
				}
			}
		})
	}
}
