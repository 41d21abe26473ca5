package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/measure/load"
)

// The slow requests of a load seldom lie where the load becomes steady. After the first window, further windows
// therefore open when requests wait longer for a first token than before, also for the last first tokens, which are the
// slowest of an overloaded server. Only the window with the slowest requests is collected.

const (
	mostWindows = 8                // windows of a load; servers keep the files of each
	longer      = 1.5              // how many times as long requests wait when the next window opens
	longerGrown = 1.02             // the same, if waits grow
	longerFull  = 1.05             // the same, if the server refuses requests, because its queue is full
	refusedPart = 0.05             // share of the replies from which on it does
	later       = 2                // the next window then opens at this multiple of the time of the latest one, at the earliest
	lastShare   = 0.07             // share of the requests without a first token when these windows open
	halfShare   = 0.4              // share of the requests without a first token from which on a window opens in the second half
	halfRest    = 0.2              // minimum share of the requests between such a window and the latest one
	restShare   = 6                // minimum time between two windows, in times of the time that the earlier one touched
	restLast    = 3                // the same, before windows of the last first tokens
	leastRest   = 3 * time.Second  // minimum time between two windows
	leastWait   = time.Millisecond // shorter waits are never long
	slowTenth   = 0.9              // quantile of TTFT from which a request is slow
	nearly      = 0.9              // share of that quantile from which a request waits nearly as long
	rare        = 0.99             // quantile of TTFT that only few requests of an even load exceed
	grows       = 1.25             // how many times as large the median TTFT is if it has grown
)

// again waits until another window is due, opens it and reports whether it is open.
func (w *window) again(ctx context.Context, at *level, log func(string)) bool {
	if !w.p.FitSteps || w.p.At != nil || w.p.After != nil || w.p.Window.StartStep > 0 || len(w.past)+1 >= mostWindows {
		return false
	}
	from, to, known := w.session.Affected()
	if !known || ctx.Err() != nil {
		return false
	}
	w.level = max(w.level, time.Duration(at.live.TTFT.Quantile(rare)), leastWait)
	if len(w.past) == 0 {
		w.median, w.left = at.live.TTFT.Quantile(0.5), at.left()
	}
	s, err := torch.Prepare(ctx, w.p.Targets, w.p.Window, w.p.Options)
	if err != nil {
		if ctx.Err() == nil {
			log(fmt.Sprintf("No further window: %v", err))
		}
		return false
	}
	begun, firsts := time.Now(), at.live.TTFT.N()
	var now moment
	due := func(after time.Duration) bool {
		looked, waited := time.Now(), at.live.Oldest()
		now = moment{after: after, waited: waited, waits: w.waits(waited, looked), level: w.level, rest: looked.Sub(to), touched: to.Sub(from), windows: len(w.past) + 1}
		now.grown = float64(at.live.TTFT.Quantile(0.5)) >= grows*float64(w.median)
		now.slow = float64(waited) >= nearly*float64(at.live.TTFT.Quantile(slowTenth))
		now.left, now.leftAt = at.left(), w.left
		failed := float64(at.live.Failed.Load())
		now.refuses = failed >= refusedPart*(failed+float64(at.live.TTFT.N()))
		if left := at.untilLast(); left <= 0 {
			now.last = true
		} else if n := at.live.TTFT.N() - firsts; n > 0 {
			now.untilLast = time.Duration(left * float64(looked.Sub(begun)) / float64(n))
		} else {
			now.untilLast = math.MaxInt64
		}
		return now.due()
	}
	if !at.wait(ctx, due) {
		return false
	}
	log(fmt.Sprintf("Requests wait %s for their first token: another window opens, and the one with the slowest requests is kept", metric.Duration(int64(now.waits))))
	s.LoadRuns(loadWait)
	before := w.session
	w.past, w.session = append(w.past, before), s
	if w.open(ctx, at, log); w.err != nil { // the earlier windows are complete
		if ctx.Err() == nil {
			log(fmt.Sprintf("No further window: %v", w.err))
		}
		w.err, w.session, w.past, w.failed = nil, before, w.past[:len(w.past)-1], append(w.failed, s)
		return false
	}
	before.Until(s)
	w.level, w.left = max(w.level, now.waits), now.left
	return true
}

