package judge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

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
