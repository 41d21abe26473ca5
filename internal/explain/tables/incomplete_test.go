package tables_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/gate"
	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/trace"
)

// loseWork removes a rank's GPU work that was launched after the given share of its recording.
func loseWork(t *trace.Trace, after float64) {
	from := t.Spans[int(after*float64(len(t.Spans)-1))].Start
	late := map[int64]bool{}
	for _, s := range t.Spans {
		if s.Cat.Launch() && s.Start >= from {
			late[s.Corr] = true
		}
	}
	t.Spans = slices.DeleteFunc(t.Spans, func(s trace.Span) bool { return s.Cat.OnGPU() && late[s.Corr] })
}

// TestCompareIncomplete: a comparison with a capture that lacks data says so. It judges only figures that do not rest on
// the missing data, and limits are not met. The same captures without the loss are judged.
func TestCompareIncomplete(t *testing.T) {
	note := func(kind trace.NoteKind) func([]*trace.Trace) {
		return func(ts []*trace.Trace) {
			ts[1].Notes = append(ts[1].Notes, trace.Note{Kind: kind, Count: 40, Lost: 500})
		}
	}
	for _, c := range []struct {
		name   string
		base   string
		damage func([]*trace.Trace)
		judged result.Judged
		says   string
	}{
		{"as recorded", "balanced", func([]*trace.Trace) {}, result.JudgedAll, ""},
		{"GPU work lost in the second half", "balanced", func(ts []*trace.Trace) { loseWork(ts[1], 0.5) }, result.JudgedSteps, "lacks GPU work of TP01"},
		{"GPU work lost on all ranks", "balanced", func(ts []*trace.Trace) {
			for _, tr := range ts {
				loseWork(tr, 0.7)
			}
		}, result.JudgedSteps, "lacks GPU work of TP00, TP01"},
		{"all GPU work of all ranks but one lost", "balanced", func(ts []*trace.Trace) {
			for _, tr := range ts[1:] {
				loseWork(tr, 0)
			}
		}, result.JudgedSteps, "lacks GPU work of TP01"},
		{"clock set back", "balanced", func(ts []*trace.Trace) { explaintest.Jump(ts[1], 0.5, 30_000*us) }, result.JudgedNone, "collectives contradict the clocks"},
		{"few collectives in steps", "graphs", func(ts []*trace.Trace) { explaintest.Unnamed(ts, 5) }, result.JudgedOwn, "too few collectives"},
		{"note: clock set back", "balanced", note(trace.NoteSetBack), result.JudgedNone, "TP01: 40 events out of order"},
		{"note: times of 0", "balanced", note(trace.NoteDaysAway), result.JudgedNone, "TP01: 40 events days away"},
		{"note: GPU work lost", "balanced", note(trace.NoteLostOps), result.JudgedSteps, "TP01: no GPU record of 40 of 500 kernel and graph launches"},
		{"note: clock set back, spans cross", "balanced", note(trace.NoteCross), result.JudgedNone, "TP01: 40 host spans that cross"},
		{"note: GPU work before its launch", "balanced", note(trace.NoteBeforeLaunch), result.JudgedNone, "TP01: 40 launches"},
		{"note: negative durations", "balanced", note(trace.NoteNegative), result.JudgedSteps, "TP01: 40 negative durations"},
		{"note: open ranges", "balanced", note(trace.NoteOpenRanges), result.JudgedAll, ""},
	} {
		for side, name := range []string{"A", "B"} {
			t.Run(c.name+" in "+name, func(t *testing.T) {
				sides := [2][]*trace.Trace{explaintest.RealSet(t, c.base), explaintest.RealSet(t, c.base)}
				for _, tr := range sides[side] {
					explaintest.StretchTimes(tr, 1.3)
				}
				c.damage(sides[side])
				got := explaintest.Compared(t, sides[0], sides[1], explain.CompareOptions{Limits: explaintest.AnyBy(0.05)})
				if got.Judged != c.judged || (len(got.Incomplete) == 0) != (c.judged == result.JudgedAll) {
					t.Fatalf("got %v judged, data missing: %v, want %v", got.Judged, got.Incomplete, c.judged)
				}
				forms(t, got, name, c.says)
				unspoilt(t, got)
				if worse := len(got.Regressions) > 0; worse && (side == 0 || c.judged == result.JudgedNone) || !worse && side == 1 && c.judged == result.JudgedAll {
					t.Errorf("%v judged: got regressions %v", got.Judged, got.Regressions)
				}
				if c.judged >= result.JudgedSteps && len(got.Regressions)+len(got.Undecided) == 0 {
					t.Error("the limit counts as met, want it undecided")
				}
			})
		}
	}
}

