package replicas

import (
	"testing"

	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// replica describes the steps of a replica: kernels in sequence, then idle time until the next step.
type replica struct {
	kind    trace.StepKind
	batch   int
	steps   int
	kernels []int64 // duration of each kernel in ns; i is the index of its name and grid
	more    int     // further kernels with a name of their own, 10 ns each
	host    int64   // ns of a step in which no kernel runs
	comm    int64   // ns of a step in a collective
}

// names holds the kernel names; only one replica runs "own", and the last is a collective.
var names = &prep.Names{List: []string{"gemm", "attention", "norm", "rope", "own", "ncclAllReduce"}}

const own, collective = 4, 5

func (r *replica) rank(dp int) *prep.Rank {
	out := &prep.Rank{Source: trace.Source{Rank: trace.Rank{DP: dp}}, Names: *names}
	at := int64(0)
	run := func(step, name int, took int64, class kernel.Class) {
		out.Ops = append(out.Ops, prep.Op{Start: at, End: at + took, Step: int32(step), Name: int32(name), Key: int32(name), Class: class})
		at += took
	}
	for i := range r.steps {
		step := prep.Step{Start: at, Info: trace.Step{Kind: r.kind, Batch: r.batch, Tokens: -1}}
		for name, took := range r.kernels {
			run(i, name, took, kernel.Other)
		}
		for range r.more {
			run(i, own, 10, kernel.Other)
		}
		if r.comm > 0 {
			run(i, collective, r.comm, kernel.Comm)
		}
		at += r.host
		step.End = at
		out.Steps = append(out.Steps, step)
	}
	return out
}

// TestCompare finds the reason why a step of one replica takes longer than those of three others.
func TestCompare(t *testing.T) {
	usual := replica{kind: trace.Decode, batch: 8, steps: 10, kernels: []int64{400, 300, 100, 100}, host: 100}
	for _, c := range []struct {
		name   string
		change func(*replica)
		cause  string
		longer float64
	}{
		{"no difference", func(*replica) {}, "", 1},
		{"more requests, with longer kernels", func(r *replica) { r.batch, r.kernels[1] = 32, 900 }, result.CauseLoad, 1.6},
		{"more requests, with kernels slower than these explain", func(r *replica) { r.batch, r.kernels = 16, []int64{1200, 900, 300, 300} }, result.CauseDevice, 2.8},
		{"more requests, same length", func(r *replica) { r.batch = 32 }, result.CauseLoad, 1},
		{"the device is slow", func(r *replica) { r.kernels = []int64{800, 600, 200, 200} }, result.CauseDevice, 1.9},
		{"the device stalls in one kernel", func(r *replica) { r.kernels[2] = 1000 }, result.CauseDevice, 1.9},
		{"the host is late", func(r *replica) { r.host = 800 }, result.CauseHost, 1.7},
		{"kernels of its own", func(r *replica) { r.more = 40 }, result.CauseWork, 1.4},
		{"no kernels recorded", func(r *replica) { r.kernels, r.host = nil, 2000 }, result.CauseUnknown, 2},
		{"waiting in a collective", func(r *replica) { r.comm = 10 }, "", 1.01},
		{"a little slower", func(r *replica) { r.kernels[0] = 480 }, "", 1.08},
	} {
		odd := usual
		odd.kernels = append([]int64{}, usual.kernels...)
		c.change(&odd)
		ranks := []*prep.Rank{usual.rank(0), odd.rank(1), usual.rank(2), usual.rank(3)}
		got := Compare(ranks, names, "DP01", func(s *trace.Source) bool { return s.Rank.DP == 1 })
		if got == nil || got.Cause != c.cause || got.Kind != "decode" || got.This.Steps != 8 || got.Others.Steps != 24 {
			t.Errorf("%s: got %+v, want cause %q in decode, 8 steps against 24", c.name, got, c.cause)
			continue
		}
		if off := got.Longer() - c.longer; off < -0.01 || off > 0.01 {
			t.Errorf("%s: got steps %.3f times as long, want %.3f", c.name, got.Longer(), c.longer)
		}
	}
}

// TestCompareFigures checks the figures of both sides. They exclude the first step, in which profilers start, and the last.
func TestCompareFigures(t *testing.T) {
	usual := replica{kind: trace.Decode, batch: 8, steps: 10, kernels: []int64{400, 300, 100}, host: 100}
	odd := usual
	odd.kernels, odd.more = []int64{800, 600, 200}, 2
	got := Compare([]*prep.Rank{odd.rank(0), usual.rank(1)}, names, "DP00", func(s *trace.Source) bool { return s.Rank.DP == 0 })
	if got == nil {
		t.Fatal("Compare returned nil")
	}
	this := result.ReplicaSide{Steps: 8, Batch: 8, Tokens: -1, Period: 1720, Device: 1620, Host: 100, Kernels: 5}
	others := result.ReplicaSide{Steps: 8, Batch: 8, Tokens: -1, Period: 900, Device: 800, Host: 100, Kernels: 3}
	if got.This != this || got.Others != others {
		t.Errorf("got\n%+v\n%+v\nwant\n%+v\n%+v", got.This, got.Others, this, others)
	}
	if got.Like != 2 || got.LikeKinds != 3 || got.Name != "DP00" {
		t.Errorf("%s: equal kernels take %g times as long, %d kinds, want DP00, 2, 3", got.Name, got.Like, got.LikeKinds)
	}
	want := []result.ReplicaKernel{
		{Short: "gemm", Count: 1, CountOthers: 1, NS: 800, NSOthers: 400},
		{Short: "attention", Count: 1, CountOthers: 1, NS: 600, NSOthers: 300},
		{Short: "norm", Count: 1, CountOthers: 1, NS: 200, NSOthers: 100},
	}
	if len(got.Kernels) != len(want) {
		t.Fatalf("got kernels %+v, want %+v", got.Kernels, want)
	}
	for i, k := range got.Kernels {
		if k != want[i] {
			t.Errorf("kernel %d: got %+v, want %+v", i, k, want[i])
		}
	}
}

// TestCompareNothing: Compare returns nil if a side has too few steps, or the sides share no kind of step.
func TestCompareNothing(t *testing.T) {
	usual := replica{kind: trace.Decode, batch: 8, steps: 10, kernels: []int64{400, 300, 100}, host: 100}
	prefill, short := usual, usual
	prefill.kind, short.steps = trace.Prefill, 3
	for name, other := range map[string]*replica{"steps of another kind": &prefill, "too few steps": &short} {
		if got := Compare([]*prep.Rank{usual.rank(0), other.rank(1)}, names, "DP01", func(s *trace.Source) bool { return s.Rank.DP == 1 }); got != nil {
			t.Errorf("%s: got %+v, want nil", name, got)
		}
	}
	if got := Compare([]*prep.Rank{usual.rank(0)}, names, "DP01", func(*trace.Source) bool { return true }); got != nil {
		t.Errorf("no other replicas: got %+v, want nil", got)
	}
}
