package explain

import (
	"math/bits"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/trace"
)

// numbering is the steps of all ranks counted alike, and what kinds there are.
type numbering struct {
	steps       int              // how many there are
	kindOf      []trace.StepKind // of each
	kinds       []string         // that occur on some rank, in order
	likes       []like           // of each step
	periods     map[like]int64   // median period of steps that are alike
	kindPeriods map[trace.StepKind]int64
}

// like is what steps have in common whose lengths compare: the kind, and the
// powers of two of their batch size and new tokens.
type like struct {
	kind          trace.StepKind
	batch, tokens int
}

// heaviest orders kinds by the work that a step of them has.
var heaviest = []trace.StepKind{trace.Mixed, trace.Prefill, trace.Denoising, trace.Decode, trace.OtherStep, trace.IdleStep}

// number settles the steps' kinds and usual lengths, once ranks agree on which
// step is which.
func number(ranks []*ranked) (n numbering) {
	for _, r := range ranks {
		n.steps = max(n.steps, r.first+len(r.steps))
	}
	n.kindOf, n.likes = make([]trace.StepKind, n.steps), make([]like, n.steps)
	for i := range n.kindOf {
		n.kindOf[i] = trace.IdleStep
	}
	each := func(visit func(r *ranked, i, n int, kind trace.StepKind)) {
		for _, r := range ranks {
			for i := range r.steps {
				visit(r, i, i+r.first, r.steps[i].info.Kind)
			}
		}
	}
	present := map[string]bool{}
	each(func(_ *ranked, _, at int, k trace.StepKind) {
		// With data-parallel attention ranks do different things in one
		// step: it is of the kind that takes longest.
		if slices.Index(heaviest, k) < slices.Index(heaviest, n.kindOf[at]) {
			n.kindOf[at] = k
		}
		if !present[k.String()] {
			present[k.String()] = true
			n.kinds = append(n.kinds, k.String())
		}
	})
	slices.Sort(n.kinds)
	for i, k := range n.kindOf {
		n.likes[i].kind = k
	}
	each(func(r *ranked, i, at int, k trace.StepKind) {
		if st := &r.steps[i].info; k == n.kindOf[at] {
			n.likes[at] = like{k, bits.Len(uint(max(st.Batch, 0))), bits.Len(uint(max(st.Tokens, 0)))}
		}
	})
	byLike, byKind := map[like][]int64{}, map[trace.StepKind][]int64{}
	each(func(r *ranked, i, at int, _ trace.StepKind) {
		k := n.kindOf[at]
		usual := at > 0 || len(r.steps) == 1 // the profilers' start is in the first
		if usual {
			byLike[n.likes[at]] = append(byLike[n.likes[at]], r.period(i))
		}
		if usual || !slices.Contains(n.kindOf[1:], k) {
			byKind[k] = append(byKind[k], r.period(i))
		}
	})
	n.periods, n.kindPeriods = medians(byLike), medians(byKind)
	return n
}

func medians[K comparable](of map[K][]int64) map[K]int64 {
	out := make(map[K]int64, len(of))
	for k, v := range of {
		out[k] = int64(metric.MedianInPlace(v))
	}
	return out
}

// stepPeriod is the median period of steps like step i, ns.
func (n *numbering) stepPeriod(i int) int64 {
	if p, ok := n.periods[n.likes[i]]; ok {
		return p
	}
	return n.kindPeriods[n.kindOf[i]]
}
