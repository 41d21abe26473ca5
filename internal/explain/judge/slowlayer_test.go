package judge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

func layerFindings(r *result.Report) []string {
	var out []string
	for _, f := range r.Findings {
		if f.Kind == result.SlowLayer {
			out = append(out, report.Words(f.Title))
		}
	}
	return out
}

// TestSlowLayer: an outlier among similar layers is reported, with its place; a pattern of the model, or of a whole
// rank, is not.
func TestSlowLayer(t *testing.T) {
	jitter := func(rank, step, layer int) int64 { return int64((rank*7 + step*5 + layer*3) % 11) }
	for _, c := range []struct {
		name string
		took func(rank, step, layer int) int64
		want []string
	}{
		{"all layers alike", func(r, n, l int) int64 { return 600 + jitter(r, n, l) }, nil},
		{"layer 5 of rank 2", func(r, n, l int) int64 {
			if r == 2 && l == 5 {
				return 1100 + jitter(r, n, l)
			}
			return 600 + jitter(r, n, l)
		}, []string{"model.layers.5 takes 1.5 × the median of layers with the same modules on TP02 in decode steps"}},
		{"layer 5 everywhere", func(r, n, l int) int64 {
			if l == 5 {
				return 1100 + jitter(r, n, l)
			}
			return 600 + jitter(r, n, l)
		}, []string{"model.layers.5 takes 1.5 × the median of layers with the same modules on all ranks in decode steps"}},
		{"every third layer differs by design", func(r, n, l int) int64 {
			if l%3 == 2 {
				return 1100
			}
			return 600
		}, nil},
		{"rank 2 as a whole", func(r, n, l int) int64 {
			if r == 2 {
				return 1100 + jitter(r, n, l)
			}
			return 600 + jitter(r, n, l)
		}, nil},
		{"one step of many", func(r, n, l int) int64 {
			if r == 2 && l == 5 && n == 4 {
				return 5000
			}
			return 600 + jitter(r, n, l)
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := explaintest.Analyzed(t, explaintest.Twelve(4, 9, c.took))
			if got := layerFindings(r); !slices.Equal(got, c.want) {
				t.Errorf("got findings %q, want %q", got, c.want)
			}
			for _, f := range report.Plain(r).Findings {
				if f.Kind != result.SlowLayer {
					continue
				}
				if off := f.CostNSPerStep - 500; explaintest.Abs(off) > 12 {
					t.Errorf("got cost %d ns a step, want 500 ± 12 as injected", f.CostNSPerStep)
				}
				if text := fmt.Sprint(f.Evidence); !strings.Contains(text, "mlp.down_proj takes 1.1") || strings.Contains(text, "up_proj") {
					t.Errorf("got evidence %s, want mlp.down_proj and not up_proj", text)
				}
			}
		})
	}
}

// TestSlowOnHost: the op that grew explains a slow step of a CPU server.
func TestSlowOnHost(t *testing.T) {
	y := toytrace.New()
	at := int64(0)
	for n := range 12 {
		mm := int64(100) * us
		if n == 7 {
			mm = 600 * us
		}
		y.Step(at, at+mm+50*us)
		y.Span(trace.CPUOp, 0, "vllm::linear", at+5*us, at+mm+15*us)
		y.Span(trace.CPUOp, 0, "_C::onednn_mm", at+10*us, at+10*us+mm)
		at += mm + 60*us
	}
	r := explaintest.Analyzed(t, []*trace.Trace{y.Done()})
	if s := r.Steps[7]; !s.Slow || report.Words(s.Why) != "_C::onednn_mm grew by 500 µs" {
		t.Errorf("step 7: got slow %v, why %q, want slow: _C::onednn_mm grew by 500 µs", s.Slow, s.Why)
	}
	for _, s := range r.Steps {
		if s.Slow && s.Step != 7 {
			t.Errorf("step %d is slow, want only step 7", s.Step)
		}
	}
}
