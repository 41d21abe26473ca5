package judge_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

// TestSharedDevice: another process holds a rank's device for a while in each step, while work launched before waits.
// The idle time ends with a copy on another stream, launched meanwhile, and the host is not late. It is late where no
// work waited.
func TestSharedDevice(t *testing.T) {
	const steps = 20
	for _, c := range []struct {
		name   string
		period int64 // from step to step, mostly idle on both ranks
		asked  int64 // rank 1's work, in its step
		free   int64 // and from when its device runs it
		want   []string
	}{
		{"shared", 8 * ms, 100 * us, 2450 * us, []string{"rank 1 device 3-19"}},
		{"shared, mostly idle", 20 * ms, 100 * us, 2450 * us, []string{"rank 1 device 3-19"}},
		{"late host", 8 * ms, 2400 * us, 2450 * us, []string{"rank 1 host 3-19"}},
		{"late host, busy device", 8 * ms, 2000 * us, 2450 * us, []string{"rank 1 device 4-19", "rank 1 host 3-19"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ts []*trace.Trace
			for rank := range 2 {
				y := toytrace.New()
				for n := range int64(steps) {
					at := (n + 1) * c.period
					asked, copied, free, end := at+100*us, at+1500*us, at+110*us, at+2600*us
					if rank == 1 && n > 2 {
						asked, free = at+c.asked, at+c.free
						copied = max(copied, asked-20*us)
					}
					y.Step(at, at+5*ms)
					y.Op(trace.Memcpy, "Memcpy DtoD (Device -> Device)", y.Launch("cudaMemcpyAsync", copied, copied+10*us), 2, max(free, copied+15*us), max(free, copied+15*us)+us, 1)
					y.Run("gemm", asked, free+2*us, free+100*us, 1)
					y.Run(toytrace.AllReduce, asked+15*us, free+110*us, end, 1)
				}
				tr := y.Done()
				tr.Source.Rank.TP, tr.Source.Path = rank, fmt.Sprint("rank", rank)
				ts = append(ts, tr)
			}
			r := explaintest.Analyzed(t, ts)
			if got := explaintest.Stragglers(r); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q%s", got, c.want, explaintest.Describe(r))
			}
		})
	}
}
