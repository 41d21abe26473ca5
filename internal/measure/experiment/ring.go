package experiment

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/measure/load"
)

// The slow requests of a load seldom lie where the load becomes steady. After the first window, further windows
// therefore open when requests wait longer for a first token than before, and once more for the last first tokens, which
// are the slowest of an overloaded server. Only the window with the slowest requests is collected.

const (
	mostWindows = 8                // windows of a load; servers keep the files of each
	longer      = 2.0              // how many times as long requests wait when the next window opens
	longerLast  = 1.1              // the same, for the window of the last first tokens
	lastShare   = 0.07             // share of the requests without a first token when that window opens
	restShare   = 14               // minimum time between two windows, in times of the time that the earlier one touched
	restLast    = 3                // the same, before the window of the last first tokens
	leastRest   = time.Second      // minimum time between two windows
	leastWait   = time.Millisecond // shorter waits are never long
	slowTenth   = 0.9              // quantile of TTFT from which a request is slow
)

// again waits until another window is due, opens it and reports whether it is open.
func (w *window) again(ctx context.Context, at *level, log func(string)) bool {
	if !w.p.FitSteps || w.p.At != nil || w.p.After != nil || w.p.Window.StartStep > 0 || w.last || len(w.past)+1 >= mostWindows {
		return false
	}
	from, to, known := w.session.Affected()
	if !known || ctx.Err() != nil {
		return false
	}
	w.level = max(w.level, time.Duration(at.live.TTFT.Quantile(0.99)), leastWait)
	s, err := torch.Prepare(ctx, w.p.Targets, w.p.Window, w.p.Options)
	if err != nil {
		log(fmt.Sprintf("No further window: %v", err))
		return false
	}
	var waits time.Duration
	due := func(time.Duration) bool {
		now := time.Now()
		waits = w.waits(at.live.Oldest(), now)
		rest, touched := now.Sub(to), to.Sub(from)
		if rest < leastRest {
			return false
		}
		if at.lastFirsts() {
			w.last = float64(waits) >= longerLast*float64(w.level) && rest >= restLast*touched
			return w.last
		}
		return len(w.past)+2 < mostWindows && float64(waits) >= longer*float64(w.level) && rest >= restShare*touched
	}
	if !at.wait(ctx, due) {
		return false
	}
	log(fmt.Sprintf("Requests wait %s for their first token, longer than before: another window opens, and the one with the slowest requests is kept", metric.Duration(int64(waits))))
	s.LoadRuns(loadWait)
	before := w.session
	before.Until(s)
	w.past, w.session = append(w.past, before), s
	if w.open(ctx, at, log); w.err != nil { // the earlier windows are complete
		log(fmt.Sprintf("No further window: %v", w.err))
		w.err, w.session, w.past = nil, before, w.past[:len(w.past)-1]
		return false
	}
	w.level = max(w.level, waits)
	return true
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

// lastFirsts reports whether only the last requests of the load have no first token yet.
func (l *level) lastFirsts() bool {
	left := l.rounds - l.live.TTFT.N() - l.live.Failed.Load()
	return left > 0 && float64(left) <= max(lastShare*float64(l.rounds), 2)
}

// slowest returns the session in which most of the slow requests received their first token. If no request did, it
// returns the first session.
func (w *window) slowest(res *load.Result) *torch.Session {
	all := w.all()
	if res == nil || len(all) == 1 {
		return all[0]
	}
	var took []int64
	for i := range res.Records {
		if ns, ok := res.Records[i].TTFT(); ok {
			took = append(took, ns)
		}
	}
	slices.Sort(took)
	from := metric.Quantile(took, slowTenth)
	held := func(s *torch.Session) (n int) {
		opened, closed, _ := s.Affected()
		for i := range res.Records {
			r := &res.Records[i]
			first := res.Start.Add(time.Duration(r.First))
			if ns, ok := r.TTFT(); ok && float64(ns) >= from && first.After(opened) && first.Before(closed) {
				n++
			}
		}
		return n
	}
	best, most := all[0], 0
	for _, s := range all {
		if n := held(s); n > most {
			best, most = s, n
		}
	}
	return best
}
