package judge_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/trace"
)

// Degraded captures: unrecorded launches and work, windows that begin late or end early. Their findings must be those of
// the intact captures, or fewer, and no others.

// TestLaunchesNotRecorded: without its launch it is unknown whether an op started late because of the host or the
// device. If only some are lost, the others decide.
func TestLaunchesNotRecorded(t *testing.T) {
	for _, c := range []struct {
		name  string
		share float64
		want  []string // of those other than "work", which needs no launches
	}{
		{"g_device_r1", 1, []string{"rank 1 unknown 6-15"}},
		{"g_device_r1", 0.3, []string{"rank 1 device 6-15"}},
		{"sglang_stops", 1, []string{"rank 1 unknown 8-10"}},
		{"graph_work", 1, nil},
		{"graph_work", 0.3, nil},
		{"compute_skew", 1, []string{"rank 2 unknown 2-13"}},
		{"graphs", 1, nil},
		{"graphs", 0.3, nil},
	} {
		set := explaintest.RealSet(t, c.name)
		for i := range set {
			retime.DropLaunches(set[i], c.share, uint64(i))
		}
		r := explaintest.Analyzed(t, set)
		got := explaintest.Stragglers(r, result.CauseDevice, result.CauseHost, result.CauseUnknown)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s, %.0f %% of the launches lost: got %q, want %q%s", c.name, 100*c.share, got, c.want, explaintest.Describe(r))
		}
		for _, f := range r.Findings {
			for _, e := range f.Evidence {
				if c.share == 1 && strings.Contains(report.Words(e.Text), "launched in time") {
					t.Errorf("%s without launches: got evidence %q about launches", c.name, report.Words(e.Text))
				}
			}
		}
	}
}

// TestWindowsApart: steps that a rank has not recorded are not compared: otherwise the others would seem to transfer
// for longer, and no rank to be late.
func TestWindowsApart(t *testing.T) {
	for _, c := range []struct {
		name        string
		first, last int // of rank 1
		want        []string
	}{
		{"graph_work", 0, 6, nil},
		{"graph_work", 5, 10, []string{"rank 1 work 6-10"}},
		{"g_device_r1", 0, 6, nil},
		{"g_device_r1", 5, 10, []string{"rank 1 device 6-10"}},
		{"graphs", 0, 6, nil},
		{"graphs", 5, 10, nil},
	} {
		r := explaintest.Analyzed(t, explaintest.StepsOnly(explaintest.RealSet(t, c.name), 1, c.first, c.last))
		if got := explaintest.Stragglers(r); !slices.Equal(got, c.want) {
			t.Errorf("%s, rank 1 with steps %d-%d: got %q, want %q%s", c.name, c.first, c.last, got, c.want, explaintest.Describe(r))
		}
		apart := false
		for _, f := range r.Findings {
			apart = apart || f.ID == "data-apart-tp01"
			if f.Kind == result.SlowLink || f.Kind == result.SlowSince && strings.Contains(report.Words(f.Title), "transfers") || len(c.want) > 0 && f.Kind == result.Straggler && f.Passing {
				t.Errorf("%s, rank 1 with steps %d-%d: got finding %q about transfers or passing lateness", c.name, c.first, c.last, report.Words(f.Title))
			}
		}
		if !apart {
			t.Errorf("%s: the report does not state that rank 1 has only steps %d-%d%s", c.name, c.first, c.last, explaintest.Describe(r))
		}
	}
}

