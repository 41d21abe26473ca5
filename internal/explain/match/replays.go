package match

import (
	"cmp"
	"maps"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/trace"
)

// This file finds kernels that the recording lost inside graph replays. Each replay of a graph runs the same kernels, so
// the same kernels recur in many steps or on several ranks. If records are lost at random, hardly any set of kernels
// recurs. A small graph has few sets, so lossy sets recur as well, but less often than the complete set that contains
// them.

// leastReplays is the minimum number of different replays of one graph from which its kernels are inferred.
const leastReplays = 5

// replay holds the GPU work of the graphs that one rank replayed in one step.
type replay struct {
	step   *prep.Step
	counts map[int32]int // by name
	ops    int
	kernel bool // whether at least one op is a kernel
	hash   uint64
}

// replaySort identifies steps that replay the same graphs on one rank.
type replaySort struct {
	rank   int
	stage  int // of the pipeline
	kind   trace.StepKind
	mode   string
	batch  int
	tokens int
	graphs int
}

// findLostOps sets LostOps of the steps of all ranks.
func findLostOps(ranks []*Rank) {
	sorts := map[replaySort][]*replay{}
	times := map[uint64]int{} // hash -> number of replays with these kernels
	for i, r := range ranks {
		for _, p := range r.replays() {
			info := &p.step.Info
			// Without a batch size, steps may differ because they replay different graphs.
			if p.step.LostOps = 0; info.Batch < 0 || info.Kind != trace.Decode && info.Tokens < 0 {
				continue
			}
			k := replaySort{i, r.Source.Rank.PP, info.Kind, info.Mode, info.Batch, info.Tokens, p.step.Graphs}
			sorts[k] = append(sorts[k], p)
			times[p.hash]++
		}
	}
	// whole holds the sets of kernels that recur, by kind of step on any rank. Copies alone may recur because all
	// kernels are lost.
	recurs := func(p *replay) bool { return times[p.hash] > 1 && p.kernel }
	whole := map[replaySort]map[uint64]*replay{}
	for k, list := range sorts {
		k.rank = 0
		for _, p := range list {
			if recurs(p) {
				if whole[k] == nil {
					whole[k] = map[uint64]*replay{}
				}
				whole[k][p.hash] = p
			}
		}
	}
	for _, sets := range whole {
		leaveMost(sets, times)
		dropLossy(sets, times)
	}
	for k, list := range sorts {
		k.rank = 0
		var others []*replay
		for _, p := range list {
			if whole[k][p.hash] != nil {
				continue
			}
			least, more := 0, false
			for _, w := range whole[k] {
				n := w.ops - p.ops
				if n > 0 && (least == 0 || n < least) && p.within(w) {
					least = n
				}
				more = more || n < 0 && w.within(p)
			}
			if !p.kernel {
				least = max(least, 1)
			}
			if p.step.LostOps = least; least == 0 && !more {
				others = append(others, p)
			}
		}
		inferLost(others)
	}
}

// mostSets is the maximum number of sets of kernels of one kind of step that are compared with each other. A kind of
// step replays a few graphs; the bound keeps the work proportional to the steps.
const mostSets = 256

// leaveMost leaves the mostSets sets that recur most often.
func leaveMost(sets map[uint64]*replay, times map[uint64]int) {
	if len(sets) <= mostSets {
		return
	}
	order := sorts.Sorted(maps.Keys(sets), func(x, y uint64) int { return cmp.Or(cmp.Compare(times[y], times[x]), cmp.Compare(x, y)) })
	for _, hash := range order[mostSets:] {
		delete(sets, hash)
	}
}

// leastLossy is the minimum number of different sets that one complete set must contain for these sets to be lossy.
const leastLossy = 3

// dropLossy removes sets that lack records from sets that recur. Such sets are part of a set that recurs at least twice
// as often. As records are lost at random, there are several of them, and they do not all contain each other, unlike
// graphs of different depths.
func dropLossy(sets map[uint64]*replay, times map[uint64]int) {
	lossy := map[uint64]bool{}
	for _, w := range sets {
		var parts []*replay
		for _, p := range sets {
			if p.ops < w.ops && 2*times[p.hash] <= times[w.hash] && p.within(w) {
				parts = append(parts, p)
			}
		}
		sorts.By(parts, func(x, y *replay) int { return x.ops - y.ops })
		nested := true
		for i := 1; i < len(parts); i++ {
			nested = nested && parts[i-1].within(parts[i])
		}
		if len(parts) >= leastLossy && !nested {
			for _, p := range parts {
				lossy[p.hash] = true
			}
		}
	}
	maps.DeleteFunc(sets, func(hash uint64, _ *replay) bool { return lossy[hash] })
}

// inferLost sets LostOps for different replays of one graph. The graph has at least as many kernels of each name as any
// of them.
func inferLost(list []*replay) {
	if len(list) < leastReplays {
		return
	}
	graph, ops := map[int32]int{}, 0
	for _, p := range list {
		for name, n := range p.counts {
			graph[name] = max(graph[name], n)
		}
	}
	for _, n := range graph {
		ops += n
	}
	for _, p := range list {
		p.step.LostOps = ops - p.ops
	}
}

// replays returns the graph replays of each step with complete launches. Replays of the same kernels share their counts.
func (r *Rank) replays() []*replay {
	of := make([]*replay, len(r.Steps))
	each := func(do func(step int32, o *prep.Op)) {
		for i := range r.Ops {
			if o := &r.Ops[i]; o.Step >= 0 && r.InGraph(o) {
				do(o.Step, o)
			}
		}
	}
	each(func(step int32, o *prep.Op) {
		if of[step] == nil {
			of[step] = &replay{step: &r.Steps[step]}
		}
		p := of[step]
		p.ops++
		p.kernel = p.kernel || o.Cat == trace.Kernel
		p.hash += mix(uint64(o.Name) + 1) // a sum, because parallel branches of a graph run in any order
	})
	counts, first := map[uint64]map[int32]int{}, map[uint64]*replay{} // first: whose ops are counted
	each(func(step int32, o *prep.Op) {
		p := of[step]
		if first[p.hash] == nil {
			first[p.hash], counts[p.hash] = p, map[int32]int{}
		}
		if first[p.hash] == p {
			counts[p.hash][o.Name]++
		}
	})
	out := slices.DeleteFunc(of, func(p *replay) bool { return p == nil })
	for _, p := range out {
		p.counts = counts[p.hash]
	}
	return out
}

// mix spreads the bits of x (splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// within reports whether w contains all kernels of p.
func (p *replay) within(w *replay) bool {
	for name, n := range p.counts {
		if w.counts[name] < n {
			return false
		}
	}
	return true
}
