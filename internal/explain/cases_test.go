package explain_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/trace"
)

// shiftClock shifts all times of a trace.
func shiftClock(t *trace.Trace, ns int64) {
	for i := range t.Spans {
		t.Spans[i].Start += ns
	}
	for i := range t.Memory {
		t.Memory[i].Time += ns
	}
}

// TestShiftedClocks shifts the clock of one rank's host: the findings stay, and the report gives the shift within its
// error.
func TestShiftedClocks(t *testing.T) {
	if testing.Short() {
		t.Skip("many cases")
	}
	for _, set := range []string{"graph_work", "compute_skew", "graphs", "balanced"} {
		base := explaintest.RealSet(t, set)
		want := explaintest.Analyzed(t, base)
		for _, shift := range []int64{-3e9, -5e6, -200_000, 200_000, 5e6, 3e9} {
			for _, hosts := range []bool{true, false} {
				for moved := range base {
					// Not every combination adds information.
					if moved > 1 && (set != "graphs" || !hosts) || len(base) > 2 && !hosts && explaintest.Abs(shift) != 5e6 {
						continue
					}
					t.Run(fmt.Sprintf("%s rank %d by %d hosts %v", set, moved, shift, hosts), func(t *testing.T) {
						ts := retime.Copy(base)
						shiftClock(ts[moved], shift)
						if hosts {
							for i := range ts {
								ts[i].Source.Host = "a"
							}
							ts[moved].Source.Host = "b"
						}
						got := explaintest.Analyzed(t, ts)
						sameFindings(t, got, want, 0.03)
						if off := got.Source.SpanNS - want.Source.SpanNS; explaintest.Abs(off) > 200_000 {
							t.Errorf("shifted clock: the capture is %d ns long, want %d", got.Source.SpanNS, want.Source.SpanNS)
						}
						// Rank 0 is the reference unless its own clock was shifted.
						for i, row := range got.Ranks {
							truth := int64(0)
							if i == moved {
								truth = -shift
							}
							if moved == 0 {
								truth += shift
							}
							if explaintest.Abs(row.ShiftNS-truth) > row.ShiftError+2000 {
								t.Errorf("rank %d: got clock shift %d ± %d ns, want %d", i, row.ShiftNS, row.ShiftError, truth)
							}
							if c := row.Clock; truth < row.ShiftNS+c.Low || truth > row.ShiftNS+c.High || max(-c.Low, c.High) > got.Source.Within {
								t.Errorf("rank %d: got clock shift %d ns (bounds %+d to %+d), want %d within them", i, row.ShiftNS, c.Low, c.High, truth)
							}
						}
					})
				}
			}
		}
	}
}

// sameFindings compares the stragglers of two reports; costs may differ by the given share.
func sameFindings(t *testing.T, got, want *result.Report, share float64) {
	t.Helper()
	if g, w := explaintest.Stragglers(got), explaintest.Stragglers(want); !slices.Equal(g, w) {
		t.Errorf("got %q, want %q%s", g, w, explaintest.Describe(got))
		return
	}
	for i := range want.Findings {
		w := &want.Findings[i]
		if w.Kind != result.Straggler {
			continue
		}
		at := slices.IndexFunc(got.Findings, func(f result.Finding) bool {
			return f.Kind == result.Straggler && explaintest.Brief(f) == explaintest.Brief(*w)
		})
		if g := &got.Findings[at]; float64(explaintest.Abs(g.CostNSPerStep-w.CostNSPerStep)) > share*float64(w.CostNSPerStep) {
			t.Errorf("%s costs %d ns a step, want %d", explaintest.Brief(*g), g.CostNSPerStep, w.CostNSPerStep)
		}
	}
	if explaintest.Has(got, result.Balanced) != explaintest.Has(want, result.Balanced) {
		t.Errorf("balanced is reported on one side only%s", explaintest.Describe(got))
	}
}