// TestManyLate: ranks that are late together or in turns. Kernels of those ranks take 1.3 times as long.
func TestManyLate(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var who [16]int
	for i := range who {
		who[i] = rng.IntN(4)
	}
	for _, c := range []struct {
		name string
		late func(step, rank int) bool
		want string // ID of the finding, and its ranks
	}{
		{"no rank late", func(_, _ int) bool { return false }, ""},
		{"all ranks equally late", func(_, _ int) bool { return true }, ""},
		{"one of four", func(_, rank int) bool { return rank == 1 }, "straggler-tp01-device-0 [1]"},
		{"two of four", func(_, rank int) bool { return rank >= 2 }, "straggler-tp02-and-1-device-0 [2 3]"},
		{"three of four", func(_, rank int) bool { return rank > 0 }, "straggler-tp01-and-2-device-0 [1 2 3]"},
		{"three of four from step 5 on", func(step, rank int) bool { return rank != 2 && step >= 5 }, "straggler-tp00-and-2-device-5 [0 1 3]"},
		{"another rank in each step", func(step, rank int) bool { return who[step] == rank }, "imbalance-tp00-device-1 [0 1 2 3]"},
	} {
		in := explaintest.NewInjector(t, explaintest.RealSet(t, "graphs"))
		for n := range in.Comms[0] {
			in.Stretch(n, func(rank int) float64 {
				if c.late(n, rank) {
					return 0.3
				}
				return 0
			})
		}
		r := explaintest.Analyzed(t, in.Done())
		var got []string
		for _, f := range r.Findings {
			if f.Kind == result.Straggler {
				got = append(got, fmt.Sprint(f.ID, " ", f.Ranks))
			}
		}
		slices.Sort(got)
		if strings.Join(got, ", ") != c.want || explaintest.Has(r, result.Balanced) != (c.want == "") {
			t.Errorf("%s: got %q, want %q%s", c.name, got, c.want, explaintest.Describe(r))
		}
		for _, f := range r.Findings {
			if len(f.Ranks) == 3 && (f.CostNSPerStep < 200_000 || f.CostNSPerStep > 350_000) {
				t.Errorf("%s: got cost %d ns a step, want 200 to 350 µs, the wait of the rank in time", c.name, f.CostNSPerStep)
			}
		}
	}
}

// TestLostRank: the recording lost one rank's GPU work and kept its launches. The report says so, and reports no waits
// between ranks.
func TestLostRank(t *testing.T) {
	ts := retime.Copy(explaintest.RealSet(t, "graph_work"))
	ts[1].Spans = slices.DeleteFunc(ts[1].Spans, func(s trace.Span) bool { return s.Cat == trace.Kernel })
	r := explaintest.Analyzed(t, ts)
	if !slices.ContainsFunc(r.Findings, func(f result.Finding) bool { return f.ID == "data-lost-tp01" }) || len(explaintest.Stragglers(r)) > 0 || explaintest.Has(r, result.Balanced) ||
		strings.Contains(explaintest.AllWords(r), "on all ranks") || strings.Contains(explaintest.AllWords(r), "transfers grew") {
		t.Errorf("want data-lost-tp01 and no findings about waits between ranks%s", explaintest.Describe(r))
	}
	whole := explaintest.Analyzed(t, explaintest.RealSet(t, "graph_work"))
	for n := range r.Steps { // its means are those of the recorded rank
		if got := r.Steps[n].Ranks; len(got) != 1 || got[0].Compute != whole.Steps[n].Ranks[0].Compute || got[0].Kernels != whole.Steps[n].Ranks[0].Kernels {
			t.Errorf("step %d: got %+v, want the figures of TP00 in %+v", n, got, whole.Steps[n].Ranks)
		}
	}
}