// TestCompareFewLost: a loss of less than 1 % leaves all verdicts and causes. It cannot explain that captures have nothing
// in common. Of two ranks, loss on other ranks leaves all verdicts except on waits.
func TestCompareFewLost(t *testing.T) {
	losing := func(rank int, count int64) []*trace.Trace {
		ts := explaintest.RealSet(t, "balanced")
		for _, tr := range ts {
			explaintest.StretchTimes(tr, 1.3)
		}
		if count > 0 {
			ts[rank].Notes = append(ts[rank].Notes, trace.Note{Kind: trace.NoteLostOps, Count: count, Lost: 1146})
		}
		return ts
	}
	halved := losing(3, 0)
	loseWork(halved[3], 0.5)
	for _, c := range []struct {
		name         string
		a, b         []*trace.Trace
		onlyA, onlyB string
		judged       result.Judged
		refused      bool
		incomplete   int
	}{
		{"as recorded", explaintest.RealSet(t, "balanced"), losing(1, 0), "", "", result.JudgedAll, false, 0},
		{"1 launch", explaintest.RealSet(t, "balanced"), losing(1, 1), "", "", result.JudgedAll, false, 1},
		{"20 launches", explaintest.RealSet(t, "balanced"), losing(1, 20), "", "", result.JudgedSteps, false, 1},
		{"another model", explaintest.RealSet(t, "stacks"), losing(1, 0), "", "", result.JudgedAll, true, 0},
		{"another model, 1 launch", explaintest.RealSet(t, "stacks"), losing(1, 1), "", "", result.JudgedAll, true, 1},
		{"another model, 20 launches", explaintest.RealSet(t, "stacks"), losing(1, 20), "", "", result.JudgedSteps, true, 1},
		{"other ranks lost work", halved, halved, "TP00", "TP01", result.JudgedOwn, false, 2},
		{"one of the ranks lost work", halved, halved, "TP00", "TP03", result.JudgedNone, false, 2},
	} {
		got := explaintest.Compared(t, c.a, c.b, explain.CompareOptions{Limits: explaintest.AnyBy(0.05), OnlyA: c.onlyA, OnlyB: c.onlyB})
		if got.Judged != c.judged || got.Refused != c.refused || len(got.Incomplete) != c.incomplete || c.refused && len(got.Regressions) > 0 {
			t.Errorf("%s: got %v judged, refused %t, incomplete %v, regressions %v; want %v, %t, %d", c.name, got.Judged, got.Refused, got.Incomplete, got.Regressions, c.judged, c.refused, c.incomplete)
		}
	}
}