// TestWindows opens and closes the window of one rank at other steps than those of its peers.
func TestWindows(t *testing.T) {
	if testing.Short() {
		t.Skip("many cases")
	}
	for _, set := range []string{"graph_work", "compute_skew"} {
		base := explaintest.RealSet(t, set)
		steps := len(explaintest.NewInjector(t, base).Ranks[0].Steps)
		shifts := []int64{0, 4e6, -2e9}
		if set == "compute_skew" {
			shifts = shifts[:2]
		}
		for _, c := range []struct {
			name        string
			first, last int // kept on the edited rank
			others      int // last kept on the others
		}{
			{"opens a step later", 1, steps - 1, steps - 1},
			{"opens two later", 2, steps - 1, steps - 1},
			{"opens and closes a step later", 1, steps - 1, steps - 2},
			{"closes two earlier", 0, steps - 3, steps - 1},
			{"opens a step later, closes a step earlier", 1, steps - 2, steps - 1},
		} {
			for edited := range base {
				for _, shift := range shifts {
					t.Run(fmt.Sprintf("%s rank %d %s clock %d", set, edited, c.name, shift), func(t *testing.T) {
						ts := retime.Copy(base)
						for i := range ts {
							first, last := 0, c.others
							if i == edited {
								first, last = c.first, c.last
							}
							ts[i] = explaintest.DropSteps(base[i], func(n, _ int) bool { return n < first || n > last })
						}
						shiftClock(ts[edited], shift)
						r := explaintest.Analyzed(t, ts)
						want := map[string]string{"graph_work": "rank 1 work 6", "compute_skew": "rank 2 work 7"}[set]
						got := explaintest.Stragglers(r, result.CauseWork, result.CauseDevice, result.CauseCommunication)
						if len(got) != 1 || got[0][:len(want)] != want {
							t.Errorf("got %q, want %s…%s", got, want, explaintest.Describe(r))
						}
					})
				}
			}
		}
	}
}

// TestSmallClockShift: a clock difference shorter than a collective contradicts nothing, and is not lateness.
func TestSmallClockShift(t *testing.T) {
	for _, ns := range []int64{-15_000, -6_000, 8_000, 15_000} {
		ts := retime.Copy(explaintest.RealSet(t, "graphs"))
		shiftClock(ts[2], ns)
		rep := explaintest.Analyzed(t, ts)
		if got := explaintest.Stragglers(rep); len(got) > 0 {
			t.Errorf("clock of rank 2 off by %d ns: got %q late, want none%s", ns, got, explaintest.Describe(rep))
		}
		if off := rep.Ranks[2].ShiftNS + ns; explaintest.Abs(off) > 1000 {
			t.Errorf("clock of rank 2 off by %d ns: it is shifted by %d ns", ns, rep.Ranks[2].ShiftNS)
		}
	}
}

// TestCutFile: a rank whose file ends early is compared up to its end, and does not count as a rank without work in the
// rest of the capture.
func TestCutFile(t *testing.T) {
	whole := explaintest.RealSet(t, "compute_skew")
	cut := retime.Copy(whole)
	late := cut[2]
	late.Source.Complete = false
	passes, _ := trace.Passes(late)
	until := passes[11].Start
	late.Spans = slices.DeleteFunc(late.Spans, func(s trace.Span) bool { return s.Cat.OnGPU() && s.Start > until })
	rep := explaintest.Analyzed(t, cut)
	want := []string{"rank 2 work 7-9"}
	if got := explaintest.Stragglers(rep, result.CauseWork, result.CauseDevice, result.CauseCommunication); !slices.Equal(got, want) || explaintest.Has(rep, result.SlowLink) || explaintest.Has(rep, result.SlowSince) {
		t.Errorf("got %q, want %q alone%s", got, want, explaintest.Describe(rep))
	}
	for _, pair := range [][2][]*trace.Trace{{whole, cut}, {cut, whole}} {
		c := explaintest.Compared(t, pair[0], pair[1], explain.CompareOptions{Limits: explaintest.AnyBy(0.05)})
		for _, r := range c.Regressions {
			if text := report.Words(r); !strings.Contains(text, "step") {
				t.Errorf("a capture against itself with one rank cut: got regression %q, want only of steps", text)
			}
		}
		if explaintest.StepVerdict(c, "compute").Verdict == result.Slower {
			t.Error("a capture against itself with one rank cut: compute is slower")
		}
	}
}

// TestDriftInShortWindows: clocks of hosts that drift by 20 to 200 µs per second change nothing in windows of 60 to 650
// ms, in which collectives last at most as long as the accumulated drift.
func TestDriftInShortWindows(t *testing.T) {
	if testing.Short() {
		t.Skip("many cases")
	}
	for _, name := range []string{"graph_work", "compute_skew", "sglang_shared"} {
		whole := explaintest.RealSet(t, name)
		want := explaintest.Analyzed(t, whole)
		for rank := range whole {
			for _, ppm := range []float64{-50, 100} {
				drifting := retime.Copy(whole)
				retime.Clock(drifting[rank], 0, ppm*1e-6)
				got := explaintest.Analyzed(t, drifting)
				if !slices.Equal(explaintest.Stragglers(got), explaintest.Stragglers(want)) || explaintest.Has(got, result.Balanced) != explaintest.Has(want, result.Balanced) {
					t.Errorf("%s, rank %d gains %g µs a second: got %q, want %q%s", name, rank, ppm, explaintest.Stragglers(got), explaintest.Stragglers(want), explaintest.Describe(got))
				}
			}
		}
	}
}
