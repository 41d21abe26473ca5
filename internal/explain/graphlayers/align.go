package graphlayers

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

const (
	// tries is the number of references with which a unit is aligned, the most similar first.
	tries = 3
	// largest is the maximum number of pairs of ops compared; a large model has 2,000 ops per step.
	largest = 24_000_000
	// Scores of a pair of ops: sameKey if name and grid are equal, sameName if only the name is equal.
	sameKey, sameName = 3, 2
)

// reference is a forward pass with individually launched ops, and the ranges in which these ops were launched.
type reference struct {
	rank   *prep.Rank
	marks  *prep.Markers
	ops    []op // ops, with the names and keys of the explained window
	ranges []int32
	layers []int32
	step   int32
}

// references collects the forward passes with layers in a window. A pass ends where layer numbers start over. The ops
// between two passes are included in both passes.
func (f *finder) references(w Window) {
	names, keys := f.numbers(w.Names)
	seen := map[string]bool{}
	for _, r := range w.Ranks {
		graphs := map[int32]bool{}
		for i := range r.Ops {
			if o := &r.Ops[i]; r.InGraph(o) {
				graphs[o.Step] = true
			}
		}
		var cur *reference
		after := 0 // index of the first op after the previous pass's last layer
		reached := int32(-1)
		end := func() {
			if cur == nil {
				return
			}
			if of := hash(cur.ops) + fmt.Sprint(cur.layers); reached > 0 && !seen[of] {
				seen[of] = true
				f.refs = append(f.refs, cur)
			}
		}
		var all reference
		all.rank = r
		for i := range r.Ops {
			o := &r.Ops[i]
			if r.InGraph(o) || graphs[o.Step] && o.Step >= 0 && r.Rule != trace.Uncut {
				continue
			}
			at := r.RangeAt(i)
			layer := f.marks.LayerAt(r, at)
			x := op{names[o.Name], keys[o.Key], r.SiteOf(i), o.Class}
			if layer >= 0 {
				n := int32(f.marks.Layers[layer].N)
				if cur == nil || n < reached || cur.step != o.Step {
					end()
					cur = &reference{rank: r, marks: f.marks, step: o.Step}
					cur.ops = append(cur.ops, all.ops[after:]...)
					cur.ranges, cur.layers = append(cur.ranges, all.ranges[after:]...), append(cur.layers, all.layers[after:]...)
				}
				reached = n
			}
			all.ops, all.ranges, all.layers = append(all.ops, x), append(all.ranges, at), append(all.layers, layer)
			if layer >= 0 {
				after = len(all.ops)
			}
			if cur != nil {
				cur.ops, cur.ranges, cur.layers = append(cur.ops, x), append(cur.ranges, at), append(cur.layers, layer)
			}
		}
		end()
	}
}

// numbers maps the names and keys of another window to the names and keys of the explained window. -1 means that the
// explained window does not have them.
func (f *finder) numbers(of *prep.Names) (names, keys []int32) {
	byName := map[string]int32{}
	for i, name := range f.own.Names.List {
		byName[name] = int32(i)
	}
	byKey := map[prep.KernelGrid]int32{}
	for i, k := range f.own.Names.Keys {
		byKey[k] = int32(i)
	}
	for _, name := range of.List {
		at, ok := byName[name]
		if !ok {
			at = -1
		}
		names = append(names, at)
	}
	for _, k := range of.Keys {
		at, ok := byKey[prep.KernelGrid{Name: names[k.Name], Grid: k.Grid}]
		if !ok {
			at = -1
		}
		keys = append(keys, at)
	}
	return names, keys
}

// nearest returns the references most similar to a unit: first by kind of step, then by batch, then by rank.
func (f *finder) nearest(u *unit) []*reference {
	info := &u.rank.Steps[u.step].Info
	far := func(r *reference) (d int) {
		if r.step < 0 || int(r.step) >= len(r.rank.Steps) {
			return 1 << 20
		}
		of := &r.rank.Steps[r.step].Info
		if of.Kind != info.Kind {
			d += 1 << 20
		}
		d += min(max(of.Batch-info.Batch, info.Batch-of.Batch), 1<<16) * 2
		if r.rank.Source.Rank != u.rank.Source.Rank {
			d++
		}
		return d
	}
	refs := slices.Clone(f.refs)
	sorts.Stable(refs, func(a, b *reference) int { return cmp.Compare(far(a), far(b)) })
	return refs[:min(len(refs), tries)]
}

