package sched

import (
	"cmp"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine/kvcache"
)

// Priority is SGLang's priority scheduling. Waiting requests are served by priority and, within a priority, by arrival.
// A request that arrives when the queue is full replaces a waiting request of lower priority. If a request does not fit
// into a batch, running requests of much lower priority are retracted. Requests without a priority come last. The zero
// Priority ignores the priorities of requests.
type Priority struct {
	Enabled   bool
	LowFirst  bool // lower values mean higher priority
	Threshold int  // retraction requires a priority that is higher by more than Threshold
	Refuse    bool // if Enabled is not set, reject requests that have a priority
}

// rank returns the number by which requests are ordered. The request with the lowest rank is served first.
func (p *Priority) rank(r *api.Request) int {
	switch {
	case !p.Enabled:
		return 0
	case r.Priority == nil:
		return math.MaxInt
	case p.LowFirst:
		return *r.Priority
	}
	return -*r.Priority
}

// enqueue inserts a sequence into a list after all sequences with the same rank.
func enqueue(list *[]*seq, q *seq) {
	at := len(*list)
	for at > 0 && (*list)[at-1].rank > q.rank {
		at--
	}
	*list = slices.Insert(*list, at, q)
}

// byRank is the order of the queues.
func byRank(a, b *seq) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.arrival, b.arrival))
}

// overfull ends the last waiting request if q, which has just arrived, makes the queue exceed its limit. It reports
// whether the ended request is q itself.
func (s *Scheduler) overfull(q *seq) bool {
	if !s.opt.Priority.Enabled || s.opt.MaxQueued <= 0 || len(s.waiting) < s.opt.MaxQueued {
		return false
	}
	last, why := s.waiting[len(s.waiting)-1], "The request is aborted by a higher priority request."
	if last.rank <= q.rank {
		last, why = q, api.ErrQueueFull.Error()
	}
	s.abort(last, api.Finish{Type: api.FinishAbort, Message: why, Status: 503})
	return last == q
}

// preempt retracts running sequences until q can be admitted and appends them to out. It begins with the lowest
// priority and, within a priority, with the newest sequence. If q would not fit even after all permitted retractions,
// preempt retracts no sequence.
func (s *Scheduler) preempt(q *seq, a *admission, out *[]*seq) bool {
	var lower []*seq
	need := kvcache.Blocks(len(q.tokens))
	for _, r := range s.running {
		// Compare as float64, because the difference of two ranks may overflow: requests without a priority have the
		// largest rank.
		if s.opt.Priority.Enabled && float64(r.rank)-float64(q.rank) > float64(s.opt.Priority.Threshold) {
			lower = append(lower, r)
			need -= len(r.table.Blocks)
		}
	}
	if !s.cache.Fits(need) {
		return false
	}
	slices.SortFunc(lower, byRank)
	for i := len(lower) - 1; i >= 0; i-- {
		s.retract(lower[i])
		*out = append(*out, lower[i])
		a.reserve -= s.counted(lower[i])
		if got, _ := s.admit(q, a); got {
			return true
		}
	}
	return false
}
