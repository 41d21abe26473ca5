package judge_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

// TestStandsStill stops the process of a rank several times: one finding names the rank and the length of its stalls.
func TestStandsStill(t *testing.T) {
	for _, c := range []struct {
		set       string
		rank      int
		every, ns int64
	}{
		{"sglang_stops", 0, 9 * ms, 6 * ms},
		{"sglang_shared", 0, 11 * ms, 6 * ms},
		{"compute_skew", 3, 37 * ms, 5 * ms},
	} {
		t.Run(fmt.Sprintf("%s rank %d", c.set, c.rank), func(t *testing.T) {
			r := explaintest.Analyzed(t, explaintest.Retimed(t, c.set, func(m *retime.Model) {
				first, last := m.Recorded(c.rank)
				for at := first + c.every/2; at < last; at += c.every - c.ns {
					m.PauseAt(c.rank, at, c.ns)
				}
			}))
			explaintest.CheckSentences(t, r)
			found := explaintest.Standing(r)
			if len(found) != 1 || !slices.Equal(found[0].Ranks, []int{c.rank}) || found[0].Cause != result.CauseHost || found[0].CostNSPerStep < c.ns/2 {
				t.Fatalf("got %d findings of a stalling host, want one of rank %d%s", len(found), c.rank, explaintest.Describe(r))
			}
			for _, e := range found[0].Evidence[:len(found[0].Evidence)-1] {
				if int64(e.Value) < c.ns || int64(e.Value) > 2*c.ns {
					t.Errorf("got a stall of %.0f ns, want %d to %d: %s", e.Value, c.ns, 2*c.ns, report.Words(e.Text))
				}
			}
		})
	}
}

// TestNobodyStandsStill: captures without stops have no stalling host, whatever other faults they have.
func TestNobodyStandsStill(t *testing.T) {
	dirs, _ := filepath.Glob(filepath.Join(explaintest.Traces, "*"))
	for _, dir := range dirs {
		if r := explaintest.Analyzed(t, explaintest.ReadDir(t, dir)); len(explaintest.Standing(r)) > 0 && filepath.Base(dir) != "sglang_stops" {
			t.Errorf("%s: got a stalling host, want none%s", dir, explaintest.Describe(r))
		}
	}
}

// TestStandsOrWaits: a rank that waits for a stalling rank, on the host or in a collective, does not stall. Neither
// does a rank in a call that takes its time in each step, or in one of the device's, which may be full or shared. A
// rank that stalls in every step from some step on is late from there on.
func TestStandsOrWaits(t *testing.T) {
	const steps, period, long = 16, 2 * ms, 5 * ms
	now := func(step int) bool { return step%4 == 3 }
	always := func(int) bool { return true }
	later := func(step int) bool { return step >= steps/2 }
	for _, c := range []struct {
		name   string
		waits  string // on the other rank while this one stalls; "": it runs ahead
		stands string
		when   func(step int) bool
		gpu    bool // CPU ops are not recorded
		want   int  // 1: rank 1 is named
	}{
		{"the other rank waits on its host", "c10d::broadcast_", "aten::add", now, false, 1},
		{"the other rank waits in a collective", "", "aten::add", now, false, 1},
		{"stalls in a call that waits, the other rank waits for it", "", "c10d::recv_", now, false, 1},
		{"both ranks wait", "c10d::broadcast_", "c10d::recv_", now, false, 0},
		{"stalls in every step", "", "aten::add", always, false, 0},
		{"stalls in every step from some step on", "", "aten::add", later, false, 0},
		{"stalls in a launch", "", "cudaLaunchKernel", now, false, 0},
		{"CPU ops are not recorded", "", "aten::add", now, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ts []*trace.Trace
			for rank := range 2 {
				y, at := toytrace.New(), int64(ms)
				for n := range steps {
					stalls := c.when(n)
					begin, host, device := at, at, at
					took := func(name string, ns int64) {
						if cat := trace.CPUOp; !c.gpu {
							y.Span(cat, 0, name, host, host+ns)
						}
						host += ns + us
					}
					switch {
					case stalls && rank == 1 && c.stands == "cudaLaunchKernel":
						y.Launch("cudaLaunchKernel", host, host+long)
						host += long
					case stalls && rank == 1:
						took(c.stands, long)
					case stalls && c.waits != "":
						took(c.waits, long)
					}
					for _, name := range []string{"aten::add", "c10d::broadcast_", "c10d::recv_"} {
						took(name, 10*us)
					}
					y.Run("gemm", host, host+10*us, host+100*us, 1)
					device = host + 100*us
					if at += period; stalls {
						at += long
					}
					y.Run(toytrace.AllReduce, host+20*us, device, at-1500*us, 1)
					y.Step(begin, host+50*us)
				}
				tr := y.Done()
				tr.Source.Rank.TP, tr.Source.Path = rank, fmt.Sprint("rank", rank)
				ts = append(ts, tr)
			}
			r := explaintest.Analyzed(t, ts)
			if found := explaintest.Standing(r); len(found) != c.want || c.want == 1 && !slices.Equal(found[0].Ranks, []int{1}) {
				t.Errorf("got %d findings of a stalling host, want %d%s", len(found), c.want, explaintest.Describe(r))
			} else if c.want == 1 && !strings.Contains(found[0].Title.String(), "n=4 least=5000000 most=5000000 every=still_every ns=13000000") {
				t.Errorf("got title %q, want 4 stalls of 5 ms every 13 ms", found[0].Title)
			}
		})
	}
}