// align finds the best alignments of two sequences of ops. The place of an op is known if the op is in the same layer
// in all best alignments. The place of unmatched ops between two ops with known places is also known, provided that the
// reference has only one layer between these two places.
func align(ops []op, ref *reference) *found {
	n, m := len(ops), len(ref.ops)
	out := &found{known: make([]bool, n), by: result.GraphsAligned, why: fact.Of("graph_layers_unlike"), template: &prep.Template{Ranges: ref.rank.Ranges, Of: make([]int32, n)}}
	if n*m > largest {
		out.why = fact.Of("graph_layers_long", "n", n)
		return out
	}
	worth := func(i, j int) uint16 {
		switch a, b := &ops[i], &ref.ops[j]; {
		case a.key == b.key:
			return sameKey
		case a.name == b.name:
			return sameName
		}
		return 0
	}
	// ahead[i][j] is the best score of the first i ops of the unit and the first j ops of the reference. rest[i][j] is
	// the best score of the remaining ops of the unit and the reference.
	w := m + 1
	ahead, rest := make([]uint16, (n+1)*w), make([]uint16, (n+1)*w)
	for i := range n {
		for j := range m {
			best := max(ahead[i*w+j+1], ahead[(i+1)*w+j])
			if v := worth(i, j); v > 0 {
				best = max(best, ahead[i*w+j]+v)
			}
			ahead[(i+1)*w+j+1] = best
		}
	}
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			best := max(rest[(i+1)*w+j], rest[i*w+j+1])
			if v := worth(i, j); v > 0 {
				best = max(best, rest[(i+1)*w+j+1]+v)
			}
			rest[i*w+j] = best
		}
	}
	most := ahead[n*w+m]
	paired, sites := 0, make([]int32, n)
	first, last := make([]int, n), make([]int, n) // per op: matches in the reference over all best alignments; -1: none
	for i := range n {
		first[i], last[i] = -1, -1
		same, site := true, int32(-1)
		for j := range m {
			if v := worth(i, j); v > 0 && ahead[i*w+j]+v+rest[(i+1)*w+j+1] == most {
				if first[i] < 0 {
					first[i], site = j, ref.ops[j].site
				}
				if last[i] = j; v < sameKey || site != ref.ops[j].site {
					site = -1
				}
				same = same && ref.layers[j] == ref.layers[first[i]]
			}
		}
		out.template.Of[i], sites[i] = -1, site
		if first[i] >= 0 {
			paired++
		}
		switch {
		case first[i] < 0:
		case !same:
			out.unsure++
		default:
			out.template.Of[i], out.known[i] = ref.around(first[i], last[i])
		}
	}
	if 2*paired < n { // another model, whose few equal kernels place nothing
		out.known = make([]bool, n)
		return out
	}
	out.sites = sites
	out.between(first, last, ref)
	return out
}

// between determines the places of the ops that match no op of the reference.
func (f *found) between(first, last []int, ref *reference) {
	n := len(f.known)
	before := -1 // position of the last known op in the reference
	for i := 0; i < n; i++ {
		if f.known[i] {
			before = last[i]
			continue
		}
		end := i
		for end < n && !f.known[end] {
			end++
		}
		next := len(ref.ops)
		if end < n {
			next = first[end]
		}
		from, to := max(before, 0), min(next, len(ref.ops)-1)
		one := from <= to
		for j := from; j <= to; j++ {
			one = one && ref.layers[j] == ref.layers[from]
		}
		for k := i; k < end; k++ {
			if one && first[k] < 0 {
				f.template.Of[k], f.known[k] = ref.around(from, to)
			}
		}
		i = end - 1
	}
}

// around returns the innermost range that encloses the ops of the reference in [from, to], or -1. All these ops must be
// in the same layer. ok is false if the ops are in a layer, but no range of the layer encloses all of them.
func (r *reference) around(from, to int) (at int32, ok bool) {
	at = r.ranges[from]
	for j := from + 1; j <= to && at >= 0; j++ {
		for ; at >= 0 && !r.inside(r.ranges[j], at); at = r.rank.Ranges[at].Parent {
		}
	}
	if r.layers[from] < 0 {
		return at, true
	}
	for up := at; up >= 0; up = r.rank.Ranges[up].Parent {
		ok = ok || r.marks.Modules[r.rank.Ranges[up].Module].Layer == r.layers[from]
	}
	if !ok {
		at = -1
	}
	return at, ok
}

// inside reports whether the range with index at is the range with index of, or is nested in that range.
func (r *reference) inside(at, of int32) bool {
	for ; at >= 0 && at != of; at = r.rank.Ranges[at].Parent {
	}
	return at >= 0
}
