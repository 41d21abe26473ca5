package graphlayers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/graphlayers"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// carried turns steps of some ranks into graph replays without frames, carries sources from other ranks, and compares
// the result with the recorded sources.
func carried(t *testing.T, own, from []*trace.Trace, kind trace.StepKind) (row result.GraphLayers, ops, right, wrong int) {
	t.Helper()
	known := ranksOf(own)
	var cut []*trace.Trace
	for _, x := range own {
		cut = append(cut, withheld(x, kind))
	}
	graphs, eager := ranksOf(cut), ranksOf(from)
	rows := graphlayers.Carry(graphs, eager, prep.FindLayers(eager.Ranks))
	i := slices.IndexFunc(rows, func(g result.GraphLayers) bool { return g.Kind == prep.KindName(kind) })
	if i < 0 {
		t.Fatalf("got rows %+v, want one of kind %v", rows, kind)
	}
	for i, r := range known.Ranks {
		for k := range r.Ops {
			want, got := r.SiteOf(k), graphs.Ranks[i].SiteOf(k)
			if r.KindAt(r.Ops[k].Step) != kind || want < 0 {
				continue
			}
			ops++
			if got < 0 {
				continue
			}
			x, y := graphs.Names.Sites[got], known.Names.Sites[want]
			if y.Layer < 0 { // code compiled by torch.compile calls no modules
				x.Module, x.Layer, x.Op = y.Module, y.Layer, y.Op
			}
			if x == y {
				right++
			} else {
				wrong++
				t.Logf("got %+v, want %+v", x, y)
			}
		}
	}
	return rows[i], ops, right, wrong
}

// TestCarry carries the sources of kernels to replays in real captures whose sources are known.
func TestCarry(t *testing.T) {
	const stacks = "../../../testdata/traces/stacks"
	data := filepath.Join(os.Getenv("STEPSCOPE_DATA"), "traces")
	for _, c := range []struct {
		dir       string
		own, from int // ranks
		kind      trace.StepKind
		least     float64 // share of kernels with a source
	}{
		{stacks, 0, 1, trace.Decode, 0.9},
		{stacks, 3, 0, trace.Prefill, 0.99},
		{filepath.Join(data, "sglang_moe"), 0, 1, trace.Prefill, 0.4}, // the ranks' batches differ, and so do grids
		{filepath.Join(data, "sglang_moe"), 1, 0, trace.Prefill, 0.4},
		{filepath.Join(data, "sglang17_hog"), 0, 1, trace.Prefill, 0.5},
	} {
		t.Run(fmt.Sprint(filepath.Base(c.dir), c.own), func(t *testing.T) {
			if c.dir != stacks && os.Getenv("STEPSCOPE_DATA") == "" {
				t.Skip("STEPSCOPE_DATA is not set: the directory of the shared captures")
			}
			ts := traces(t, c.dir)
			row, ops, right, wrong := carried(t, ts[c.own:c.own+1], ts[c.from:c.from+1], c.kind)
			t.Logf("%d of %d kernels have the right source, %d a wrong one: %+v", right, ops, wrong, row)
			if !row.Known || wrong > 0 || float64(right) < c.least*float64(ops) {
				t.Errorf("got %d right and %d wrong sources of %d kernels, want %.0f %% right and none wrong", right, wrong, ops, 100*c.least)
			}
		})
	}
}

// TestCarryRefused: a window of another model, which shares a few kernels, gives no sources.
func TestCarryRefused(t *testing.T) {
	own, from := ranksOf(traces(t, sglang)), ranksOf(traces(t, "../../../testdata/traces/stacks"))
	rows := graphlayers.Carry(own, from, prep.FindLayers(from.Ranks))
	if len(rows) == 0 || slices.ContainsFunc(rows, func(g result.GraphLayers) bool { return g.Known || g.Why.Key != "graph_layers_unlike" }) {
		t.Errorf("got rows %+v, want no alignment", rows)
	}
	for _, r := range own.Ranks {
		for i := range r.Ops {
			if r.Carried(i) {
				t.Fatalf("op %d got a source from another model", i)
			}
		}
	}
}
