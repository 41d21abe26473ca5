package explaintest

import (
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/trace"
)

// Retimed returns a real capture after a change.
func Retimed(t testing.TB, set string, change func(m *retime.Model)) []*trace.Trace {
	t.Helper()
	m := retime.New(RealSet(t, set))
	change(m)
	ts, err := m.Run()
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

// Paused makes a rank's host stall in each step, beginning with step from.
func Paused(rank, from int, ns int64) func(m *retime.Model) {
	return func(m *retime.Model) {
		for n := from; n < m.Steps; n++ {
			m.Pause(rank, n, ns)
		}
	}
}

// Slowed makes the kernels of ranks take longer from a step on.
func Slowed(by float64, from int, ranks ...int) func(m *retime.Model) {
	return func(m *retime.Model) {
		m.Stretch(by, func(o *retime.Op) bool { return o.Step >= from && slices.Contains(ranks, o.Rank) })
	}
}

// Compiled returns a real capture in which Triton compiles a kernel; see retime.Compile.
func Compiled(t testing.TB, set string, step int, ns int64, stacks bool, ranks ...int) (ts []*trace.Trace, kernel string) {
	t.Helper()
	ts, kernel, err := retime.Compile(RealSet(t, set), step, ns, stacks, ranks...)
	if err != nil {
		t.Fatal(err)
	}
	return ts, kernel
}
