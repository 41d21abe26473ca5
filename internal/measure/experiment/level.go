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

// level detects when a load has reached its steady part: a window opened earlier would record how the server fills up.
type level struct {
	live    *load.Live
	rounds  int64         // requests, counting each round of a conversation
	most    int64         // maximum number in flight
	last    time.Duration // latest time of the last send; 0: all at once
	ramp    time.Duration // the rate changes until then
	tokens  int           // median output length of the plan
	streams bool          // replies are streamed
	ended   time.Duration // when the first request was seen to have ended; 0: none
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

// forwards estimates the number of decode steps of the load; 0: it depends on the rate.
func (l *level) forwards() int64 {
	if l.last > 0 {
		return 0
	}
	return int64(l.tokens) * l.rounds / max(l.most, 1)
}

// short reports whether a window of the given number of steps would exceed half of the load, which might then end
// before the window.
func (l *level) short(steps int) bool {
	n := l.forwards()
	return n > 0 && 2*int64(steps) > n
}

// levelLook is the polling interval of the load's counts.
const levelLook = 10 * time.Millisecond

// made estimates the number of forward steps of the load so far: each step gives one token to each request in flight.
func (l *level) made() int64 {
	return max(l.live.Tokens.Load(), l.live.Chunks.Load()) / max(l.most, 1)
}

// wait returns true when the window may be opened, false when ctx ends.
func (l *level) wait(ctx context.Context, reached func(after time.Duration) bool) bool {
	begun, tick := time.Now(), time.NewTicker(levelLook)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		if now := time.Since(begun); reached(now) {
			l.steady = now
			return true
		}
	}
}

// reached reports whether the load is steady after the given time.
//
// If requests wait for each other, it is steady when nine tenths of the maximum number in flight are in decode (without
// streaming: are in flight), as in the steady window of a summary. It is also steady when one request has ended, since
// a server with a lower limit has then reached its own level. At a given rate, the number in flight grows for the time
// of one request, so twice the time until the first has ended must have passed. Between two requests the server is
// idle. When all requests have been sent, the load does not become steadier.
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

// String describes the load at the time it was steady, to be appended to other text.
func (l *level) String() string {
	if l.steady == 0 {
		return ""
	}
	return fmt.Sprintf(", %s into the load, with %d requests running", metric.Duration(int64(l.steady)), l.live.Running())
}

// A window should cover the time of a request, but the export, which stops the server for some 0.1 s per step, must not
// take minutes.
const (
	fewestSteps = 10
	mostSteps   = 60
)

// steps returns the size of a window that covers a whole request, within the limits, and a line that describes it.
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
