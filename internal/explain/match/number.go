package match

import (
	"math/bits"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/trace"
)

// numbering describes the steps of all ranks in their common numbering.
type numbering struct {
	Steps       int              // number of steps
	KindOf      []trace.StepKind // kind of each step
	Kinds       []string         // kinds that occur on some rank, in order
	Likes       []Like           // Like of each step
	periods     map[Like]int64   // median period of like steps
	KindPeriods map[trace.StepKind]int64
}

// Like is the key of steps with comparable lengths: the kind, and the batch size and number of new tokens rounded to
// powers of two.
type Like struct {
	Kind          trace.StepKind
	batch, tokens int
}

// heaviest lists the kinds of steps in descending order of the work of one step.
var heaviest = []trace.StepKind{trace.Mixed, trace.Prefill, trace.Denoising, trace.Decode, trace.OtherStep, trace.IdleStep}

// number determines the kinds and usual lengths of steps. The ranks must already have a common numbering.
func number(ranks []*Rank) (n numbering) {
	for _, r := range ranks {
		n.Steps = max(n.Steps, r.First+len(r.Steps))
	}
	n.KindOf, n.Likes = make([]trace.StepKind, n.Steps), make([]Like, n.Steps)
	for i := range n.KindOf {
		n.KindOf[i] = trace.IdleStep
	}
	each := func(visit func(r *Rank, i, n int, kind trace.StepKind)) {
		for _, r := range ranks {
			for i := range r.Steps {
				visit(r, i, i+r.First, r.Steps[i].Info.Kind)
			}
		}
	}
	present := map[string]bool{}
	each(func(_ *Rank, _, at int, k trace.StepKind) {
		// With data-parallel attention, ranks may do different work in one step. The heaviest kind counts.
		if slices.Index(heaviest, k) < slices.Index(heaviest, n.KindOf[at]) {
			n.KindOf[at] = k
		}
		if !present[k.String()] {
			present[k.String()] = true
			n.Kinds = append(n.Kinds, k.String())
		}
	})
	slices.Sort(n.Kinds)
	for i, k := range n.KindOf {
		n.Likes[i].Kind = k
	}
	each(func(r *Rank, i, at int, k trace.StepKind) {
		if st := &r.Steps[i].Info; k == n.KindOf[at] {
			n.Likes[at] = Like{k, bits.Len(uint(max(st.Batch, 0))), bits.Len(uint(max(st.Tokens, 0)))}
		}
	})
	byLike, byKind := map[Like][]int64{}, map[trace.StepKind][]int64{}
	each(func(r *Rank, i, at int, _ trace.StepKind) {
		k := n.KindOf[at]
		usual := at > 0 && !(i > 0 && r.Begins(i)) || len(r.Steps) == 1 // the profilers start in the first step
		if usual {
			byLike[n.Likes[at]] = append(byLike[n.Likes[at]], r.Period(i))
		}
		if usual || !slices.Contains(n.KindOf[1:], k) {
			byKind[k] = append(byKind[k], r.Period(i))
		}
	})
	n.periods, n.KindPeriods = medians(byLike), medians(byKind)
	return n
}

func medians[K comparable](of map[K][]int64) map[K]int64 {
	out := make(map[K]int64, len(of))
	for k, v := range of {
		out[k] = int64(metric.MedianInPlace(v))
	}
	return out
}

// StepPeriod returns the median period of steps like step i, in ns.
func (n *numbering) StepPeriod(i int) int64 {
	if p, ok := n.periods[n.Likes[i]]; ok {
		return p
	}
	return n.KindPeriods[n.KindOf[i]]
}
