package explain_test

import (
	"fmt"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
)

// TestDriftOfShortWindows makes one clock drift against the others in windows under a second, with collectives shorter
// than the drift. The findings are as without drift; captures without a late rank get at most the finding that lateness
// cannot be decided.
func TestDriftOfShortWindows(t *testing.T) {
	for _, c := range []struct {
		set    string
		change func(m *retime.Model)
	}{
		{"balanced", explaintest.Paused(0, 3, 5*ms)},
		{"graphs", func(m *retime.Model) {
			explaintest.Paused(0, 3, 8*ms)(m)
			for rank := range 4 {
				explaintest.Paused(rank, 1, 60*ms)(m) // idle between the steps, as at low load
			}
		}},
		{"graphs", func(m *retime.Model) {
			for rank := range 4 {
				explaintest.Paused(rank, 1, 60*ms)(m)
			}
		}},
	} {
		base := explaintest.Retimed(t, c.set, func(m *retime.Model) {
			c.change(m)
			for _, x := range m.Meets {
				x.Transfer = min(x.Transfer, 6*us) // as long as custom all-reduce takes
			}
		})
		want := explaintest.Analyzed(t, base)
		healthy := explaintest.Has(want, result.Balanced)
		for _, drift := range []float64{20e-6, -20e-6, 50e-6, -50e-6, 100e-6, -100e-6} {
			for _, moved := range []int{0, 1} {
				for _, hosts := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s healthy %v rank %d by %.0f ppm hosts %v", c.set, healthy, moved, drift*1e6, hosts), func(t *testing.T) {
						ts := retime.Copy(base)
						retime.Clock(ts[moved], 0, drift)
						if hosts {
							for i := range ts {
								ts[i].Source.Host = "a"
							}
							ts[moved].Source.Host = "b"
						}
						got := explaintest.Analyzed(t, ts)
						if healthy {
							if late := explaintest.Said(got, result.Straggler, result.SlowLink); len(late) > 0 {
								t.Errorf("got a late rank or slow link, want none%s", explaintest.Describe(got))
							}
							return
						}
						sameFindings(t, got, want, 0.05)
					})
				}
			}
		}
	}
}
