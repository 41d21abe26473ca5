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

// guardEvery is how often the steps of a server that does not count them itself
// are looked at.
const guardEvery = 100 * time.Millisecond

// Prefills tells whether a server is among them that has work only when a request begins.
func (s *Session) Prefills() bool {
	return slices.ContainsFunc(s.members, func(m *member) bool { return m.Role == api.Prefill })
}

// LoadRuns says, before Arm, that the load goes on already, and has pauses: an idle server is
// armed when there is work, for which Arm waits so long, and its window is closed if no
// more comes.
func (s *Session) LoadRuns(wait time.Duration) { s.o.LoadFollows, s.o.Wait = false, wait }

// SetSteps sets the number of steps, before Arm.
func (s *Session) SetSteps(n int) {
	s.w.NumSteps = n
	for _, m := range s.members {
		m.w.NumSteps = n
	}
}

// Guard closes the windows of servers that know no number of steps (vLLM) when it
// is reached, and those of idle servers, sees when windows that close by themselves have
// been written, and looks at the queues of prefill and decode servers, for a caller that
// has other things to do than to Collect. It returns when nothing of it is left to do,
// or ctx ends.
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
