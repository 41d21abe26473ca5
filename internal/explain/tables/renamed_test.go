package tables_test

import (
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/trace"
)

// TestCompareRenamed compares captures whose kernels have other names or grids: kernels with unchanged times fail no
// build, slower ones do.
func TestCompareRenamed(t *testing.T) {
	if testing.Short() {
		t.Skip("many cases")
	}
	for _, set := range []string{"graphs", "graph_work", "compute_skew", "g_mixed"} {
		for _, c := range []struct {
			name   string
			grids  int32 // added to each
			rename func(name string) string
		}{
			{"grids grew by one", 1, func(n string) string { return n }},
			{"matrix products renamed", 0, func(n string) string { return strings.Replace(n, "nvjet", "nvjet_v2", 1) }},
			{"all kernels renamed", 1, func(n string) string {
				if strings.Contains(n, "nccl") || strings.HasPrefix(n, "Mem") {
					return n
				}
				return "v2_" + n
			}},
		} {
			t.Run(set+" "+c.name, func(t *testing.T) {
				a := explaintest.RealSet(t, set)
				other := func(ts []*trace.Trace) []*trace.Trace {
					for _, tr := range ts {
						retime.Rename(tr, c.rename)
						for k := range tr.Ops {
							tr.Ops[k].Grid[0] += c.grids
						}
					}
					return ts
				}
				if got := explaintest.Compared(t, a, other(retime.Copy(a)), explain.CompareOptions{Limits: explaintest.AnyBy(0.05)}).Regressions; len(got) > 0 {
					t.Errorf("unchanged times: got %d regressions, want none, the first: %s", len(got), report.Words(got[0]))
				}
				slower := other(explaintest.Retimed(t, set, func(m *retime.Model) {
					m.Stretch(1.5, func(o *retime.Op) bool { return true })
				}))
				if got := explaintest.Compared(t, a, slower, explain.CompareOptions{Limits: explaintest.AnyBy(0.05)}).Regressions; set == "graphs" && len(got) == 0 {
					t.Error("kernels take 1.5 times as long: got no regression")
				}
			})
		}
	}
}
