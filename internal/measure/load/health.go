package load

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/metric"
)

// health holds the client's measurements of its own timing errors.
type health struct {
	// late holds, per record, the delay of the send after the scheduled time or the release time, whichever is later;
	// -1: not sent.
	late      []int64
	lag       Hist // delay between the kernel's receive time and the read
	ticks     Hist // lateness of the canary's wake-ups
	unstamped atomic.Int64
	unsound   atomic.Int64 // reads with an impossible timestamp, because the wall clock was set
	stalls    int
	stallMax  int64
}

const (
	canaryTick = time.Millisecond
	stall      = time.Millisecond
)

// canary wakes every millisecond through the same poller that wakes the streams. If the canary wakes late, the streams
// wake late as well.
func (r *run) canary(ctx context.Context) {
	t, err := newTimer()
	if err != nil {
		return
	}
	defer t.close()
	h := &r.health
	for {
		due := r.clock.now() + int64(canaryTick)
		if !t.wait(ctx, canaryTick) {
			return
		}
		late := max(r.clock.now()-due, 0)
		h.ticks.Add(late)
		if late > int64(stall) {
			h.stalls++
			h.stallMax = max(h.stallMax, late)
		}
	}
}

// gc is a snapshot of the garbage collector's pauses.
type gc struct {
	n    int64
	last []time.Duration // the last pauses, newest first
}

func pauses() gc {
	var s debug.GCStats
	debug.ReadGCStats(&s)
	return gc{s.NumGC, s.Pause}
}

// since returns the longest pause after the snapshot given by before.
func (g gc) since(before gc) time.Duration {
	n := min(int(g.n-before.n), len(g.last))
	if n <= 0 {
		return 0
	}
	return slices.Max(g.last[:n])
}

// Limits of the verdict. The timing error is compared with the time that it affects: an error of 1 ms matters for a
// TTFT of 10 ms, but not for a TTFT of 1 s. If the affected time could not be measured, the limits in nanoseconds
// apply.
const (
	suspectPart, invalidPart = 0.05, 0.25
	suspectMin, invalidMin   = 1e6, 10e6 // ns
)

// judge returns the verdict on a timing error err that affects times of length of. Both are in ns.
func judge(err, of float64) string {
	switch {
	case err > max(invalidMin, invalidPart*of):
		return "invalid"
	case err > max(suspectMin, suspectPart*of):
		return "suspect"
	}
	return "clean"
}

// report computes the verdict on the timing of the run. pause is the longest pause of the garbage collector.
func (h *health) report(r *run, pause time.Duration) bench.Health {
	out := bench.Health{Verdict: "clean", StallCount: h.stalls, StallMax: h.stallMax, GCPauseMax: int64(pause)}
	worse := func(verdict string) {
		rank := []string{"clean", "suspect", "invalid"}
		if slices.Index(rank, verdict) > slices.Index(rank, out.Verdict) {
			out.Verdict = verdict
		}
	}
	say := func(format string, args ...any) { out.Evidence = append(out.Evidence, fmt.Sprintf(format, args...)) }

	var lates, ttfts, gaps []int64
	for i := range r.records {
		rec := &r.records[i]
		if h.late[i] >= 0 {
			lates = append(lates, h.late[i])
		}
		if d, ok := rec.TTFT(); ok && rec.OK() {
			ttfts = append(ttfts, d)
			if n := len(rec.Chunks); n > 1 {
				gaps = append(gaps, (rec.Chunks[n-1].At-rec.Chunks[0].At)/int64(n-1))
			}
		}
	}
	for _, f := range r.flights {
		out.Reads += f.reads
		out.MergedReads += f.twins
	}
	ttft, gap := metric.MedianInPlace(ttfts), metric.MedianInPlace(gaps)

	if len(lates) > 0 {
		slices.Sort(lates)
		q := func(p float64) int64 { return int64(metric.Quantile(lates, p)) }
		out.SendLateP50, out.SendLateP99, out.SendLateP999, out.SendLateMax = q(0.5), q(0.99), q(0.999), lates[len(lates)-1]
		verdict := judge(float64(out.SendLateP99), ttft)
		worse(verdict)
		say("%s: requests were sent %s late at p99, at most %s (median TTFT %s)", verdict, metric.Duration(out.SendLateP99), metric.Duration(out.SendLateMax), metric.Duration(ttft))
	}

	all := h.lag.N() + h.unstamped.Load() + h.unsound.Load()
	missing := h.unstamped.Load() + h.unsound.Load()
	byRead := !r.kernel || missing*100 > all
	switch {
	case byRead:
		out.StampErrP99 = h.ticks.Quantile(0.99)
		if r.kernel {
			say("%[2]d of %[1]d reads had no valid kernel timestamp", all, missing)
		}
	default:
		// One microsecond is added because the two clocks cannot be read at the same time.
		out.StampErrP99 = r.clock.moved.Load() + int64(time.Microsecond)
	}
	verdict := judge(float64(out.StampErrP99), gap)
	worse(verdict)
	if byRead {
		say("%s: receive times are those of the reads, which are %s late at p99 according to the canary (typical time between events %s)", verdict, metric.Duration(out.StampErrP99), metric.Duration(gap))
	} else {
		say("%s: receive times are kernel timestamps, accurate to %s; the reads themselves were %s later at p99", verdict, metric.Duration(out.StampErrP99), metric.Duration(h.lag.Quantile(0.99)))
	}

	if out.StallCount > 0 {
		verdict := "clean"
		if byRead && h.ticks.N() > 0 && int64(out.StallCount)*100 > h.ticks.N() {
			verdict = "suspect"
		}
		worse(verdict)
		say("%s: the client stalled %d times for over 1 ms, at most %s", verdict, out.StallCount, metric.Duration(out.StallMax))
	}
	if out.MergedReads > 0 {
		part := float64(out.MergedReads) / float64(max(out.Reads, 1))
		verdict, who := "clean", "the server or the network sent them together"
		if lag := h.lag.Quantile(0.99); byRead || float64(lag) > gap {
			who = "the client may have read late"
			if part > 0.05 {
				verdict = "suspect"
			}
		}
		worse(verdict)
		say("%s: %s of reads returned several events of one stream: %s", verdict, metric.Percent(part), who)
	}
	if pause > stall {
		say("the garbage collector stopped the client for %s", metric.Duration(pause))
	}
	if d := abs(r.clock.drift()); d > int64(time.Millisecond) {
		worse("suspect")
		say("suspect: the wall clock was set by %s during the run", metric.Duration(r.clock.drift()))
	}
	return out
}
