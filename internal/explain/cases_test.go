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

// TestInjected puts faults of known size into captures without a late rank.
func TestInjected(t *testing.T) {
	const us = 1000
	for _, set := range []string{"graphs"} {
		base := explaintest.RealSet(t, set)
		last := len(explaintest.NewInjector(t, base).Ranks[0].Steps) - 1
		for _, c := range []struct {
			name   string
			inject func(in *explaintest.Injector)
			want   []string
			cost   int64 // ns per step
		}{
			{"host of rank 0", func(in *explaintest.Injector) { in.HostStall(0, 4, last, 300*us) }, []string{fmt.Sprintf("rank 0 host 4-%d", last)}, 300 * us},
			{"host of rank 3", func(in *explaintest.Injector) { in.HostStall(3, 2, last, 500*us) }, []string{fmt.Sprintf("rank 3 host 2-%d", last)}, 500 * us},
			{"host, passing", func(in *explaintest.Injector) { in.HostStall(1, 4, 6, 800*us) }, []string{"rank 1 host 4-6 passing"}, 800 * us},
			{"host of all but one", func(in *explaintest.Injector) {
				for i := range 3 {
					in.HostStall(i, 4, last, 0)
				}
			}, nil, 0},
			{"device of rank 3", func(in *explaintest.Injector) { in.SlowDevice(3, 5, last, 0.5, nil) }, []string{fmt.Sprintf("rank 3 device 5-%d", last)}, 0},
			{"device of rank 0, passing", func(in *explaintest.Injector) { in.SlowDevice(0, 3, 5, 0.8, nil) }, []string{"rank 0 device 3-5 passing"}, 0},
			{"larger grids on rank 2", func(in *explaintest.Injector) {
				in.SlowDevice(2, 6, last, 0.5, func(o *trace.Op) { o.Grid[0] *= 2 })
			}, []string{fmt.Sprintf("rank 2 work 6-%d", last)}, 0},
			{"transfers of rank 1", func(in *explaintest.Injector) { in.SlowTransfer(1, 5, last, 40*us) }, []string{fmt.Sprintf("rank 1 communication 5-%d", last)}, 0},
			{"two ranks, two causes", func(in *explaintest.Injector) {
				in.HostStall(0, 3, last, 400*us)
				in.SlowDevice(2, 6, last, 0.6, nil)
			}, []string{fmt.Sprintf("rank 0 host 3-%d", last), fmt.Sprintf("rank 2 device 6-%d", last)}, 0},
		} {
			t.Run(set+" "+c.name, func(t *testing.T) {
				in := explaintest.NewInjector(t, base)
				c.inject(in)
				r := explaintest.Analyzed(t, in.Done())
				got := explaintest.Stragglers(r)
				slices.Sort(got)
				if !slices.Equal(got, c.want) {
					t.Errorf("got %q, want %q%s", got, c.want, explaintest.Describe(r))
				}
				for _, f := range r.Findings {
					if off := f.CostNSPerStep - c.cost; f.Kind == result.Straggler && c.cost > 0 && explaintest.Abs(off) > c.cost/10 {
						t.Errorf("%s costs %d ns a step, want %d%s", explaintest.Brief(f), f.CostNSPerStep, c.cost, explaintest.Describe(r))
					}
				}
			})
		}
	}
}

// TestInjectedGrid injects every cause in many sizes, at many steps, on the first and the last rank: rank, cause and
// first step are correct each time.
func TestInjectedGrid(t *testing.T) {
	if testing.Short() {
		t.Skip("many cases")
	}
	base := explaintest.RealSet(t, "graphs")
	r := explaintest.NewInjector(t, base).Ranks[0]
	last := len(r.Steps) - 1
	period := r.Steps[last].Start - r.Steps[last-1].Start
	work := int64(0) // of the rank itself, in the last step
	for i := range r.Ops {
		if o := &r.Ops[i]; !o.Comm() && int(o.Step) == last {
			work += o.End - o.Start
		}
	}
	for _, late := range []int{0, 3} {
		for _, first := range []int{1, 2, 5, last - 2} {
			for _, share := range []float64{0.08, 0.3, 1} {
				cost := int64(share * float64(period))
				for cause, inject := range map[string]func(in *explaintest.Injector){
					result.CauseHost:          func(in *explaintest.Injector) { in.HostStall(late, first, last, cost) },
					result.CauseCommunication: func(in *explaintest.Injector) { in.SlowTransfer(late, first, last, cost/12) },
					result.CauseDevice: func(in *explaintest.Injector) {
						in.SlowDevice(late, first, last, float64(cost)/float64(work), nil)
					},
					result.CauseWork: func(in *explaintest.Injector) {
						in.SlowDevice(late, first, last, float64(cost)/float64(work), func(o *trace.Op) { o.Grid[0] *= 2 })
					},
				} {
					if cause == result.CauseCommunication && first == 1 && share < 0.1 {
						continue // a little in all decode steps could also be a clock difference
					}
					in := explaintest.NewInjector(t, base)
					inject(in)
					rep := explaintest.Analyzed(t, in.Done())
					want := []string{fmt.Sprintf("rank %d %s %d-%d", late, cause, first, last)}
					if got := explaintest.Stragglers(rep); !slices.Equal(got, want) || cause == result.CauseCommunication && explaintest.Has(rep, result.SlowLink) {
						t.Errorf("%.0f %% of a step: got %q, want %q%s", 100*share, got, want, explaintest.Describe(rep))
					}
				}
			}
		}
	}
}

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

// TestOtherRanks moves the late rank to another place: the finding follows it.
func TestOtherRanks(t *testing.T) {
	base := explaintest.RealSet(t, "compute_skew")
	for late := range base {
		ts := retime.Copy(base)
		ts[2], ts[late] = ts[late], ts[2]
		for i := range ts {
			ts[i].Source.Rank.TP = i
			ts[i].Source.World.Rank = i
		}
		r := explaintest.Analyzed(t, ts)
		want := []string{fmt.Sprintf("rank %d work 7-13", late)}
		if got := explaintest.Stragglers(r, result.CauseWork, result.CauseDevice, result.CauseCommunication); !slices.Equal(got, want) {
			t.Errorf("late rank at %d: got %q, want %q%s", late, got, want, explaintest.Describe(r))
		}
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

// TestRecurring: a host that stalls every third step is late in exactly these.
func TestRecurring(t *testing.T) {
	in := explaintest.NewInjector(t, explaintest.RealSet(t, "graphs"))
	for n := 2; n <= 8; n += 3 {
		in.HostStall(1, n, n, 900_000)
	}
	rep := explaintest.Analyzed(t, in.Done())
	want := []string{"rank 1 host 2-8 passing"}
	if got := explaintest.Stragglers(rep); !slices.Equal(got, want) || !strings.Contains(report.Words(rep.Findings[0].Title), "every 3 steps") || explaintest.Has(rep, result.Balanced) {
		t.Errorf("got %q, want %q, every 3 steps%s", got, want, explaintest.Describe(rep))
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
