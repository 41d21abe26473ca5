package explain

import (
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
)

// TestSGLang holds captures of a real SGLang on two H200, in which one rank was
// disturbed on purpose, against what was done to it.
func TestSGLang(t *testing.T) {
	for _, c := range []struct {
		capture, cause string
		rank           int
		from           int // the finding begins no later than this
	}{
		{"sglang_shared", result.CauseDevice, 1, 0}, // another process on its GPU
		{"sglang_stops", result.CauseHost, 1, 8},    // its scheduler is stopped now and again, in the worst way in step 8
	} {
		t.Run(c.capture, func(t *testing.T) {
			r := analyzed(t, realSet(t, c.capture))
			if !slices.ContainsFunc(r.Findings, func(f result.Finding) bool {
				return f.Kind == result.Straggler && f.Cause == c.cause && slices.Equal(f.Ranks, []int{c.rank}) && f.FirstStep <= c.from && !f.Passing
			}) {
				t.Errorf("rank %d is not named late by its %s%s", c.rank, c.cause, describe(r))
			}
		})
	}
}
