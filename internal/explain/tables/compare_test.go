package tables_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/trace"
)

func TestCompareWithItself(t *testing.T) {
	for _, set := range []string{"graphs", "balanced", "compute_skew", "graph_work"} {
		ts := explaintest.RealSet(t, set)
		c := explaintest.Compared(t, ts, ts, explain.CompareOptions{Limits: explaintest.AnyBy(0.0001)})
		if len(c.Regressions) > 0 {
			t.Errorf("%s against itself: got regressions %v, want none", set, c.Regressions)
		}
		for _, d := range c.Steps {
			if d.Verdict != result.Same && d.Verdict != result.NotClear && d.Verdict != result.Unclear || d.Change.Change != 0 {
				t.Errorf("%s against itself: %s %s is %s by %v, want no change", set, d.Kind, d.Figure, d.Verdict, d.Change.Change)
			}
		}
		for _, d := range c.Kernels {
			if d.Verdict != result.Same && d.Verdict != result.NotClear && d.Verdict != result.Unclear {
				t.Errorf("%s against itself: kernel %s is %s, want no change", set, d.Short, d.Verdict)
			}
		}
	}
}

func TestCompareRanksOfOneCapture(t *testing.T) {
	ts := explaintest.RealSet(t, "graph_work")
	c := explaintest.Compared(t, ts, ts, explain.CompareOptions{OnlyA: "TP00", OnlyB: "TP01", Limits: explaintest.AnyBy(0.05)})
	if d := explaintest.StepVerdict(c, "compute"); d.Verdict != result.Slower || d.Change.Change < 0.5 {
		t.Errorf("compute of TP01: got %s by %.2f, want slower by more than half", d.Verdict, d.Change.Change)
	}
	if d := explaintest.StepVerdict(c, "wait"); d.Verdict != result.Faster {
		t.Errorf("waits of TP01: got %s, want faster: TP01 is the late rank", d.Verdict)
	}
	// Both ranks end every step together.
	if d := explaintest.StepVerdict(c, "step"); d.Verdict != result.Same {
		t.Errorf("step time: got %s, want the same", d.Verdict)
	}
	if len(c.Regressions) == 0 {
		t.Error("got no regression, want one: TP01 runs two more MLPs a layer")
	}
	// In the other direction TP00 only waits more, which is not a regression of its own.
	if back := explaintest.Compared(t, ts, ts, explain.CompareOptions{OnlyA: "TP01", OnlyB: "TP00", Limits: explaintest.AnyBy(0.05)}); len(back.Regressions) > 0 {
		t.Errorf("TP00 against TP01: got regressions %v, want none", back.Regressions)
	}
}

func TestCompareSlowerCapture(t *testing.T) {
	a := explaintest.RealSet(t, "graphs")
	b := retime.Copy(a)
	for _, tr := range b {
		explaintest.StretchTimes(tr, 1.3)
	}
	c := explaintest.Compared(t, a, b, explain.CompareOptions{Limits: explaintest.AnyBy(0.05)})
	if d := explaintest.StepVerdict(c, "step"); d.Verdict != result.Slower || d.Change.Change < 0.29 || d.Change.Change > 0.31 || d.Lo > 0.3 || d.Hi < 0.3 {
		t.Errorf("all times × 1.3: step is %s by %.3f in [%.3f, %.3f], want slower by 0.3", d.Verdict, d.Change.Change, d.Lo, d.Hi)
	}
	if !slices.ContainsFunc(c.Regressions, func(f fact.Fact) bool { return strings.HasPrefix(report.Words(f), "step of decode steps") }) {
		t.Errorf("got regressions %v, want decode steps among them", c.Regressions)
	}
	if back := explaintest.Compared(t, b, a, explain.CompareOptions{Limits: explaintest.AnyBy(0.05)}); len(back.Regressions) > 0 {
		t.Errorf("faster than the baseline: got regressions %v, want none", back.Regressions)
	}
	if high := explaintest.Compared(t, a, b, explain.CompareOptions{Limits: explaintest.AnyBy(0.5)}); len(high.Regressions) > 0 {
		t.Errorf("limit 50 %%, change +30 %%: got regressions %v, want none", high.Regressions)
	}
}

// TestCompareStalls: stalls in a few steps hardly change medians. The time per step of the window shows them, and
// limits apply to it. A change below a limit does not exceed the limit by chance.
func TestCompareStalls(t *testing.T) {
	stalls := func(steps ...int) []*trace.Trace {
		return explaintest.Retimed(t, "graphs", func(m *retime.Model) {
			for _, n := range steps {
				m.Pause(0, n, 2_000*us)
			}
		})
	}
	longer := func(by float64) []*trace.Trace {
		ts := stalls()
		for _, tr := range ts {
			explaintest.StretchTimes(tr, by)
		}
		return ts
	}
	a := stalls()
	for _, c := range []struct {
		name             string
		b                []*trace.Trace
		worse, undecided bool
		says             string // in the verdict
	}{
		{"three stalls", stalls(2, 5, 8), true, false, "the window takes"},
		{"one stall", stalls(5), false, true, "stalls"},
		{"none", stalls(), false, false, "no change"},
		{"4 % on each step", longer(1.04), false, false, "slower"},
		{"8 % on each step", longer(1.08), true, false, "slower"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := explaintest.Compared(t, a, c.b, explain.CompareOptions{Limits: explaintest.AnyBy(0.05)})
			if len(got.Regressions) > 0 != c.worse || len(got.Undecided) > 0 != c.undecided {
				t.Errorf("got regressions %v, undecided %v", got.Regressions, got.Undecided)
			}
			if says := report.Words(got.Verdict); !strings.Contains(says, c.says) {
				t.Errorf("got verdict %q, want %q in it", says, c.says)
			}
			inside(t, got)
		})
	}
}

