package tables_test

import (
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/gate"
	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/trace"
)

// TestCompareRefuses: captures of different workloads lead to no conclusion unless it is forced.
func TestCompareRefuses(t *testing.T) {
	few, many := explaintest.RealSet(t, "stacks"), explaintest.RealSet(t, "balanced") // models of 2 and of 6 layers
	none := retime.Copy(many)
	for _, tr := range none {
		for i := range tr.Spans {
			if s := &tr.Spans[i]; s.Cat == trace.Kernel && !strings.Contains(tr.Strings.Get(s.Name), "nccl") {
				s.Name = tr.Strings.Intern([]byte("other_" + tr.Strings.Get(s.Name)[:1] + "_kernel"))
			}
		}
	}
	for _, c := range []struct {
		name string
		a, b []*trace.Trace
		why  string
	}{
		{"fewer layers", many, few, "nearly all kernels run 0.33 times as often"},
		{"other kernels", many, none, "kernels without a counterpart on the other side"},
	} {
		t.Run(c.name, func(t *testing.T) {
			limits, err := gate.Parse([]string{"0.1%,decode.step>0.1%,decode.step<-0.1%"})
			if err != nil {
				t.Fatal(err)
			}
			got := explaintest.Compared(t, c.a, c.b, explain.CompareOptions{Limits: limits})
			if v := report.Words(got.Verdict); !got.Refused || !strings.Contains(v, "no verdict") || !strings.Contains(v, c.why) {
				t.Errorf("got refused %v, verdict %q, want a refusal", got.Refused, v)
			}
			if len(got.Causes)+len(got.Regressions)+len(got.Undecided) > 0 {
				t.Errorf("refused, but got causes %v, regressions %v, undecided %v", got.Causes, got.Regressions, got.Undecided)
			}
			if got := explaintest.Compared(t, c.a, c.b, explain.CompareOptions{Limits: limits, Force: true}); got.Refused || strings.Contains(report.Words(got.Verdict), "no verdict") {
				t.Errorf("forced: got verdict %q, want a comparison", report.Words(got.Verdict))
			}
		})
	}
}

// TestCompareLimits: a limit on one figure applies only to that figure, and reports where it cannot be judged.
func TestCompareLimits(t *testing.T) {
	a, b := explaintest.RealSet(t, "balanced"), explaintest.RealSet(t, "compute_skew") // decode steps take 5.1 % more, prefill steps are too few
	for _, c := range []struct {
		limits           string
		worse, undecided string
	}{
		{"decode.step>2%", "step of decode steps, batch 16: +5.10 % (+2.03 % … +8.04 %)", ""},
		{"step>2%", "step of decode steps, batch 16: +5.10 % (+2.03 % … +8.04 %)", ""},
		{"step>3%", "", "step>3%: not judged, since the change may be smaller by chance; record more steps: step of decode steps, batch 16: +5.10 % (+2.03 % … +8.04 %)"},
		{"decode.time_per_step>1.5%", "time per step of decode steps, batch 16: +4.85 % (+2.01 % … +7.77 %)", ""},
		{"throughput<-1.5%", "throughput of decode steps, batch 16: -4.63 % (-7.21 % … -1.97 %)", ""},
		{"decode.step>6%", "", ""},
		{"decode.step<-2%", "", ""},
		{"decode.idle>0.1%", "", ""}, // explained by chance
		{"prefill.step>1%", "", "prefill.step>1%: not judged, since a capture has too few such steps"},
		{"mixed.step>1%", "", "mixed.step>1%: not judged, since the captures share no such steps"},
	} {
		limits, err := gate.Parse([]string{c.limits})
		if err != nil {
			t.Fatal(err)
		}
		if err := limits.Check(explain.LimitNames()); err != nil {
			t.Fatal(err)
		}
		got := report.Plain(explaintest.Compared(t, a, b, explain.CompareOptions{Limits: limits}))
		one := func(list []string) string { return strings.Join(list, "\n") }
		var worse, undecided []string
		for _, f := range got.Regressions {
			worse = append(worse, f.Text)
		}
		for _, f := range got.Undecided {
			undecided = append(undecided, f.Text)
		}
		if one(worse) != c.worse || one(undecided) != c.undecided {
			t.Errorf("%s: got regressions %q, undecided %q; want %q, %q", c.limits, worse, undecided, c.worse, c.undecided)
		}
	}
	if back := explaintest.Compared(t, b, a, explain.CompareOptions{Limits: gate.Limits{{Name: "decode.step", Falls: true, By: 0.015}}}); len(back.Regressions) != 1 {
		t.Errorf("decode.step<-1.5%% on the faster side: got regressions %v, want one", back.Regressions)
	}
}
