package match

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/trace"
)

// Counterparts finds the counterparts of an op on other ranks. A counterpart is in the same step and layer, and at the
// same position in the order of ops on a stream. Each request compares whole steps, so Counterparts is meant for a few
// ops. It keeps the counterparts of steps that differ, up to a limit.
type Counterparts struct {
	a      *Aligned
	domain []*Domain // domain of each rank
	place  []int32   // index of each rank in its domain
	steps  []stepOps // ops of each rank

	mu      sync.Mutex
	streams map[rankStep][][]int32 // ops of each stream of a step, the stream with the most ops first
	sums    map[rankStep][]uint64  // checksums of these streams
	seed    maphash.Seed
	known   map[segment][]pairOf // counterparts in segments that differ
	kept    int                  // their number
}

type rankStep struct{ rank, step int }

// stepOps holds the ops of each step of a rank, in time order. The ops of step i are ops[ends[i-1]:ends[i]].
type stepOps struct {
	ops  []int32
	ends []int32
}

// Pair is an op's counterpart on another rank.
type Pair struct {
	Rank int   // index in Aligned.Ranks
	Op   int32 // index in the rank's Ops; -1: none
	// Other means that the counterpart is a different kernel, at the same position between equal kernels.
	Other bool
	Why   Unmatched
}

// Unmatched is the reason that an op has no counterpart on a rank.
type Unmatched string

// Reasons of Unmatched.
const (
	OutsideSteps Unmatched = "outside"   // the op belongs to no step
	LacksStep    Unmatched = "no_step"   // the rank's file lacks the step
	NoSuch       Unmatched = "none_such" // the rank ran no such op at that position
	TooMany      Unmatched = "too_many"  // the sequences of differing kernels are too long for a reliable match
	Apart        Unmatched = "apart"     // the ranks share no collectives, so their steps are unrelated
)

// Counterparts returns a Counterparts for a. It takes 4 bytes of memory per op, and as much again for the steps asked
// about.
func (a *Aligned) Counterparts() *Counterparts {
	c := &Counterparts{a: a, domain: make([]*Domain, len(a.Ranks)), place: make([]int32, len(a.Ranks)), steps: make([]stepOps, len(a.Ranks)), streams: map[rankStep][][]int32{},
		sums: map[rankStep][]uint64{}, seed: maphash.MakeSeed(), known: map[segment][]pairOf{}}
	for _, d := range a.Domains {
		for i, r := range d.Ranks {
			at := slices.Index(a.Ranks, r)
			c.domain[at], c.place[at] = d, int32(i)
		}
	}
	for i, r := range a.Ranks {
		s := &c.steps[i]
		s.ends = make([]int32, len(r.Steps)+1)
		for j := range r.Ops {
			if step := r.Ops[j].Step; step >= 0 {
				s.ends[step+1]++
			}
		}
		for j := 1; j < len(s.ends); j++ {
			s.ends[j] += s.ends[j-1]
		}
		s.ops = make([]int32, s.ends[len(s.ends)-1])
		for j := range r.Ops {
			if step := r.Ops[j].Step; step >= 0 {
				s.ops[s.ends[step]] = int32(j)
				s.ends[step]++
			}
		}
		s.ends = s.ends[:len(r.Steps)]
	}
	return c
}

func (s *stepOps) of(step int) []int32 {
	from := int32(0)
	if step > 0 {
		from = s.ends[step-1]
	}
	return s.ops[from:s.ends[step]]
}

// Of returns the counterparts of an op on all other ranks, in the order of the ranks.
func (c *Counterparts) Of(rank int, op int32) (out []Pair) {
	r := c.a.Ranks[rank]
	o := &r.Ops[op]
	for at, other := range c.a.Ranks {
		if at == rank {
			continue
		}
		p := Pair{Rank: at, Op: -1}
		step := int(o.Step) + r.First - other.First
		switch {
		case c.domain[at] != c.domain[rank]:
			p.Why = Apart
		case r.Match[op] >= 0:
			if p.Op = c.domain[rank].Matches[r.Match[op]].OpOf(c.place[at]); p.Op < 0 {
				p.Why = NoSuch
			}
		case o.Step < 0:
			p.Why = OutsideSteps
		case step < 0 || step >= len(other.Steps):
			p.Why = LacksStep
		default:
			c.compare(rank, at, op, int(o.Step), step, &p)
		}
		out = append(out, p)
	}
	return out
}

