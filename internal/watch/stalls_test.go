package watch

import (
	"math"
	"testing"
	"time"
)

// TestStallsOf: a process that is stopped 60 of every 100 ms is told from one that runs, one that is slow throughout, and
// one that is busy at times.
func TestStallsOf(t *testing.T) {
	const ms = time.Millisecond
	replies := func(answers func(sent time.Duration) (got time.Duration)) (out []reply) {
		for i := range probes {
			sent := time.Duration(i+1) * probeEvery
			out = append(out, reply{sent, answers(sent)})
		}
		return out
	}
	stopped := func(stop, every time.Duration) func(time.Duration) time.Duration {
		return func(sent time.Duration) time.Duration {
			// It is stopped at the beginning of each period, which is out of step with the requests.
			if in := (sent + 7*ms) % every; in < stop {
				return sent + stop - in + ms
			}
			return sent + 2*ms
		}
	}
	s := stallsOf(replies(stopped(60*ms, 100*ms)))
	if s == nil || s.N < 14 || math.Abs(s.Length-0.06) > 0.013 || math.Abs(s.Every-0.1) > 0.002 {
		t.Errorf("stopped 60 of 100 ms: %+v", s)
	}
	at := map[time.Duration]bool{100 * ms: true, 225 * ms: true, 300 * ms: true, 625 * ms: true, 1050 * ms: true, 1075 * ms: true, 1400 * ms: true}
	for name, healthy := range map[string]func(time.Duration) time.Duration{
		"running":      func(sent time.Duration) time.Duration { return sent + 3*ms },
		"slow":         func(sent time.Duration) time.Duration { return sent + 45*ms },
		"short pauses": stopped(10*ms, 100*ms),
		"stopped once": func(sent time.Duration) time.Duration {
			if sent > 400*ms && sent < 900*ms {
				return 901 * ms
			}
			return sent + 2*ms
		},
		"busy at times": func(sent time.Duration) time.Duration {
			if at[sent] {
				return sent + 60*ms
			}
			return sent + 2*ms
		},
	} {
		if s := stallsOf(replies(healthy)); s != nil {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if s := stallsOf(nil); s != nil {
		t.Errorf("no reply: %+v", s)
	}
}
