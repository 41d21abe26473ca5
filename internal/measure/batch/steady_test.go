package batch

import (
	"math"
	"testing"
	"time"
)

// TestSteady: the rate while all sequences decode, from events that come one after the other.
func TestSteady(t *testing.T) {
	type event struct{ index, tokens, ms int }
	for _, c := range []struct {
		name         string
		events       []event
		rate, window float64 // 0: there is none
	}{
		{"two sequences", []event{{0, 1, 0}, {0, 2, 10}, {1, 1, 10}, {0, 3, 20}, {1, 2, 20}, {0, 4, 30}, {1, 3, 30}, {1, 4, 40}}, 200, .02},
		{"chunks of two tokens", []event{{0, 2, 10}, {1, 2, 10}, {0, 4, 30}, {1, 4, 40}}, 0.0, .02},
		{"one ended before the other began", []event{{0, 1, 0}, {0, 4, 10}, {1, 1, 20}, {1, 4, 30}}, 0, 0},
		{"one token", []event{{0, 4, 0}, {1, 4, 0}}, 0, 0},
	} {
		s := steady{last: make([]seen, 2)}
		begun := time.Unix(0, 0)
		for _, e := range c.events {
			s.event(e.index, e.tokens, e.tokens == 4, begun.Add(time.Duration(e.ms)*time.Millisecond))
		}
		rate, window := s.figures()
		if c.name == "chunks of two tokens" {
			// The second sequence had 2 + 2·20/30 tokens at 30 ms.
			c.rate = (2 + 2*20/30.) / .02
		}
		if (rate == nil) != (c.window == 0) || rate != nil && (math.Abs(*rate-c.rate) > 1e-6 || math.Abs(*window-c.window) > 1e-9) {
			t.Errorf("%s: %v, %v; want %v, %v", c.name, rate, window, c.rate, c.window)
		}
	}
}
