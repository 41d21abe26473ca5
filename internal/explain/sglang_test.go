package explain_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
)

// TestSGLang checks captures of a real SGLang on two H200, with one deliberately disturbed rank, against the
// disturbance.
func TestSGLang(t *testing.T) {
	for _, c := range []struct {
		capture, cause string
		rank           int
		from           int // the finding begins no later than this
		reason         string
	}{
		{"sglang_shared", result.CauseDevice, 1, 0, result.ReasonShared}, // another process on its GPU
		{"sglang_stops", result.CauseHost, 1, 8, ""},                     // its scheduler is stopped repeatedly, longest in step 8
	} {
		t.Run(c.capture, func(t *testing.T) {
			r := explaintest.Analyzed(t, explaintest.RealSet(t, c.capture))
			if !slices.ContainsFunc(r.Findings, func(f result.Finding) bool {
				return f.Kind == result.Straggler && f.Cause == c.cause && slices.Equal(f.Ranks, []int{c.rank}) && f.FirstStep <= c.from && !f.Passing && f.Reason == c.reason
			}) {
				t.Errorf("the report lacks a finding that rank %d is late by its %s%s", c.rank, c.cause, explaintest.Describe(r))
			}
		})
	}
}

// TestShared: the cost of sharing a GPU with another process by time slices. Kernels stall while the other process has
// the GPU, and so do steps between their kernels: without both a step takes about as long as on a GPU of its own, 2.9
// ms (measured in docs/servers.md), plus the overhead of recording.
func TestShared(t *testing.T) {
	r := explaintest.Analyzed(t, explaintest.RealSet(t, "sglang_shared"))
	i := slices.IndexFunc(r.Findings, func(f result.Finding) bool { return f.Reason == result.ReasonShared })
	if i < 0 {
		t.Fatal("no finding has the reason of a shared device" + explaintest.Describe(r))
	}
	f := &r.Findings[i]
	if w := f.Worth; w.Without > 4*ms || w.Without < 2_900*us {
		t.Errorf("without the sharing a step takes %d ns, want 2.9 to 4 ms", w.Without)
	}
	if says := report.Words(f.Evidence[0].Text); !strings.Contains(says, "kernels pause for 2.56 ms each, about every 6.") || !strings.Contains(says, "all others take 1.02 times as long") {
		t.Errorf("got evidence %q, want pauses of 2.56 ms and a ratio of 1.02 of other kernels", says)
	}
	if todo := report.Words(f.Next[0]); !strings.Contains(todo, "nvidia-smi pmon") || !strings.Contains(todo, "TP01") {
		t.Errorf("got advice %q, want nvidia-smi pmon and TP01", todo)
	}
}
