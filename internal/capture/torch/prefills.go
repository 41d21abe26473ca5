package torch

import (
	"context"
	"fmt"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/pause"
)

// A prefill server runs far fewer steps than a decode server in the same time: one for each batch of prompts instead of
// one for each token. A window of as many steps would therefore cover another part of the load, or would not end.

// EndPrefills declares that the windows of prefill servers end with the windows of the decode servers or, if there are
// none, after the time limit; 0: none. Call it before Guard.
func (s *Session) EndPrefills(limit time.Duration) { s.endPrefills, s.prefillsFor = true, limit }

// guardPrefill ends the window of a prefill server.
func (m *member) guardPrefill(ctx context.Context, s *Session) {
	begun, decodes := time.Now(), false
	for m.recording() && pause.For(ctx, guardEvery) {
		open := false
		for _, o := range s.members {
			decodes = decodes || o.Role == api.Decode
			open = open || o.Role == api.Decode && o.recording()
		}
		if open || !decodes && (s.prefillsFor == 0 || time.Since(begun) < s.prefillsFor) {
			continue
		}
		m.mu.Lock()
		m.cut = fmt.Sprintf("its window ended after %v, about the time of as many decode steps", s.prefillsFor.Round(time.Millisecond))
		if decodes {
			m.cut = "its window ended with those of the decode servers, so that they cover the same time"
		}
		m.mu.Unlock()
		if _, err := m.stop(ctx); err != nil && ctx.Err() == nil {
			m.o.Log(fmt.Sprintf("%s: the window could not be closed: %v", m.URL, err))
		}
		return
	}
}

// few reports whether a prefill server recorded fewer than half of the steps that were asked for. A window that ends by
// itself (EndPrefills) has as many steps as ran in its time, which a small load may leave at one.
func (s *Steps) few(m *member) bool {
	return m.Role == api.Prefill && s.Fewest != nil && m.cut == "" && *s.Fewest < s.Asked/2
}