// moment is the state of a load between two windows.
type moment struct {
	after   time.Duration // time since the load began
	waited  time.Duration // how long the oldest request without a first token has waited
	waits   time.Duration // the same, less the time that windows touched
	level   time.Duration // how long requests waited in the latest window
	rest    time.Duration // time since the latest window
	touched time.Duration // time that the latest window touched
	windows int           // windows so far
	grown   bool          // the median TTFT has grown since the first window, as it does if the server is overloaded
	slow    bool          // the oldest request without a first token is one of the slow ones

	refuses bool // requests fail, as they do if the queue of the server is full

	left, leftAt float64 // share of the requests without a first token: now, and at the latest window

	last      bool          // only the last requests have no first token
	untilLast time.Duration // time until then, as estimated
}

// due reports whether another window opens. If waits grow, windows are rarer with time, up to two open in the second half
// of the load, and none opens shortly before that of the last first tokens.
func (m moment) due() bool {
	next := max(leastRest, restLast*m.touched)
	if m.last && m.grown {
		return m.slow && m.rest >= next
	}
	if m.windows+2 >= mostWindows {
		return false
	}
	if m.grown {
		growing := float64(m.waited) >= longerGrown*float64(m.level) && m.after >= later*(m.after-m.rest)
		half := m.slow && m.left <= halfShare && m.leftAt-m.left >= halfRest && m.rest >= next // also if a full queue keeps waits from growing
		longest := m.refuses && float64(m.waited) >= longerFull*float64(m.level) && m.rest >= max(leastRest, restShare*m.touched)
		return (growing || half || longest) && m.untilLast >= next+m.touched
	}
	return float64(m.waits) >= longer*float64(m.level) && m.rest >= max(leastRest, restShare*m.touched)
}

// all returns the windows, the latest last.
func (w *window) all() []*torch.Session { return append(slices.Clip(w.past), w.session) }

// waits returns how long a request has waited, less the time that windows touched meanwhile.
func (w *window) waits(waited time.Duration, now time.Time) time.Duration {
	sent := now.Add(-waited)
	for _, s := range w.all() {
		from, to, _ := s.Affected()
		if from.Before(sent) {
			from = sent
		}
		waited -= max(to.Sub(from), 0)
	}
	return max(waited, 0)
}

// left returns the share of the requests that have no first token and have not failed.
func (l *level) left() float64 {
	return float64(l.rounds-l.live.TTFT.N()-l.live.Failed.Load()) / float64(max(l.rounds, 1))
}

// untilLast returns the number of first tokens after which only the last requests have none.
func (l *level) untilLast() float64 {
	left := l.rounds - l.live.TTFT.N() - l.live.Failed.Load()
	return float64(left) - max(lastShare*float64(l.rounds), 2)
}

// slowest returns the session in which most of the slow requests received their first token.
func (w *window) slowest(res *load.Result) *torch.Session {
	all := w.all()
	if res == nil {
		return all[0]
	}
	var spans []bench.Span
	for _, s := range all {
		from, to, _ := s.Affected()
		spans = append(spans, bench.Span{From: int64(from.Sub(res.Start)), To: int64(to.Sub(res.Start))})
	}
	return all[slowestIn(res.Records, spans)]
}

// slowestIn returns the index of the span in which most of the slow requests received their first token. If none did, it
// returns the span with the slowest first token.
func slowestIn(records []bench.Record, spans []bench.Span) (best int) {
	var took []int64
	for i := range records {
		if ns, ok := records[i].TTFT(); ok {
			took = append(took, ns)
		}
	}
	slices.Sort(took)
	from := metric.Quantile(took, slowTenth)
	n, ns := make([]int, len(spans)), make([]int64, len(spans)) // slow requests, and the slowest TTFT
	for i := range records {
		r := &records[i]
		took, ok := r.TTFT()
		for k, s := range spans {
			if !ok || r.First < s.From || r.First > s.To {
				continue
			}
			if ns[k] = max(ns[k], took); float64(took) >= from {
				n[k]++
			}
		}
	}
	for k := range n {
		if n[k] > n[best] || n[k] == n[best] && ns[k] > ns[best] {
			best = k
		}
	}
	return best
}
