package explain_test

import (
	"path/filepath"
	"testing"

	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
)

// TestLayersOfGraphs: on request, layers of replayed graphs are in the tables of layers and in the critical path, which
// they add up to; without it, they are in neither.
func TestLayersOfGraphs(t *testing.T) {
	for _, c := range []struct {
		name, dir, stack string
		layers           int
		share            float64 // of the GPU time of decode steps, lower bound
	}{
		{"aligned with steps launched kernel by kernel", filepath.Join(explaintest.Traces, "graphs"), "model.layers", 6, 0.85},
		{"by the repeated pattern of kernels, SGLang", filepath.Join(explaintest.Traces, "sglang_shared"), "layers", 24, 0.75},
	} {
		t.Run(c.name, func(t *testing.T) {
			if r := explaintest.Analyzed(t, explaintest.ReadDir(t, c.dir)); len(r.Layers.Layers)+len(r.Layers.Graphs)+len(r.Path.Layers) > 0 {
				t.Errorf("layers of graphs not requested: got %+v, want none", r.Layers)
			}
			r, err := explain.Analyze(explaintest.ReadDir(t, c.dir), explain.Options{Layers: true})
			if err != nil {
				t.Fatal(err)
			}
			explaintest.CheckIdentities(t, r)
			share, n := 0.0, 0
			for _, l := range r.Layers.Layers {
				if l.Kind == "decode" && l.Stack == c.stack {
					share, n = share+l.Share, n+1
				}
			}
			if n != c.layers || share < c.share || share > 1 {
				t.Errorf("got %d layers with share %.3f of the time, want %d with at least %.3f: %+v", n, share, c.layers, c.share, r.Layers.Layers)
			}
			in := map[string]int{}
			for _, l := range r.Path.Layers {
				in[l.Stack]++
			}
			if in[c.stack] != c.layers || in[""] != 1 {
				t.Errorf("got critical path layers %+v, want %d of %s and one row without a layer", r.Path.Layers, c.layers, c.stack)
			}
			for _, f := range r.Findings {
				if f.Kind == result.SlowLayer {
					t.Errorf("got slow layer %+v, want none: the layers may run different work", f)
				}
			}
		})
	}
}