// compare finds the counterpart of an op in otherStep by aligning the streams that may contain it.
func (c *Counterparts) compare(rank, other int, op int32, step, otherStep int, p *Pair) {
	a, b := c.a.Ranks[rank], c.a.Ranks[other]
	x := aligner{c: c, a: a, b: b}
	// Stream numbers are arbitrary, so the streams of a step are paired by the number of ops on each.
	mine, theirs := c.byUse(rank, step), c.byUse(other, otherStep)
	stream := slices.IndexFunc(mine, func(ops []int32) bool { return a.Ops[ops[0]].Track == a.Ops[op].Track })
	if x.mine = mine[stream]; stream < len(theirs) {
		x.theirs = theirs[stream]
	}
	at, _ := slices.BinarySearch(x.mine, op)
	p.Op, p.Other, p.Why = x.find(at)
}

// Class identifies ops of different ranks that have the same counterparts, and are counterparts of each other: the parts
// of a collective, and the ops at one position of streams with equal ops.
type Class struct {
	domain   *Domain
	match    int32 // -1: not a matched collective
	step     int
	stream   int
	position int
	sum      uint64
}

// Class returns the class of an op, and false if the op belongs to no step.
func (c *Counterparts) Class(rank int, op int32) (Class, bool) {
	r := c.a.Ranks[rank]
	o := &r.Ops[op]
	k := Class{domain: c.domain[rank], match: r.Match[op]}
	if k.match >= 0 || o.Step < 0 {
		return k, k.match >= 0
	}
	streams := c.byUse(rank, int(o.Step))
	k.step = int(o.Step) + r.First
	k.stream = slices.IndexFunc(streams, func(ops []int32) bool { return r.Ops[ops[0]].Track == o.Track })
	k.position, _ = slices.BinarySearch(streams[k.stream], op)
	k.sum = c.checksums(rank, int(o.Step), streams)[k.stream]
	return k, true
}

// checksums returns a checksum of each stream of a step. It covers all that find looks at.
func (c *Counterparts) checksums(rank, step int, streams [][]int32) []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := rankStep{rank, step}
	if c.sums[at] != nil {
		return c.sums[at]
	}
	r := c.a.Ranks[rank]
	x := aligner{c: c}
	for _, ops := range streams {
		var h maphash.Hash
		h.SetSeed(c.seed)
		for _, i := range ops {
			o := &r.Ops[i]
			maphash.WriteComparable(&h, [6]int32{o.Key, o.Name, int32(o.Cat), int32(o.Class), r.Match[i], x.layer(r, i)})
		}
		c.sums[at] = append(c.sums[at], h.Sum64())
	}
	return c.sums[at]
}

// Cost returns the number of ops that Of compares for an op.
func (c *Counterparts) Cost(rank int, op int32) int {
	if step := c.a.Ranks[rank].Ops[op].Step; step >= 0 {
		return len(c.steps[rank].of(int(step))) * len(c.a.Ranks)
	}
	return 0
}

// byUse returns the ops of a step by stream, the stream with the most ops first.
func (c *Counterparts) byUse(rank, step int) [][]int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := rankStep{rank, step}
	if streams, ok := c.streams[k]; ok {
		return streams
	}
	r := c.a.Ranks[rank]
	at := map[trace.TrackID]int{}
	var streams [][]int32
	for _, i := range c.steps[rank].of(step) {
		n, ok := at[r.Ops[i].Track]
		if !ok {
			n = len(streams)
			at[r.Ops[i].Track], streams = n, append(streams, nil)
		}
		streams[n] = append(streams[n], i)
	}
	sorts.Stable(streams, func(x, y []int32) int { return cmp.Compare(len(y), len(x)) })
	c.streams[k] = streams
	return streams
}

// aligner aligns the ops of a stream in one step on two ranks.
type aligner struct {
	c            *Counterparts
	a, b         *Rank
	mine, theirs []int32
}

// mostCompared is the maximum number of pairs of ops that are compared. A large model has 2,000 ops per step.
const mostCompared = 24_000_000

// find returns the counterpart of mine[at]. Matched collectives divide the step, so only the ops between two successive
// collectives are compared.
func (x *aligner) find(at int) (op int32, other bool, why Unmatched) {
	from, to := 0, len(x.mine)
	first, end := 0, len(x.theirs)
	place := map[int32]int{} // index of the match -> index in theirs
	for j, i := range x.theirs {
		if m := x.b.Match[i]; m >= 0 {
			place[m] = j
		}
	}
	for i := at - 1; i >= 0; i-- {
		if m := x.a.Match[x.mine[i]]; m >= 0 {
			if j, ok := place[m]; ok {
				from, first = i+1, j+1
				break
			}
		}
	}
	for i := at + 1; i < len(x.mine); i++ {
		if m := x.a.Match[x.mine[i]]; m >= 0 {
			if j, ok := place[m]; ok && j >= first {
				to, end = i, j
				break
			}
		}
	}
	return x.align(at, from, to, first, end)
}

