package torch

import (
	"context"
	"fmt"
	"sync"

	"github.com/stepscope/stepscope/internal/api"
)

// SetPrefillSteps sets the number of steps of prefill servers. Call it before After and Arm.
func (s *Session) SetPrefillSteps(n int) {
	for _, m := range s.members {
		if m.Role == api.Prefill {
			m.w.NumSteps = n
		}
	}
}

// After lets each window begin when its server has run a number of further forward steps, which depends on the role of
// the server. Call it before Arm. If a server does not report its count of steps, as SGLang 0.5.11, or accepts no start
// step, as vLLM, After changes nothing and returns false.
func (s *Session) After(ctx context.Context, steps func(role string) int64) (counted bool, err error) {
	counts, known := map[*member]float64{}, true
	var mu sync.Mutex
	err = s.eachUp(ctx, true, func(m *member) error {
		n, ok := m.stepsRun(ctx)
		mu.Lock()
		defer mu.Unlock()
		counts[m] = n
		known = known && ok && m.profile().Ends
		return ctx.Err()
	})
	if err != nil || !known {
		return false, err
	}
	for _, m := range s.members {
		m.w.StartStep = int64(counts[m]) + steps(m.Role) + 1
		s.w.StartStep = m.w.StartStep // not 0: the windows wait for a step
		m.o.Log(fmt.Sprintf("%s: has run %.0f forward steps: the window begins with step %d", m.URL, counts[m], m.w.StartStep))
	}
	return true, nil
}
