package explain

import (
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// TestSGLang holds captures of a real SGLang on two H200, in which one rank was
// disturbed on purpose, against what was done to it.
func TestSGLang(t *testing.T) {
	for _, c := range []struct {
		capture, cause string
		rank           int
		from           int // the finding begins no later than this
		reason         string
	}{
		{"sglang_shared", result.CauseDevice, 1, 0, result.ReasonShared}, // another process on its GPU
		{"sglang_stops", result.CauseHost, 1, 8, ""},                     // its scheduler is stopped now and again, in the worst way in step 8
	} {
		t.Run(c.capture, func(t *testing.T) {
			r := analyzed(t, realSet(t, c.capture))
			if !slices.ContainsFunc(r.Findings, func(f result.Finding) bool {
				return f.Kind == result.Straggler && f.Cause == c.cause && slices.Equal(f.Ranks, []int{c.rank}) && f.FirstStep <= c.from && !f.Passing && f.Reason == c.reason
			}) {
				t.Errorf("rank %d is not named late by its %s%s", c.rank, c.cause, describe(r))
			}
		})
	}
}

// TestShared: what a GPU costs that another process has in turns. Its kernels stand still where the other has the GPU, and
// so do the steps between their kernels: without both a step takes about what it takes on a GPU of its own, 2.9 ms (as
// docs/servers.md measured it) and the time that recording adds.
func TestShared(t *testing.T) {
	r := analyzed(t, realSet(t, "sglang_shared"))
	i := slices.IndexFunc(r.Findings, func(f result.Finding) bool { return f.Reason == result.ReasonShared })
	if i < 0 {
		t.Fatal(describe(r))
	}
	f := &r.Findings[i]
	if w := f.Worth; w.Without > 4*ms || w.Without < 2_900*us {
		t.Errorf("without it a step takes %d ns", w.Without)
	}
	if says := report.Words(f.Evidence[0].Text); !strings.Contains(says, "kernels stand still, for 2.56 ms each, about every 6.") || !strings.Contains(says, "all others take 1.02 times as long") {
		t.Error(says)
	}
	if todo := report.Words(f.Next[0]); !strings.Contains(todo, "nvidia-smi pmon") || !strings.Contains(todo, "TP01") {
		t.Error(todo)
	}
}
