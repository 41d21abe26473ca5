package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepscope/stepscope/internal/api"
)

// TestIdleReplica checks how long a replica without requests holds the window of the others open: only moments. A
// replica with requests holds it for as long as it takes.
func TestIdleReplica(t *testing.T) {
	for name, c := range map[string]struct {
		steps   int // of replica 1, before the others have theirs
		byStage bool
		message string
		files   int
	}{
		"no step":   {0, false, "DP1 was idle while the others ran their steps: its part of the window closed without a step", 2},
		"some":      {2, false, "DP1 was idle while the others ran their steps: its part of the window closed after 2 of 3 steps", 2},
		"by stage":  {0, true, "DP1 was idle while the others ran their steps: its part of the window closed before its last stage", 2},
		"no longer": {3, false, "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, 2, 1, Options{})
				req := profileIn(t.TempDir())
				req.NumSteps = 3
				if c.byStage {
					req.NumSteps, req.ByStage, req.Prefill, req.Decode = 1, true, true, true
				}
				if err := r.StartProfile(t.Context(), req); err != nil {
					t.Fatal(err)
				}
				s := r.session.Load()
				time.Sleep(10 * time.Minute) // nobody has made a step yet
				if c.steps > 0 {
					r.generate(t, 1, c.steps)
				}
				r.generate(t, 0, 4)
				time.Sleep(replicaIdle - time.Second)
				if err := r.StartProfile(t.Context(), req); c.message != "" && !errors.Is(err, api.ErrProfileRunning) {
					t.Fatalf("closed too early: %v", err)
				} else if c.message == "" {
					r.StopProfile(context.Background())
				}
				time.Sleep(1500 * time.Millisecond)
				if r.Profiling() {
					t.Fatal("not closed")
				}
				<-s.done
				if !strings.Contains(s.result.Message, c.message) || c.message == "" && s.result.Message != "" || len(s.result.Files) != c.files {
					t.Errorf("%+v", s.result)
				}
				r.Close()
			})
		})
	}
}