// TestLostSteps: the recording lost work of one rank in some steps. These steps count neither in its times nor in
// comparisons.
func TestLostSteps(t *testing.T) {
	for _, c := range []struct {
		name  string
		base  string
		lost  func(step int) bool
		steps []int
	}{
		{"as recorded", "balanced", func(int) bool { return false }, nil},
		{"no prefill", "balanced", func(step int) bool { return step < 2 }, []int{0, 1}},
		{"the second half", "balanced", func(step int) bool { return step >= 5 }, []int{5, 6, 7, 8, 9}},
		{"a graph launch", "graphs", func(step int) bool { return step == 6 }, []int{6}},
	} {
		ts := retime.Copy(explaintest.RealSet(t, c.base))
		launched := map[int64]int{} // correlation id -> step
		passes, _ := trace.Passes(ts[1])
		for _, s := range ts[1].Spans {
			if s.Cat.Launch() {
				launched[s.Corr] = int(trace.PassAt(passes, s.Start))
			}
		}
		ts[1].Spans = slices.DeleteFunc(ts[1].Spans, func(s trace.Span) bool {
			step, ok := launched[s.Corr]
			return s.Cat.OnGPU() && ok && step >= 0 && c.lost(step)
		})
		r, whole := explaintest.Analyzed(t, ts), explaintest.Analyzed(t, explaintest.RealSet(t, c.base))
		var got []int
		for _, f := range r.Findings {
			if f.ID == "data-lost-tp01" {
				got = f.Steps
			}
		}
		named := strings.Contains(report.Words(r.Verdict), "lost GPU work of TP01")
		if !slices.Equal(got, c.steps) || named != (c.steps != nil) {
			t.Errorf("%s: got lost steps %v, want %v%s", c.name, got, c.steps, explaintest.Describe(r))
		}
		for n := range r.Steps {
			ranks, all := r.Steps[n].Ranks, whole.Steps[n].Ranks
			if c.lost(n) {
				all = slices.DeleteFunc(slices.Clone(all), func(p result.StepRank) bool { return p.Rank == 1 })
			}
			if len(ranks) != len(all) {
				t.Fatalf("%s, step %d: got times of %d ranks, want %d", c.name, n, len(ranks), len(all))
			}
			for i := range ranks {
				if ranks[i].Compute != all[i].Compute {
					t.Errorf("%s, step %d, rank %d: got compute %d, want %d", c.name, n, ranks[i].Rank, ranks[i].Compute, all[i].Compute)
				}
			}
		}
		for _, f := range explaintest.Said(r, result.Straggler) {
			for _, n := range f.Steps {
				if c.lost(n) {
					t.Errorf("%s: %s is called late in step %d, where ranks cannot be compared%s", c.name, f.Names, n, explaintest.Describe(r))
				}
			}
		}
	}
}

// TestUncompared: the report says that ranks could not be compared.
func TestUncompared(t *testing.T) {
	alone := explaintest.RealSet(t, "balanced")[:1]
	quiet := retime.Copy(explaintest.RealSet(t, "balanced"))
	for _, tr := range quiet {
		collective := map[int64]bool{}
		for _, s := range tr.Spans {
			if s.Cat == trace.Kernel && strings.Contains(tr.Strings.Get(s.Name), "nccl") {
				collective[s.Corr] = true
			}
		}
		tr.Spans = slices.DeleteFunc(tr.Spans, func(s trace.Span) bool { return collective[s.Corr] && (s.Cat.OnGPU() || s.Cat.Launch()) })
	}
	for _, c := range []struct {
		name string
		ts   []*trace.Trace
		want string
	}{
		{"all ranks", explaintest.RealSet(t, "balanced"), ""},
		{"one of four", alone, "4 ranks, and the capture has one"},
		{"no collectives", quiet, "ran no collectives"},
	} {
		short := strings.Join(strings.Fields(explaintest.Text(t, explaintest.Analyzed(t, c.ts))), " ")
		if strings.Contains(short, "a rank is late is unknown: ") != (c.want != "") || !strings.Contains(short, c.want) {
			t.Errorf("%s: want %q in: %s", c.name, c.want, short)
		}
	}
}

// TestIdleReplica: a data-parallel replica without requests is idle, not lost, and casts no doubt on the others. A
// single rank without work among others of its replica does.
func TestIdleReplica(t *testing.T) {
	for _, lost := range []bool{false, true} {
		ts := append(retime.Copy(explaintest.RealSet(t, "graph_work")), retime.Copy(explaintest.RealSet(t, "graph_work"))...)
		for i, one := range ts {
			one.Source.Rank = trace.Rank{TP: i % 2, DP: i / 2, PP: -1, EP: -1}
			if i == 3 || i == 2 && !lost {
				one.Spans, one.Ops = nil, nil
			}
		}
		r := explaintest.Analyzed(t, ts)
		for _, rank := range []string{"tp00-dp01", "tp01-dp01"} {
			idle := slices.ContainsFunc(r.Findings, func(f result.Finding) bool { return f.ID == "data-idle-"+rank })
			empty := slices.ContainsFunc(r.Findings, func(f result.Finding) bool { return f.ID == "data-empty-"+rank })
			if idle == lost || empty != (lost && rank == "tp01-dp01") {
				t.Errorf("lost %t: %s: got idle %t, empty %t%s", lost, rank, idle, empty, explaintest.Describe(r))
			}
		}
		if late := explaintest.Stragglers(r); !lost && len(late) != 1 {
			t.Errorf("got late ranks %v, want the one of the other replica%s", late, explaintest.Describe(r))
		}
	}
}