// inside checks that each change lies in its interval.
func inside(t *testing.T, c *result.Comparison) {
	t.Helper()
	check := func(name string, change, lo, hi float64) {
		if lo > change || change > hi || lo < -1 {
			t.Errorf("%s: change %v outside %v to %v", name, change, lo, hi)
		}
	}
	for _, d := range c.Steps {
		check(d.Kind+" "+d.Figure, d.Change.Change, d.Lo, d.Hi)
	}
	for _, d := range c.Throughput {
		check(d.Kind+" "+d.Figure, d.Change, d.Lo, d.Hi)
	}
	for _, d := range c.Kernels {
		check(d.Kind+" "+d.Short, d.Change.Change, d.Lo, d.Hi)
	}
}

// TestCompareAppearedAndVanished renames a kernel: if the class stays, it is the same kernel; otherwise one kernel
// vanished and another appeared.
func TestCompareAppearedAndVanished(t *testing.T) {
	for other, want := range map[string][3]string{
		"fused_layer_norm_v2": {"", result.Same, "was"},
		"some_gemm_kernel":    {result.Vanished, result.Appeared, ""},
	} {
		appeared(t, other, want)
	}
}

func appeared(t *testing.T, other string, want [3]string) {
	a := explaintest.RealSet(t, "graphs")
	b := retime.Copy(a)
	name, ok := "", false
	for i := range b {
		for s := range b[i].Spans {
			sp := &b[i].Spans[s]
			if sp.Cat == trace.Kernel && strings.Contains(b[i].Strings.Get(sp.Name), "layer_norm") {
				name = b[i].Strings.Get(sp.Name)
				sp.Name, ok = b[i].Strings.Intern([]byte(other)), true
			}
		}
	}
	if !ok {
		t.Fatal("the set has no layer norm")
	}
	c := explaintest.Compared(t, a, b, explain.CompareOptions{})
	var got [3]string
	for _, d := range c.Kernels {
		switch {
		case d.Kind != "decode":
		case d.Name == name:
			got[0] = d.Verdict
		case d.Name == other:
			got[1] = d.Verdict
			if d.Was == name {
				got[2] = "was"
			}
		}
	}
	if got != want {
		t.Errorf("renamed to %s: got old kernel, new kernel, former name %q, want %q", other, got, want)
	}
}

func TestCompareTooFewSteps(t *testing.T) {
	ts := explaintest.RealSet(t, "balanced") // one prefill step besides the first
	c := explaintest.Compared(t, ts, ts, explain.CompareOptions{Limits: explaintest.AnyBy(0.01)})
	for _, d := range c.Steps {
		if d.Kind == "prefill" && d.Verdict != result.Unclear {
			t.Errorf("prefill %s: got %s from %d steps, want not enough samples", d.Figure, d.Verdict, d.NA)
		}
	}
}

func TestCompareUnknownRank(t *testing.T) {
	ts := explaintest.RealSet(t, "graph_work")
	if _, err := explain.Compare(ts, ts, explain.CompareOptions{OnlyA: "TP07", OnlyB: "TP01"}); err == nil || !strings.Contains(err.Error(), "TP00, TP01") {
		t.Errorf("unknown rank: got error %v, want one that lists the ranks", err)
	}
}

// TestCompareReplicas: a replica with fewer recorded steps does not shorten another with which it shares no
// collectives.
func TestCompareReplicas(t *testing.T) {
	ts := explaintest.StepsOnly(explaintest.StepsOnly(explaintest.RealSet(t, "graphs"), 2, 0, 2), 3, 0, 2)
	for i := range ts {
		ts[i].Source.Rank = trace.Rank{TP: i % 2, DP: i / 2, PP: -1, EP: -1}
		ts[i].Source.World = trace.World{Rank: -1}
	}
	for _, f := range explaintest.Analyzed(t, ts).Findings {
		if strings.HasPrefix(f.ID, "data-apart") {
			t.Errorf("got %q, want no such finding: each replica recorded all of its steps", report.Words(f.Title))
		}
	}
	if d := explaintest.StepVerdict(explaintest.Compared(t, ts, ts, explain.CompareOptions{}), "step"); d.NA != 10 {
		t.Errorf("got %d decode steps compared, want 10", d.NA)
	}
}

// TestCompareStacks: the comparison notes if only one side was recorded with stacks.
func TestCompareStacks(t *testing.T) {
	for _, stripped := range []bool{true, false} {
		a, b := explaintest.RealSet(t, "stacks"), explaintest.RealSet(t, "stacks")
		for _, x := range a {
			if stripped {
				explaintest.WithoutFrames(x)
			}
		}
		c, err := explain.Compare(a, b, explain.CompareOptions{IDA: "a", IDB: "b"})
		if err != nil {
			t.Fatal(err)
		}
		said := slices.ContainsFunc(c.Unlike, func(f fact.Fact) bool {
			return strings.HasPrefix(report.Words(f), "only b was recorded with Python stacks")
		})
		if said != stripped {
			t.Errorf("stripped %v: got differences %v, want a note on stacks: %v", stripped, c.Unlike, stripped)
		}
	}
}
