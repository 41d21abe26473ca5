package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/measure/load"
	"github.com/stepscope/stepscope/internal/measure/workload"
)

// level detects when a load has reached its steady part. A window that opens before the steady part would record the
// server while it is still filling up.
type level struct {
	live    *load.Live
	rounds  int64         // requests, counting each round of a conversation
	most    int64         // maximum number in flight
	last    time.Duration // time at which the last request is due; 0: all requests are due at once
	ramp    time.Duration // time until which the rate changes
	tokens  int           // median output length of the plan
	streams bool          // replies are streamed
	ended   time.Duration // when the first request was seen to have ended; 0: none
	begun   time.Time     // when the load was first looked at
	steady  time.Duration // when the load became steady
}

func newLevel(plan []workload.Request, times []time.Duration, s *Serving, live *load.Live) *level {
	l := &level{live: live, streams: s.Load.Stream && !s.Run.Embedding(), most: int64(len(plan))}
	if n := int64(s.Load.MaxConcurrency); n > 0 {
		l.most = min(l.most, n)
	}
	if len(times) > 0 {
		l.last = times[len(times)-1]
	}
	if r := s.Arrivals.Ramp; r != nil && r.Over < l.last {
		l.ramp = r.Over
	}
	var lens []float64
	for _, r := range plan {
		l.rounds += int64(max(len(r.Rounds), 1))
		lens = append(lens, float64(r.OutputLen))
	}
	l.tokens = int(metric.Median(lens))
	return l
}

// atOnce reports whether all requests are in flight from the beginning.
func (l *level) atOnce() bool { return l.last == 0 && l.most == l.rounds }

// forwards estimates the number of decode steps of the load. It returns 0 if that number depends on the request rate.
func (l *level) forwards() int64 {
	if l.last > 0 {
		return 0
	}
	return int64(l.tokens) * l.rounds / max(l.most, 1)
}

// short reports whether a window of the given number of steps would cover more than half of the load. Such a load might
// end before the window ends.
func (l *level) short(steps int) bool {
	n := l.forwards()
	return n > 0 && 2*int64(steps) > n
}

// levelLook is the interval at which the counts of the load are polled.
const levelLook = 10 * time.Millisecond

// made estimates the number of forward steps that the load has caused so far. It assumes that each step generates one
// token for each request in flight.
func (l *level) made() int64 {
	return max(l.live.Tokens.Load(), l.live.Chunks.Load()) / max(l.most, 1)
}

// wait returns true when a window may be opened. It returns false when ctx ends.
func (l *level) wait(ctx context.Context, reached func(after time.Duration) bool) bool {
	if l.begun.IsZero() {
		l.begun = time.Now()
	}
	tick := time.NewTicker(levelLook)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		if now := time.Since(l.begun); reached(now) {
			l.steady = now
			return true
		}
	}
}

// reached reports whether the load is steady after the given time.
//
// If all requests are due at once, only the concurrency limit delays requests. In this case the load is steady when the
// number of requests in decode is nine tenths of the maximum number in flight, as in the steady window of a summary.
// Without streaming, all requests in flight count. The load is also steady when one request has ended, because by then
// a server with a lower limit has reached its limit. If requests are due at a given rate, the number of requests in
// flight grows for the duration of one request. In this case the load is steady when twice the time until the end of
// the first request has passed and a ramp of the rate has ended. The load is never steady while no request is in
// decode. Once all requests are due, the load does not become steadier.
func (l *level) reached(after time.Duration) bool {
	done, decode := l.live.Done.Load(), l.live.Running()
	if l.streams {
		decode = l.live.TTFT.N() - done
	}
	if done > 0 && l.ended == 0 {
		l.ended = after
	}
	switch {
	case l.last == 0:
		return done > 0 || float64(decode) >= math.Ceil(0.9*float64(l.most))
	case decode > 0 && l.live.Released.Load() == l.rounds:
		return true
	}
	return decode > 0 && l.ended > 0 && after >= max(2*l.ended, l.ramp)
}

// String describes the time at which the load became steady and the number of requests in flight, as text to be
// appended to a sentence.
func (l *level) String() string {
	if l.steady == 0 {
		return ""
	}
	return fmt.Sprintf(", %s into the load, with %d requests running", metric.Duration(int64(l.steady)), l.live.Running())
}

// A window should cover the duration of a request. On the other hand, the export of a window stops the server for about
// 0.1 s per step, and this must not take minutes.
const (
	fewestSteps = 10
	mostSteps   = 60
)

// steps returns the number of steps of a window that covers a whole request, within the limits above, and a line of
// text that explains this number.
func (l *level) steps() (n int, why string) {
	perStep := 1.0
	if chunks := l.live.Chunks.Load(); chunks > 0 {
		perStep = max(1, float64(l.live.Tokens.Load())/float64(chunks))
	}
	whole := int(math.Ceil(float64(l.tokens) / perStep))
	n = slices.Max([]int{fewestSteps, min(whole, mostSteps)})
	text := fmt.Sprintf("The window has %d steps: ", n)
	switch {
	case l.tokens == 0:
		text += "the default"
	case whole > n:
		text += fmt.Sprintf("the median request takes about %d, but the server stalls while it writes them, so at most %d", whole, mostSteps)
	case whole < n:
		text += fmt.Sprintf("the median request takes about %d, but fewer than %d say little", whole, fewestSteps)
	default:
		text += "as many as the median request takes"
	}
	return n, text + " (override with --profile-num-steps)"
}
