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

// guardEvery is the interval at which steps are polled on a server that does not end windows by itself.
const guardEvery = 100 * time.Millisecond

// Roles returns the roles of the servers, "" if a server is neither for prefill nor for decode.
func (s *Session) Roles() (all []string) {
	for _, m := range s.members {
		all = append(all, m.Role)
	}
	return all
}

// Prefills reports whether any server of the session is a prefill server. A prefill server has work only when a request
// begins.
func (s *Session) Prefills() bool {
	return slices.ContainsFunc(s.members, func(m *member) bool { return m.Role == api.Prefill })
}

// LoadRuns declares that the load is already running and has pauses. Call LoadRuns before Arm. Arm then waits for an
// idle server to get work, for at most the duration wait. If no further work arrives, the window is closed.
func (s *Session) LoadRuns(wait time.Duration) { s.o.LoadFollows, s.o.Wait = false, wait }

// SetSteps sets the number of steps. Call it before Arm.
func (s *Session) SetSteps(n int) {
	s.w.NumSteps = n
	for _, m := range s.members {
		m.w.NumSteps = n
	}
}

// Until declares that the files that appear after next was prepared do not belong to the window. All windows of a vLLM
// server share a directory. Call it when the window has been written.
func (s *Session) Until(next *Session) {
	for i, m := range s.members {
		if m.profile().OwnDir && i < len(next.members) && next.members[i].URL == m.URL {
			m.until = next.members[i].before
		}
	}
}

// Guard monitors the windows for a caller that does other work before it calls Collect. If the server does not accept a
// number of steps (vLLM), Guard closes the window when that number is reached. Guard also closes the windows of idle
// servers. It detects when windows that close by themselves have been written, and samples the queues of prefill and
// decode servers. Guard returns when nothing is left to do, or when ctx ends.
func (s *Session) Guard(ctx context.Context) {
	var wg sync.WaitGroup
	for _, m := range s.members {
		switch {
		case m.w.NumSteps == 0:
		case !m.profile().Ends:
			wg.Go(func() { m.guard(ctx) })
		default:
			wg.Go(func() { m.guardFiles(ctx) })
		}
		if s.endPrefills && m.Role == api.Prefill {
			wg.Go(func() { m.guardPrefill(ctx, s) })
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
		n, _ := m.countedSteps(ctx)
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
