package explain

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// realSet returns a copy of a set in the repository, which is read once.
func realSet(t testing.TB, name string) []*trace.Trace {
	t.Helper()
	realSets.Lock()
	defer realSets.Unlock()
	if realSets.of[name] == nil {
		realSets.of[name] = readDir(t, filepath.Join(testTraces, name))
	}
	return clone(realSets.of[name])
}

var realSets = struct {
	sync.Mutex
	of map[string][]*trace.Trace
}{of: map[string][]*trace.Trace{}}

// TestInjected puts faults of known size into captures without a late rank.
func TestInjected(t *testing.T) {
	const us = 1000
	for _, set := range []string{"graphs"} {
		base := realSet(t, set)
		last := len(newInjector(t, base).ranks[0].Steps) - 1
		for _, c := range []struct {
			name   string
			inject func(in *injector)
			want   []string
			cost   int64 // ns per step
		}{
			{"host of rank 0", func(in *injector) { in.hostStall(0, 4, last, 300*us) }, []string{fmt.Sprintf("rank 0 host 4-%d", last)}, 300 * us},
			{"host of rank 3", func(in *injector) { in.hostStall(3, 2, last, 500*us) }, []string{fmt.Sprintf("rank 3 host 2-%d", last)}, 500 * us},
			{"host, passing", func(in *injector) { in.hostStall(1, 4, 6, 800*us) }, []string{"rank 1 host 4-6 passing"}, 800 * us},
			{"host of all but one", func(in *injector) {
				for i := range 3 {
					in.hostStall(i, 4, last, 0)
				}
			}, nil, 0},
			{"device of rank 3", func(in *injector) { in.slowDevice(3, 5, last, 0.5, nil) }, []string{fmt.Sprintf("rank 3 device 5-%d", last)}, 0},
			{"device of rank 0, passing", func(in *injector) { in.slowDevice(0, 3, 5, 0.8, nil) }, []string{"rank 0 device 3-5 passing"}, 0},
			{"larger grids on rank 2", func(in *injector) {
				in.slowDevice(2, 6, last, 0.5, func(o *trace.Op) { o.Grid[0] *= 2 })
			}, []string{fmt.Sprintf("rank 2 work 6-%d", last)}, 0},
			{"transfers of rank 1", func(in *injector) { in.slowTransfer(1, 5, last, 40*us) }, []string{fmt.Sprintf("rank 1 communication 5-%d", last)}, 0},
			{"two ranks, two causes", func(in *injector) {
				in.hostStall(0, 3, last, 400*us)
				in.slowDevice(2, 6, last, 0.6, nil)
			}, []string{fmt.Sprintf("rank 0 host 3-%d", last), fmt.Sprintf("rank 2 device 6-%d", last)}, 0},
		} {
			t.Run(set+" "+c.name, func(t *testing.T) {
				in := newInjector(t, base)
				c.inject(in)
				r := analyzed(t, in.done())
				got := stragglersOf(r)
				slices.Sort(got)
				if !slices.Equal(got, c.want) {
					t.Errorf("got %q, want %q%s", got, c.want, describe(r))
				}
				for _, f := range r.Findings {
					if off := f.CostNSPerStep - c.cost; f.Kind == result.Straggler && c.cost > 0 && abs(off) > c.cost/10 {
						t.Errorf("%s costs %d ns a step, want %d%s", brief(f), f.CostNSPerStep, c.cost, describe(r))
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
	base := realSet(t, "graphs")
	r := newInjector(t, base).ranks[0]
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
				for cause, inject := range map[string]func(in *injector){
					result.CauseHost:          func(in *injector) { in.hostStall(late, first, last, cost) },
					result.CauseCommunication: func(in *injector) { in.slowTransfer(late, first, last, cost/12) },
					result.CauseDevice: func(in *injector) {
						in.slowDevice(late, first, last, float64(cost)/float64(work), nil)
					},
					result.CauseWork: func(in *injector) {
						in.slowDevice(late, first, last, float64(cost)/float64(work), func(o *trace.Op) { o.Grid[0] *= 2 })
					},
				} {
					if cause == result.CauseCommunication && first == 1 && share < 0.1 {
						continue // a little in all decode steps could also be a clock difference
					}
					in := newInjector(t, base)
					inject(in)
					rep := analyzed(t, in.done())
					want := []string{fmt.Sprintf("rank %d %s %d-%d", late, cause, first, last)}
					if got := stragglersOf(rep); !slices.Equal(got, want) || cause == result.CauseCommunication && has(rep, result.SlowLink) {
						t.Errorf("%.0f %% of a step: got %q, want %q%s", 100*share, got, want, describe(rep))
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
		base := realSet(t, set)
		want := analyzed(t, base)
		for _, shift := range []int64{-3e9, -5e6, -200_000, 200_000, 5e6, 3e9} {
			for _, hosts := range []bool{true, false} {
				for moved := range base {
					// Not every combination adds information.
					if moved > 1 && (set != "graphs" || !hosts) || len(base) > 2 && !hosts && abs(shift) != 5e6 {
						continue
					}
					t.Run(fmt.Sprintf("%s rank %d by %d hosts %v", set, moved, shift, hosts), func(t *testing.T) {
						ts := clone(base)
						shiftClock(ts[moved], shift)
						if hosts {
							for i := range ts {
								ts[i].Source.Host = "a"
							}
							ts[moved].Source.Host = "b"
						}
						got := analyzed(t, ts)
						sameFindings(t, got, want, 0.03)
						if off := got.Source.SpanNS - want.Source.SpanNS; abs(off) > 200_000 {
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
							if abs(row.ShiftNS-truth) > row.ShiftError+2000 {
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
	if g, w := stragglersOf(got), stragglersOf(want); !slices.Equal(g, w) {
		t.Errorf("got %q, want %q%s", g, w, describe(got))
		return
	}
	for i := range want.Findings {
		w := &want.Findings[i]
		if w.Kind != result.Straggler {
			continue
		}
		at := slices.IndexFunc(got.Findings, func(f result.Finding) bool { return f.Kind == result.Straggler && brief(f) == brief(*w) })
		if g := &got.Findings[at]; float64(abs(g.CostNSPerStep-w.CostNSPerStep)) > share*float64(w.CostNSPerStep) {
			t.Errorf("%s costs %d ns a step, want %d", brief(*g), g.CostNSPerStep, w.CostNSPerStep)
		}
	}
	if has(got, result.Balanced) != has(want, result.Balanced) {
		t.Errorf("balanced is reported on one side only%s", describe(got))
	}
}

// TestOtherRanks moves the late rank to another place: the finding follows it.
func TestOtherRanks(t *testing.T) {
	base := realSet(t, "compute_skew")
	for late := range base {
		ts := clone(base)
		ts[2], ts[late] = ts[late], ts[2]
		for i := range ts {
			ts[i].Source.Rank.TP = i
			ts[i].Source.World.Rank = i
		}
		r := analyzed(t, ts)
		want := []string{fmt.Sprintf("rank %d work 7-13", late)}
		if got := stragglersOf(r, result.CauseWork, result.CauseDevice, result.CauseCommunication); !slices.Equal(got, want) {
			t.Errorf("late rank at %d: got %q, want %q%s", late, got, want, describe(r))
		}
	}
}

// dropSteps removes some steps of a trace: their annotations, launches and ops.
func dropSteps(ts *trace.Trace, drop func(n, of int) bool) *trace.Trace {
	t := clone([]*trace.Trace{ts})[0]
	r := prep.Trace(t, nil)
	gone := make([]bool, len(t.Spans))
	out := func(at int64) bool {
		n := r.StepAt(at)
		return n >= 0 && drop(int(n), len(r.Steps))
	}
	for i := range t.Spans {
		if s := &t.Spans[i]; !s.Cat.OnGPU() && s.Cat != trace.Window {
			gone[i] = out(s.Start)
		}
	}
	for i := range r.Ops {
		o := &r.Ops[i]
		gone[o.Span] = o.Step >= 0 && drop(int(o.Step), len(r.Steps))
	}
	kept := t.Spans[:0]
	for i, s := range t.Spans {
		if !gone[i] {
			kept = append(kept, s)
		}
	}
	t.Spans = kept
	return t
}

// TestWindows opens and closes the window of one rank at other steps than those of its peers.
func TestWindows(t *testing.T) {
	if testing.Short() {
		t.Skip("many cases")
	}
	for _, set := range []string{"graph_work", "compute_skew"} {
		base := realSet(t, set)
		steps := len(newInjector(t, base).ranks[0].Steps)
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
						ts := clone(base)
						for i := range ts {
							first, last := 0, c.others
							if i == edited {
								first, last = c.first, c.last
							}
							ts[i] = dropSteps(base[i], func(n, _ int) bool { return n < first || n > last })
						}
						shiftClock(ts[edited], shift)
						r := analyzed(t, ts)
						want := map[string]string{"graph_work": "rank 1 work 6", "compute_skew": "rank 2 work 7"}[set]
						got := stragglersOf(r, result.CauseWork, result.CauseDevice, result.CauseCommunication)
						if len(got) != 1 || got[0][:len(want)] != want {
							t.Errorf("got %q, want %s…%s", got, want, describe(r))
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
		ts := clone(realSet(t, "graphs"))
		shiftClock(ts[2], ns)
		rep := analyzed(t, ts)
		if got := stragglersOf(rep); len(got) > 0 {
			t.Errorf("clock of rank 2 off by %d ns: got %q late, want none%s", ns, got, describe(rep))
		}
		if off := rep.Ranks[2].ShiftNS + ns; abs(off) > 1000 {
			t.Errorf("clock of rank 2 off by %d ns: it is shifted by %d ns", ns, rep.Ranks[2].ShiftNS)
		}
	}
}

// TestRecurring: a host that stalls every third step is late in exactly these.
func TestRecurring(t *testing.T) {
	in := newInjector(t, realSet(t, "graphs"))
	for n := 2; n <= 8; n += 3 {
		in.hostStall(1, n, n, 900_000)
	}
	rep := analyzed(t, in.done())
	want := []string{"rank 1 host 2-8 passing"}
	if got := stragglersOf(rep); !slices.Equal(got, want) || !strings.Contains(report.Words(rep.Findings[0].Title), "every 3 steps") || has(rep, result.Balanced) {
		t.Errorf("got %q, want %q, every 3 steps%s", got, want, describe(rep))
	}
}

// TestCutFile: a rank whose file ends early is compared up to its end, and does not count as a rank without work in the
// rest of the capture.
func TestCutFile(t *testing.T) {
	whole := realSet(t, "compute_skew")
	cut := clone(whole)
	late := cut[2]
	late.Source.Complete = false
	passes, _ := trace.Passes(late)
	until := passes[11].Start
	late.Spans = slices.DeleteFunc(late.Spans, func(s trace.Span) bool { return s.Cat.OnGPU() && s.Start > until })
	rep := analyzed(t, cut)
	want := []string{"rank 2 work 7-9"}
	if got := stragglersOf(rep, result.CauseWork, result.CauseDevice, result.CauseCommunication); !slices.Equal(got, want) || has(rep, result.SlowLink) || has(rep, result.SlowSince) {
		t.Errorf("got %q, want %q alone%s", got, want, describe(rep))
	}
	for _, pair := range [][2][]*trace.Trace{{whole, cut}, {cut, whole}} {
		c := compared(t, pair[0], pair[1], CompareOptions{Limits: anyBy(0.05)})
		for _, r := range c.Regressions {
			if text := report.Words(r); !strings.Contains(text, "step") {
				t.Errorf("a capture against itself with one rank cut: got regression %q, want only of steps", text)
			}
		}
		if stepVerdict(c, "compute").Verdict == result.Slower {
			t.Error("a capture against itself with one rank cut: compute is slower")
		}
	}
}