// worth scores the similarity of two ops by kernel and grid. Ops of different layers score 0.
func (x *aligner) worth(i, j int) uint16 {
	p, q := &x.a.Ops[x.mine[i]], &x.b.Ops[x.theirs[j]]
	if l, m := x.layer(x.a, x.mine[i]), x.layer(x.b, x.theirs[j]); l >= 0 && m >= 0 && l != m {
		return 0
	}
	switch {
	case p.Key == q.Key && p.Cat == q.Cat:
		return 3
	case p.Name == q.Name:
		return 2
	}
	return 0
}

// layer returns the layer of an op, or -1 if it is unknown.
func (x *aligner) layer(r *Rank, op int32) int32 {
	if x.c.a.Marks == nil {
		return -1
	}
	return x.c.a.Marks.LayerAt(r.Rank, r.RangeAt(int(op)))
}

// align pairs mine[from:to] with theirs[first:end] so that the total similarity is largest, and returns the counterpart
// of mine[at]. The remaining ops between two pairs are paired in order, class by class. Ops of a class are paired only
// if both sides have the same number of them.
func (x *aligner) align(at, from, to, first, end int) (op int32, other bool, why Unmatched) {
	for from < to && first < end && x.worth(from, first) == 3 {
		if from == at {
			return x.theirs[first], false, ""
		}
		from, first = from+1, first+1
	}
	for from < to && first < end && x.worth(to-1, end-1) == 3 {
		if to-1 == at {
			return x.theirs[end-1], false, ""
		}
		to, end = to-1, end-1
	}
	n, m := to-from, end-first
	if n*m > mostCompared {
		return -1, false, TooMany
	}
	if m > 0 {
		p := x.c.pairs(segment{&x.mine[from], &x.theirs[first], n, m}, func() []pairOf { return x.pairs(from, n, first, m) })[at-from]
		if p.op >= 0 {
			return p.op, p.other, ""
		}
	}
	return -1, false, NoSuch
}

// segment identifies n ops of a stream on one rank and m ops on another by the first of each.
type segment struct {
	mine, theirs *int32
	n, m         int
}

// pairOf is the counterpart of an op.
type pairOf struct {
	op    int32 // -1: none
	other bool
}

// mostPairs is the maximum number of counterparts that are kept.
const mostPairs = 8_000_000

// pairs returns the counterparts of the ops of a segment. It calls find if they are not known from an earlier request,
// since the time of find grows with the square of the length.
func (c *Counterparts) pairs(s segment, find func() []pairOf) []pairOf {
	c.mu.Lock()
	known, ok := c.known[s]
	c.mu.Unlock()
	if ok {
		return known
	}
	known = find()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept += s.n; c.kept > mostPairs {
		clear(c.known)
		c.kept = s.n
	}
	c.known[s] = known
	return known
}

// pairs returns the counterparts of n ops of mine among m ops of theirs.
func (x *aligner) pairs(from, n, first, m int) []pairOf {
	// rest[i][j] is the largest total similarity of the ops of mine from i on and the ops of theirs from j on.
	w := m + 1
	rest := make([]uint16, (n+1)*w)
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			best := max(rest[(i+1)*w+j], rest[i*w+j+1])
			if v := x.worth(from+i, first+j); v > 0 {
				best = max(best, rest[(i+1)*w+j+1]+v)
			}
			rest[i*w+j] = best
		}
	}
	out := make([]pairOf, n)
	left, right := 0, 0 // the ops after the previous pair
	for i, j := 0, 0; i <= n && j <= m; {
		paired := i < n && j < m
		if paired {
			v := x.worth(from+i, first+j)
			paired = v > 0 && rest[i*w+j] == rest[(i+1)*w+j+1]+v
		}
		if paired || i == n && j == m {
			for k := left; k < i; k++ { // the ops in the gap before this pair
				out[k].op = -1
				if i-left == j-right {
					if to := x.theirs[first+right+k-left]; x.alike(x.mine[from+k], to) {
						out[k] = pairOf{to, true}
					}
				}
			}
			if paired {
				out[i].op = x.theirs[first+j]
			}
			i, j = i+1, j+1
			left, right = i, j
		} else if j == m || i < n && rest[(i+1)*w+j] == rest[i*w+j] {
			i++
		} else {
			j++
		}
	}
	return out
}

// alike reports whether two different kernels may do the same work.
func (x *aligner) alike(i, j int32) bool {
	p, q := x.a.Ops[i].Class, x.b.Ops[j].Class
	return p == q || p == kernel.Other || q == kernel.Other
}
