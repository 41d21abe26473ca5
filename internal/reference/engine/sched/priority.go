package sched

import (
	"cmp"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine/kvcache"
)

// Priority is SGLang's priority scheduling. Waiting requests are taken by priority, then by arrival. A request that
// finds the queue full replaces one of lower priority. A request without room in a batch makes running ones of much
// lower priority be retracted. Requests without a priority come last. The zero Priority ignores the priorities of
// requests.
type Priority struct {
	Enabled   bool
	LowFirst  bool // lower values mean higher priority
	Threshold int  // a request causes retractions only if its priority is higher by more than this
	Refuse    bool // if not Enabled: reject requests with a priority
}

// rank orders requests, lowest first.
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

// enqueue inserts a sequence after those of its rank.
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

// overfull ends the last waiting request if q, which has just arrived, exceeds the queue's limit. It reports whether
// that request is q itself.
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

// preempt retracts running sequences until q can be admitted, lowest priority and newest first, and appends them to
// out. It retracts none if q would not fit even without them.
func (s *Scheduler) preempt(q *seq, a *admission, out *[]*seq) bool {
	var lower []*seq
	need := kvcache.Blocks(len(q.tokens))
	for _, r := range s.running {
		// Differences of ranks may overflow: requests without a priority have the largest rank.
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
