package judge_test

import (
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
)

// TestGeneratedKernels: more blocks of a generated kernel are more work only if inputs differ. The norm of the real
// capture gets a name of Inductor, or of Triton. Rank 2 runs it with eight times the blocks.
func TestGeneratedKernels(t *testing.T) {
	const norm, slower = "vectorized_layer_norm_kernel", 4
	one := func(o *retime.Op) bool { return strings.Contains(o.Name, norm) }
	every := func(o *retime.Op) bool { return o.Meet == nil && o.Grid() > 0 }
	for _, c := range []struct {
		name, kernel  string
		factor        float64
		grids         func(o *retime.Op) bool
		cause, reason string // "": no rank is late
	}{
		{"Inductor, slower", "triton_per_fused_native_layer_norm_3", slower, one, result.CauseDevice, result.ReasonConfiguration},
		{"Triton 2, slower", "_layer_norm_fwd_0d1d2de", slower, one, result.CauseDevice, result.ReasonConfiguration},
		{"Inductor, as fast", "triton_per_fused_native_layer_norm_3", 1, one, "", ""},
		{"all kernels have more blocks", "triton_per_fused_native_layer_norm_3", slower, every, result.CauseWork, ""},
		{"not generated", norm, slower, one, result.CauseWork, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			ts := explaintest.Retimed(t, "graphs", func(m *retime.Model) {
				for _, o := range m.Ops {
					if o.Rank == 2 && c.grids(o) {
						o.SetGrid(8)
					}
				}
				m.Stretch(c.factor, func(o *retime.Op) bool { return o.Rank == 2 && one(o) })
			})
			for _, tr := range ts {
				retime.Rename(tr, func(name string) string {
					if strings.Contains(name, norm) {
						return c.kernel
					}
					return name
				})
			}
			late := explaintest.Said(explaintest.Analyzed(t, ts), result.Straggler)
			if c.cause == "" {
				if len(late) > 0 {
					t.Errorf("got a late rank, want none%s", explaintest.Describe(explaintest.Analyzed(t, ts)))
				}
				return
			}
			if len(late) == 0 || late[0].Cause != c.cause || late[0].Reason != c.reason || late[0].Ranks[0] != 2 {
				t.Fatalf("got no finding that rank 2 is late by its %s, reason %q%s", c.cause, c.reason, explaintest.Describe(explaintest.Analyzed(t, ts)))
			}
			if text := explaintest.AllFacts(explaintest.Analyzed(t, ts)); c.reason != "" && !strings.Contains(text, "kernel_configured") {
				t.Errorf("the evidence lacks the blocks:\n%s", text)
			}
		})
	}
}
