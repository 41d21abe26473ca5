package torch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/base/pause"
)

// While the profiler is on, an idle server records the Python frames in which the server waits. SGLang's schedulers
// have been busy with the export of such recordings for minutes and did not respond. Servers are therefore checked for
// work before their profilers are armed, and a window without steps is closed.

const (
	idleLook  = 250 * time.Millisecond // interval between queries of a server without work
	idleGrace = 2 * time.Second        // time to wait for idle servers of a system in which other servers have work
	idleMost  = 20 * time.Second       // maximum time of a window without work
	probeMost = 10 * time.Second       // minimum wait until tiny requests show as work
)

// await returns when each server has shown work or is known to be unable to show work. For a window with a start step,
// await returns at once, because nothing is recorded before that step.
func (s *Session) await(ctx context.Context) error {
	if s.o.LoadFollows || s.w.StartStep > 0 {
		return nil
	}
	var idle []*pulse
	for _, m := range s.members {
		idle = append(idle, m.pulse())
	}
	limit := s.o.Wait
	if s.o.Probe {
		limit = max(limit, probeMost)
	}
	began, others := time.Now(), time.Time{}
	for looks := 0; ; looks++ {
		if idle = stillIdle(ctx, idle); len(idle) == 0 {
			return nil
		}
		if len(idle) < len(s.members) && others.IsZero() {
			others = time.Now()
		}
		for _, p := range idle {
			p.m.doing(doingIdle)
		}
		urls := strings.Join(urlsOf(idle), ", ")
		switch {
		case looks == 0: // a single query may fall between two requests
		case limit <= 0:
			s.o.Log(urls + ": is idle, so its profiler records idle time until load arrives, and the export takes longer: send load soon, or stop with profile stop")
			return nil
		case !others.IsZero() && time.Since(others) >= idleGrace && !slices.ContainsFunc(idle, func(p *pulse) bool { return p.m.front == "" && p.m.Role == "" }):
			s.o.Log(urls + ": is idle while other servers of its system have work: it is recorded with them")
			return nil
		case time.Since(began) >= limit:
			return fmt.Errorf("%s: no load arrived in %v, and a window of an idle server would record only idle time: send load during the wait, give --probe to send tiny requests, or give a longer --wait", urls, limit)
		case looks == 1 && !s.o.Probe:
			s.o.Log(fmt.Sprintf("%s: is idle: the profiler is armed when load arrives (--wait %v)", urls, limit))
		}
		if !pause.For(ctx, min(idleLook, s.o.Idle)) {
			return context.Cause(ctx)
		}
	}
}

// stillIdle queries servers concurrently and returns those that report no work.
func stillIdle(ctx context.Context, list []*pulse) (idle []*pulse) {
	none := make([]bool, len(list))
	var wg sync.WaitGroup
	for i, p := range list {
		wg.Go(func() {
			busy, known := p.look(ctx)
			none[i] = known && !busy
		})
	}
	wg.Wait()
	for i, p := range list {
		if none[i] {
			idle = append(idle, p)
		}
	}
	return idle
}

func urlsOf(list []*pulse) (urls []string) {
	for _, p := range list {
		urls = append(urls, p.m.URL)
	}
	return urls
}

// tooIdle reports whether a window that may be open has been without work for so long that the window must be closed.
// The result why is the reason. A window by stage is not open before its first step. A window with a start step is not
// open before the start step.
func (p *pulse) tooIdle() (why string, too bool) {
	w := &p.m.w
	if !p.began || w.StartStep > 0 || w.ByStage && !p.moved || time.Since(p.at) < p.m.o.mostIdle {
		return "", false
	}
	if p.moved {
		return fmt.Sprintf("the load ended before the window did: it was closed after %v without a step", p.m.o.mostIdle), true
	}
	return fmt.Sprintf("there was no forward step in %v, so the window was closed before its recording of idle time grew: send load to the server, or give --probe", p.m.o.mostIdle), true
}

// guardIdle closes a window of a fixed time if its server has no work.
func (m *member) guardIdle(ctx context.Context) {
	for p := m.pulse(); m.recording() && pause.For(ctx, min(lookAt, m.o.Idle)); {
		p.look(ctx)
		why, too := p.tooIdle()
		if !too || ctx.Err() != nil {
			continue
		}
		m.mu.Lock()
		m.notes, m.idled = append(m.notes, why), !p.moved
		m.mu.Unlock()
		m.o.Log(fmt.Sprintf("%s: closing the window", m.URL))
		if _, err := m.stop(ctx); err != nil && ctx.Err() == nil {
			m.o.Log(err.Error())
		}
		return
	}
}
