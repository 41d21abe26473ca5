package judge_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/trace"
)

// TestReasonsOfMostSteps: a rank has longer contexts in each decode step, and far more work in the single prefill among
// them. The late steps are decode steps, so their attention is the evidence, with equal grids.
func TestReasonsOfMostSteps(t *testing.T) {
	const rank = 0
	grown := ""
	r := explaintest.Analyzed(t, explaintest.Retimed(t, "sglang_stops", func(m *retime.Model) {
		for _, o := range m.Ops {
			switch {
			case o.Rank != rank || o.Step < 0 || o.Meet != nil:
			case m.Kinds[o.Step] == trace.Decode && o.Class == kernel.Attention:
				o.Dur *= 8
			case m.Kinds[o.Step] == trace.Prefill && o.Class == kernel.GEMM:
				o.Dur *= 20
				o.SetGrid(20)
				grown = o.Name
			}
		}
	}))
	explaintest.CheckSentences(t, r)
	at := slices.IndexFunc(r.Findings, func(f result.Finding) bool {
		return f.Kind == result.Straggler && f.Cause == result.CauseWork && slices.Equal(f.Ranks, []int{rank})
	})
	if at < 0 {
		t.Fatalf("the report lacks a finding that rank %d has more work%s", rank, explaintest.Describe(r))
	}
	var all []string
	for _, e := range r.Findings[at].Evidence {
		all = append(all, report.Words(e.Text))
	}
	text := strings.Join(all, "\n")
	if !strings.Contains(text, "the same number of blocks per launch: its requests have longer contexts") || strings.Contains(text, kernel.Short(grown)) {
		t.Errorf("got evidence other than the attention of decode steps:\n%s", text)
	}
	if f := r.Findings[at]; f.Evidence[0].Value > 2*float64(f.CostNSPerStep) {
		t.Errorf("evidence: got %.0f ns more a step, want at most twice the cost of %d ns", f.Evidence[0].Value, f.CostNSPerStep)
	}
}

// TestCPUNotRecorded: in a window without CPU ops, evidence does not mention that the host's activity was not recorded.
func TestCPUNotRecorded(t *testing.T) {
	ts := retime.Copy(explaintest.RealSet(t, "g_device_r1"))
	said := func(r *result.Report) string {
		all := explaintest.AllWords(r) + explaintest.Text(t, r)
		for _, g := range r.Gaps {
			all += "\n" + report.Words(g.Host)
		}
		return all
	}
	if text := said(explaintest.Analyzed(t, ts)); !strings.Contains(text, "off the CPU") {
		t.Errorf("with CPU ops: want evidence that the host was off the CPU, got %s", text)
	}
	for _, tr := range ts {
		tr.Spans = slices.DeleteFunc(tr.Spans, func(s trace.Span) bool { return s.Cat == trace.CPUOp || s.Cat == trace.PythonFunction })
	}
	if text := said(explaintest.Analyzed(t, ts)); strings.Contains(text, "off the CPU") {
		t.Errorf("without CPU ops: want no evidence that the host was off the CPU, got %s", text)
	}
}

// TestUnequalButBalanced: the evidence names a rank that gets three times as many requests, although no rank waits
// for it.
func TestUnequalButBalanced(t *testing.T) {
	ts := retime.Copy(explaintest.RealSet(t, "graphs"))
	more := regexp.MustCompile(`bs=16`)
	for i := range ts[1].Spans {
		s := &ts[1].Spans[i]
		if name := ts[1].Strings.Get(s.Name); s.Cat == trace.UserAnnotation && strings.HasPrefix(name, "step[DECODE") {
			s.Name = ts[1].Strings.Intern([]byte(more.ReplaceAllString(name, "bs=48")))
		}
	}
	for _, c := range []struct {
		ts   []*trace.Trace
		want bool
	}{{ts, true}, {explaintest.RealSet(t, "graphs"), false}} {
		r := explaintest.Analyzed(t, c.ts)
		explaintest.CheckSentences(t, r)
		if !explaintest.Has(r, result.Balanced) || strings.Contains(explaintest.AllWords(r), "TP01: its steps have 48 requests, the other ranks 16") != c.want {
			t.Errorf("evidence of three times the requests and a balanced finding: want %v, got %s", c.want, explaintest.AllWords(r))
		}
	}
}

// TestReasonsOfWork: the evidence includes the larger batch of the late rank.
func TestReasonsOfWork(t *testing.T) {
	ts := retime.Copy(explaintest.RealSet(t, "graph_work"))
	for i := range ts[1].Spans {
		s := &ts[1].Spans[i]
		if step, ok := trace.ParseStep(ts[1].Strings.Get(s.Name)); ok && step.Kind == trace.Decode {
			s.Name = ts[1].Strings.Intern([]byte("step[DECODE bs=64]"))
		}
	}
	r := explaintest.Analyzed(t, ts)
	at := slices.IndexFunc(r.Findings, func(f result.Finding) bool { return f.Cause == result.CauseWork })
	if at < 0 || !strings.Contains(explaintest.AllWords(r), "its steps have 64 requests, the other ranks ") {
		t.Errorf("the evidence lacks the batch of 64 requests%s\n%s", explaintest.Describe(r), explaintest.AllWords(r))
	}
}
