package analysis

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/kernel"
	"github.com/stepscope/stepscope/trace"
)

func nil2rules() *kernel.Rules { return kernel.Default() }

// realSet reads a set of the repository.
func realSet(t testing.TB, name string) []*trace.Trace {
	t.Helper()
	return readDir(t, filepath.Join(testTraces, name))
}

// TestInjected puts faults of known size into captures in which nobody is
// late.
func TestInjected(t *testing.T) {
	const us = 1000
	for _, set := range []string{"graphs"} {
		base := realSet(t, set)
		last := len(newInjector(t, base).ranks[0].steps) - 1
		for _, c := range []struct {
			name   string
			inject func(in *injector)
			want   []string
			cost   int64 // ns a step
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
					if off := f.CostNSPerStep - c.cost; f.Kind == Straggler && c.cost > 0 && abs(off) > c.cost/10 {
						t.Errorf("%s costs %d ns, want %d%s", brief(f), f.CostNSPerStep, c.cost, describe(r))
					}
				}
			})
		}
	}
}