// forms checks that the verdict of a comparison, and each form of the report, say which data of a side are missing.
func forms(t *testing.T, c *result.Comparison, side, says string) {
	t.Helper()
	verdict := report.Words(c.Verdict)
	if lacks := strings.Contains(verdict, "the data of "+side+" are incomplete"); lacks != (says != "") || !strings.Contains(verdict, says) {
		t.Errorf("got verdict %q, want that data of %s are incomplete: %q", verdict, side, says)
	}
	v := report.Compared(c, report.Options{Width: 1000})
	var text, markdown, page strings.Builder
	for _, err := range []error{v.Text(&text, report.Options{Width: 1000}), v.Markdown(&markdown), v.HTML(&page)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, form := range []string{text.String(), markdown.String(), page.String()} {
		if strings.Contains(form, "are incomplete") != (says != "") {
			t.Errorf("want a report that says %q:\n%.2000s", says, form)
		}
	}
}

// unspoilt checks that no row has a verdict that rests on missing data, and that no cause does.
func unspoilt(t *testing.T, c *result.Comparison) {
	t.Helper()
	said := func(verdict string) bool { return verdict != result.NotJudged && verdict != result.Unclear }
	if c.Judged >= result.JudgedSteps && len(c.Causes) > 0 {
		t.Errorf("%v judged: got causes %+v, want none", c.Judged, c.Causes)
	}
	judged := 0
	for _, d := range c.Steps {
		if !said(d.Verdict) {
			continue
		}
		judged++
		if c.Judged == result.JudgedNone || c.Judged == result.JudgedSteps && d.Figure != "step" || c.Judged == result.JudgedOwn && d.Figure == "wait" {
			t.Errorf("%v judged: %s of %s is %s", c.Judged, d.Figure, d.Kind, d.Verdict)
		}
	}
	if judged == 0 && c.Judged != result.JudgedNone {
		t.Errorf("%v judged: no row is judged", c.Judged)
	}
	for _, d := range c.Throughput {
		if said(d.Verdict) && c.Judged >= result.JudgedSteps {
			t.Errorf("%v judged: %s of %s is %s", c.Judged, d.Figure, d.Kind, d.Verdict)
		}
	}
	for _, d := range c.Kernels {
		if said(d.Verdict) && (c.Judged >= result.JudgedSteps || c.Judged == result.JudgedOwn && d.Class == "communication") {
			t.Errorf("%v judged: kernel %s is %s", c.Judged, d.Short, d.Verdict)
		}
	}
}

// TestLimitFewSteps: a limit on too few steps is not judged. The same limit on all steps of the captures is judged.
func TestLimitFewSteps(t *testing.T) {
	for _, c := range []struct {
		limit string
		steps int // of B; 0: all
		says  string
	}{
		{"5%", 0, ""},
		{"5%", 2, "5%: not judged, since a capture has too few such steps"},
		{"decode.step>5%", 0, ""},
		{"decode.step>5%", 2, "decode.step>5%: not judged, since a capture has too few such steps"},
		{"decode.time_per_step>5%", 0, ""},
		{"decode.time_per_step>5%", 2, "decode.time_per_step>5%: not judged, since a capture has too few such steps"},
		{"prefill.step>5%", 0, "prefill.step>5%: not judged, since the captures share no such steps"},
	} {
		limits, err := gate.Parse([]string{c.limit})
		if err != nil {
			t.Fatal(err)
		}
		a, b := explaintest.RealSet(t, "graphs"), explaintest.RealSet(t, "graphs")
		for _, tr := range b {
			if c.steps > 0 {
				retime.Keep(tr, 0, c.steps-1)
			}
		}
		var got []string
		for _, f := range explaintest.Compared(t, a, b, explain.CompareOptions{Limits: limits}).Undecided {
			got = append(got, report.Words(f))
		}
		if strings.Join(got, "; ") != c.says {
			t.Errorf("%s, %d steps: got undecided %q, want %q", c.limit, c.steps, got, c.says)
		}
	}
}

// TestCompareNothingLeft: if each step lacks work of one rank, nothing is judged, which is not the same as captures
// without a common step.
func TestCompareNothingLeft(t *testing.T) {
	c := explaintest.Compared(t, explaintest.RealSet(t, "balanced"), explaintest.DropKernels(explaintest.RealSet(t, "balanced"), 2, 0.5, 0), explain.CompareOptions{})
	if c.Refused || c.Judged != result.JudgedNone || len(c.Incomplete) == 0 || len(c.Unlike) > 0 {
		t.Errorf("refused %v, judged %v, unlike %v, incomplete %v", c.Refused, c.Judged, c.Unlike, c.Incomplete)
	}
	whole := explaintest.Compared(t, explaintest.RealSet(t, "balanced"), explaintest.RealSet(t, "balanced"), explain.CompareOptions{})
	if whole.Refused || whole.Judged != result.JudgedAll {
		t.Errorf("the healthy twin: refused %v, judged %v", whole.Refused, whole.Judged)
	}
}
