package sched

import (
	"cmp"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine/kvcache"
)

// Priority is SGLang's priority scheduling: waiting requests are taken by priority, then
// by arrival; one that finds the queue full takes the place of a lower one; and one that
// has no room in a batch has running ones of much lower priority retracted. Requests
// without a priority come last. The zero Priority ignores what requests say.
type Priority struct {
	Enabled   bool
	LowFirst  bool // lower values are the higher priority
	Threshold int  // running requests are retracted only for one whose priority is higher by more
	Refuse    bool // not Enabled: refuse requests that bring a priority
}

// rank orders requests: the lowest is the first.
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

// enqueue puts a sequence behind those of its rank.
func enqueue(list *[]*seq, q *seq) {
	at := len(*list)
	for at > 0 && (*list)[at-1].rank > q.rank {
		at--
	}
	*list = slices.Insert(*list, at, q)
}

// byRank is the order of queues.
func byRank(a, b *seq) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.arrival, b.arrival))
}

// overfull ends the last of the waiting requests where q, which has just come, is one too
// many, and tells whether that is q itself.
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

// preempt retracts running sequences, those of the lowest priority and the newest first,
// until q can be admitted; none where q would not fit without them either. They are
// appended to out.
func (s *Scheduler) preempt(q *seq, a *admission, out *[]*seq) bool {
	var lower []*seq
	need := kvcache.Blocks(len(q.tokens))
	for _, r := range s.running {
		// Differences of ranks may overflow: absent priorities have the largest.
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
