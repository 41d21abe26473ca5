package judge

import (
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

// stepOf builds one rank of a toy set: three steps of two collectives each, with the kernels of middle between those of
// the last step. Everything before is the same on all ranks; the collectives end at 1000 and 9000 of their step,
// whatever comes between.
func stepOf(middle func(y *toytrace.Toy, at int64), arrive int64) *trace.Trace {
	y := toytrace.New()
	for n := range int64(3) {
		at := n * 100_000
		y.Step(at, at+90_000)
		y.Run("gemm", at, at+100, at+800, 8)
		y.Run(toytrace.AllReduce, at+20, at+800, at+10_000, 1)
		if n == 2 {
			middle(y, at)
			y.Run(toytrace.AllReduce, at+arrive-5_000, at+arrive, at+80_000, 1) // launched after the work it waits for
		} else {
			y.Run("gemm", at+40, at+10_000, at+20_000, 8)
			y.Run(toytrace.AllReduce, at+60, at+20_000, at+30_000, 1)
		}
	}
	return y.Done()
}

// TestCauses compares one late rank with one in time, op by op. The rank in time always runs a gemm from 10 to 20 µs
// and waits from 20 µs on.
func TestCauses(t *testing.T) {
	peer := func(y *toytrace.Toy, at int64) { y.Run("gemm", at+40, at+10_000, at+20_000, 8) }
	for _, c := range []struct {
		name   string
		late   func(y *toytrace.Toy, at int64)
		arrive int64
		want   [numCauses]int64
	}{
		{"the same kernel takes longer", func(y *toytrace.Toy, at int64) { y.Run("gemm", at+40, at+10_000, at+50_000, 8) }, 50_000,
			[numCauses]int64{byDevice: 30_000}},
		{"a larger grid", func(y *toytrace.Toy, at int64) { y.Run("gemm", at+40, at+10_000, at+50_000, 16) }, 50_000,
			[numCauses]int64{byWork: 30_000}},
		{"one kernel more", func(y *toytrace.Toy, at int64) {
			y.Run("gemm", at+40, at+10_000, at+20_000, 8)
			y.Run("silu", at+60, at+20_000, at+50_000, 8)
		}, 50_000, [numCauses]int64{byWork: 30_000}},
		{"one more launch of the same kernel", func(y *toytrace.Toy, at int64) {
			y.Run("gemm", at+40, at+10_000, at+20_000, 8)
			y.Run("gemm", at+60, at+20_000, at+30_000, 8)
		}, 30_000, [numCauses]int64{byWork: 10_000}},
		{"launched late", func(y *toytrace.Toy, at int64) { y.Run("gemm", at+39_990, at+40_000, at+50_000, 8) }, 50_000,
			[numCauses]int64{byHost: 30_000}},
		{"launched in time, started late", func(y *toytrace.Toy, at int64) { y.Run("gemm", at+40, at+40_000, at+50_000, 8) }, 50_000,
			[numCauses]int64{byDevice: 30_000}},
		{"launched late and then started late", func(y *toytrace.Toy, at int64) { y.Run("gemm", at+19_990, at+40_000, at+50_000, 8) }, 50_000,
			[numCauses]int64{byHost: 10_000, byDevice: 20_000}},
		{"longer kernel and one more", func(y *toytrace.Toy, at int64) {
			y.Run("gemm", at+40, at+10_000, at+30_000, 8)
			y.Run("silu", at+60, at+30_000, at+50_000, 8)
		}, 50_000, [numCauses]int64{byDevice: 10_000, byWork: 20_000}},
		{"another kernel in its place", func(y *toytrace.Toy, at int64) { y.Run("gemm_slow", at+40, at+10_000, at+50_000, 8) }, 50_000,
			[numCauses]int64{byWork: 30_000}},
		{"arrives late by its own collective's launch", func(y *toytrace.Toy, at int64) { y.Run("gemm", at+40, at+10_000, at+20_000, 8) }, 20_000,
			[numCauses]int64{}},
	} {
		a := prepared(stepOf(peer, 20_000), stepOf(c.late, c.arrive))
		late := Blame(a)[0].late
		l := late[1][2]
		if l.excess != c.want {
			t.Errorf("%s: got lateness by work, device, host, communication of %v, want %v", c.name, l.excess, c.want)
		}
		if want := c.arrive - 20_000; l.cost != want {
			t.Errorf("%s: got cost %d ns, want %d", c.name, l.cost, want)
		}
		if late[0][2].cost != 0 {
			t.Errorf("%s: the rank in time is blamed, too: %+v", c.name, late[0][2])
		}
		var sum int64
		for _, x := range l.split() {
			sum += x
		}
		if max(sum-l.cost, l.cost-sum) > numCauses {
			t.Errorf("%s: the costs %v of the causes do not sum to %d", c.name, l.split(), l.cost)
		}
	}
}

// TestLeavesLate is a rank that is slow in the transfer itself: it leaves a collective after the other and so arrives
// late at the next.
func TestLeavesLate(t *testing.T) {
	rank := func(leave int64) *trace.Trace {
		y := toytrace.New()
		for n := range int64(3) {
			at := n * 100_000
			y.Step(at, at+90_000)
			y.Run(toytrace.AllReduce, at+20, at+800, at+leave, 1)
			y.Run("gemm", at+40, at+leave, at+leave+10_000, 8)
			y.Run(toytrace.AllReduce, at+60, at+leave+10_000, at+80_000, 1)
		}
		return y.Done()
	}
	a := prepared(rank(10_000), rank(40_000))
	late := Blame(a)[0].late
	if got := late[1][2]; got.excess != [numCauses]int64{byComm: 30_000} || got.cost != 30_000 {
		t.Errorf("got lateness %v, cost %d ns; want 30 µs by communication", got.excess, got.cost)
	}
}

// TestLeaveInTurns: over a slow link the last rank to arrive at a collective leaves it first, so ranks are late in
// turns. The finding blames the link and no rank; if the same rank always leaves late, it blames that rank.
func TestLeaveInTurns(t *testing.T) {
	const steps, each, latency = 12, 8, 60_000
	set := func(turns func(step int64) bool) []*trace.Trace {
		ranks := []*toytrace.Toy{toytrace.New(), toytrace.New()}
		for n := range int64(steps) {
			at := n * 1_000_000
			left := [2]int64{at, at}
			for _, y := range ranks {
				y.Step(at, at+990_000)
			}
			for k := range int64(each) {
				come := [2]int64{left[0] + 10_000, left[1] + 10_000}
				last := max(come[0], come[1])
				for i, y := range ranks {
					left[i] = last + 2_000
					if in := turns(n); in && i == int(k)%2 || !in && i == 1 {
						left[i] += latency
					}
					y.Run("gemm", at+k*20, come[i]-10_000, come[i], 8)
					y.Run(toytrace.AllReduce, at+k*20+10, come[i], left[i], 1)
				}
			}
		}
		return []*trace.Trace{ranks[0].Done(), ranks[1].Done()}
	}
	for _, c := range []struct {
		name, kind string
		turns      func(step int64) bool
		ranks      [][]int // of each finding
	}{
		{"ranks in turns", result.CommBound, func(int64) bool { return true }, [][]int{{0, 1}}},
		{"one rank", result.Straggler, func(int64) bool { return false }, [][]int{{1}}},
		{"one rank, the other in steps 5 to 7", result.Straggler, func(step int64) bool { return 5 <= step && step <= 7 }, [][]int{{0}, {1}}},
	} {
		a := prepared(set(c.turns)...)
		got := stragglers(a, Blame(a)[0])
		var ranks [][]int
		for _, f := range got {
			if ranks = append(ranks, f.Ranks); f.Kind != c.kind || f.Cause != result.CauseCommunication {
				t.Errorf("%s: got %+v, want a finding of kind %s", c.name, f, c.kind)
			}
		}
		if !slices.EqualFunc(ranks, c.ranks, slices.Equal) {
			t.Errorf("%s: got findings of ranks %v, want %v", c.name, ranks, c.ranks)
		}
	}
}

// TestHostWithMoreToLaunch divides late launches: those of extra kernels are work, the rest is the host's slowness.
func TestHostWithMoreToLaunch(t *testing.T) {
	// Launches of 1 µs each, one after the other; the device runs them at once.
	rank := func(kernels int, each int64) *trace.Trace {
		y := toytrace.New()
		for n := range int64(3) {
			at := n * 1_000_000
			y.Step(at, at+990_000)
			y.Run(toytrace.AllReduce, at+20, at+800, at+1_000, 1)
			cursor := at + 1_000
			for k := range kernels {
				cursor += each
				y.Run([]string{"gemm", "silu", "norm"}[k/4], cursor-10, cursor, cursor+100, 8)
			}
			y.Run(toytrace.AllReduce, cursor+80, cursor+100, at+900_000, 1)
			y.Span(trace.Runtime, 0, "cudaStreamSynchronize", cursor+100, at+990_000)
		}
		return y.Done()
	}
	for _, c := range []struct {
		name     string
		peer     *trace.Trace
		late     *trace.Trace
		work     bool
		hostPart bool
	}{
		{"twice the kernels at the same pace", rank(4, 10_000), rank(8, 10_000), true, false},
		{"the same kernels at half the pace", rank(4, 10_000), rank(4, 20_000), false, true},
		{"twice the kernels at half the pace", rank(4, 10_000), rank(8, 20_000), true, true},
	} {
		a := prepared(c.peer, c.late)
		s := Blame(a)[0].late[1][2].split()
		if (s[byWork] > 5_000) != c.work || (s[byHost] > 5_000) != c.hostPart || s[byDevice] > 1_000 {
			t.Errorf("%s: got costs by work %d, device %d, host %d ns; want work %v, host %v, no device", c.name, s[byWork], s[byDevice], s[byHost], c.work, c.hostPart)
		}
	}
}

func TestChangePoint(t *testing.T) {
	for _, c := range []struct {
		name  string
		value []int64
		want  int
	}{
		{"a step up", []int64{10, 11, 10, 10, 20, 21, 20, 20}, 4},
		{"early", []int64{10, 10, 20, 20, 20, 20, 20}, 2},
		{"late", []int64{10, 10, 10, 10, 20, 20, 20}, 4},
		{"an outlier before it", []int64{10, 30, 10, 10, 10, 20, 20, 20, 20, 20}, 5},
		{"too short", []int64{10, 20, 20, 20}, -1},
	} {
		steps := make([]int, len(c.value))
		for i := range steps {
			steps[i] = i
		}
		if got := changePoint(steps, c.value); got != c.want {
			t.Errorf("%s: got change point %d, want %d", c.name, got, c.want)
		}
	}
}

// TestSeverityByUsualStep: a long prefill among decode steps does not lower the severity of a late rank.
func TestSeverityByUsualStep(t *testing.T) {
	const ms = 1_000_000
	rank := func() *trace.Trace {
		y, at := toytrace.New(), int64(0)
		for n := range 9 {
			name, took := "step[DECODE bs=16]", int64(8*ms)
			if n == 4 {
				name, took = "step[EXTEND bs=1 toks=4096]", 160*ms
			}
			y.Span(trace.UserAnnotation, 0, name, at, at+took)
			y.Run("gemm", at+20, at+800, at+took/2, 8)
			y.Run(toytrace.AllReduce, at+60, at+took/2, at+took-ms, 1)
			at += took
		}
		return y.Done()
	}
	a := prepared(rank(), rank())
	run := lateRun{cause: byHost, steps: []int{1, 2, 3, 4, 5, 6, 7}, stays: true}
	if period := usualPeriod(a, run.steps); period != 8*ms {
		t.Errorf("got usual step of %d ns, want %d", period, 8*ms)
	}
	d := Blame(a)[0]
	f := straggler(a, d, 1, d.late[1], run, 3*ms)
	if f.Severity != "high" {
		t.Errorf("lateness of 3 of 8 ms: got severity %s, want high", f.Severity)
	}
	c := capture{Aligned: a}
	if c.below(&f, naturalShare) || !c.ofKind(&f, trace.Decode.String()) || c.ofKind(&f, trace.Prefill.String()) {
		t.Error("lateness of 3 of 8 ms: want it above the natural share, and of decode, not prefill, steps")
	}
}
