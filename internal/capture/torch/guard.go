package torch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/pause"
)

// guardEvery is the interval at which the steps of a server that does not end windows by itself are polled.
const guardEvery = 100 * time.Millisecond

// Prefills reports whether any server of the session is a prefill server. Such a server has work only when a request
// begins.
func (s *Session) Prefills() bool {
	return slices.ContainsFunc(s.members, func(m *member) bool { return m.Role == api.Prefill })
}

// LoadRuns declares, before Arm, that the load is already running and has pauses. Arm then waits up to wait until an
// idle server has work, and the window is closed if no further work arrives.
func (s *Session) LoadRuns(wait time.Duration) { s.o.LoadFollows, s.o.Wait = false, wait }

// SetSteps sets the number of steps. Call it before Arm.
func (s *Session) SetSteps(n int) {
	s.w.NumSteps = n
	for _, m := range s.members {
		m.w.NumSteps = n
	}
}

// Guard monitors the windows for a caller that does other work before it calls Collect. It closes a window when the
// number of steps is reached, if the server does not accept that number (vLLM). It closes the windows of idle servers.
// It detects when windows that close by themselves have been written, and samples the queues of prefill and decode
// servers. It returns when nothing is left to do, or when ctx ends.
func (s *Session) Guard(ctx context.Context) {
	var wg sync.WaitGroup
	for _, m := range s.members {
		switch {
		case m.w.NumSteps == 0:
		case m.kind == VLLM:
			wg.Go(func() { m.guard(ctx) })
		default:
			wg.Go(func() { m.guardFiles(ctx) })
		}
		if !m.o.LoadFollows {
			wg.Go(func() { m.guardIdle(ctx) })
		}
		wg.Go(func() { m.sample(ctx) })
	}
	wg.Wait()
}

func (m *member) guard(ctx context.Context) {
	began := time.Now()
	for m.recording() {
		n, _ := m.vllmSteps(ctx)
		if m.hasSteps {
			m.made(n - m.steps)
		}
		if m.hasSteps && n-m.steps >= float64(m.w.NumSteps) || !m.hasSteps && time.Since(began) >= vllmTime {
			if _, err := m.stop(ctx); err != nil && ctx.Err() == nil {
				m.o.Log(fmt.Sprintf("%s: the window could not be closed: %v", m.URL, err))
				return
			}
		}
		if !pause.For(ctx, guardEvery) {
			return
		}
	}
}
