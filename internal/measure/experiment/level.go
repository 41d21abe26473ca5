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

// level tells, while a load goes on, when it has come to its steady part: a window that is
// opened before records how the server fills up.
type level struct {
	live    *load.Live
	rounds  int64         // requests, each round of a conversation counted
	most    int64         // that are under way at a time
	last    time.Duration // when the last is sent, at the latest; 0: all at once
	ramp    time.Duration // the rate changes until then
	tokens  int           // of a reply of the plan, the median
	streams bool          // replies come in parts
	ended   time.Duration // when the first was seen to have ended; 0: none has
	steady  time.Duration // when it was
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

// atOnce tells whether all requests are under way from the beginning.
func (l *level) atOnce() bool { return l.last == 0 && l.most == l.rounds }

// forwards is about how many steps of decode the load has; 0: that depends on the rate.
func (l *level) forwards() int64 {
	if l.last > 0 {
		return 0
	}
	return int64(l.tokens) * l.rounds / max(l.most, 1)
}

// short tells whether a window of so many steps would be more than half of the load: it
// may then be over before the window is.
func (l *level) short(steps int) bool {
	n := l.forwards()
	return n > 0 && 2*int64(steps) > n
}

// levelLook is how often the counts of the load are looked at.
const levelLook = 10 * time.Millisecond

// made is about how many forward steps the load has seen: each gives a token to each request that is under way.
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

// reached tells whether the load is at its level after a time.
//
// Where requests wait for each other that is when nine tenths of those that may be under
// way are in decode (of replies that come at once: are under way), as in the steady window
// of a summary; or when one has ended, since a server that takes fewer of them at a time
// is at its own level then. At a rate the number under way rises for the time of a
// request, so twice the time until the first has ended must have passed; and between two
// requests the server is idle. When all have been sent it gets no steadier.
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

// String says, behind other words, how the load stood when it was steady.
func (l *level) String() string {
	if l.steady == 0 {
		return ""
	}
	return fmt.Sprintf(", %s into the load, with %d requests under way", metric.Duration(int64(l.steady)), l.live.Running())
}

// A window is to hold the time of a request, and the export, which stops the server for
// some 0.1 s a step, must not take minutes.
const (
	fewestSteps = 10
	mostSteps   = 60
)

// steps are those of a window that holds a whole request, as far as its size allows, and a
// line that says so.
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
		text += "the usual number"
	case whole > n:
		text += fmt.Sprintf("the median request takes some %d, but the server stands still while it writes them, so no more than %d", whole, mostSteps)
	case whole < n:
		text += fmt.Sprintf("the median request takes some %d, and fewer than %d tell little", whole, fewestSteps)
	default:
		text += "the median request takes as many"
	}
	return n, text + " (--profile-num-steps says otherwise)"
}
