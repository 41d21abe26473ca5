package tables

import (
	"cmp"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// mostKernels is the largest number of kernels listed for a cause.
const mostKernels = 8

// CauseKernels sets the kernels of a cause. It compares the kernels of the rank that the cause concerns with the
// kernels of a rank of the other side, in steps of the same bucket.
func CauseKernels(a, b *Sample, c *result.Cause) {
	if c.Rank == "" {
		return
	}
	with, other := b, a
	if c.Change == result.Gone {
		with, other = a, b
	}
	rank, peer := with.rank(c.Rank), other.rank(c.Rank)
	if len(other.ranks) == 1 { // the comparison is between two single ranks
		peer = other.ranks[0]
	}
	if rank == nil || peer == nil {
		return
	}
	is, steps := with.mostOf(c)
	mine := with.kernelsOf(rank, func(n int) bool { return steps(n) && with.placed[n].bucket == is })
	its := other.kernelsOf(peer, func(n int) bool { return other.placed[n].bucket == is })
	if mine.steps == 0 || its.steps == 0 {
		return
	}
	// Skip kernels whose difference is unrelated to this cause.
	if same := math.Round(mine.often) == math.Round(its.often); !c.Work && !same || mine.often < its.often {
		return
	}
	if c.Change == result.Gone {
		mine, its = its, mine
	}
	c.CountA, c.CountB = its.often, mine.often
	for name := range eitherKey(its.by, mine.by) {
		k := result.KernelChange{}
		for _, of := range []struct {
			in        *rankKernels
			count, ns *float64
		}{{its, &k.CountA, &k.A}, {mine, &k.CountB, &k.B}} {
			if s := of.in.by[name]; s != nil {
				k.Name, k.Short, k.Class = s.full, kernel.Short(s.full), string(s.class.Group())
				*of.count, *of.ns = float64(s.count)/float64(of.in.steps), float64(s.ns)/float64(of.in.steps)
			}
		}
		c.Kernels = append(c.Kernels, k)
	}
	var most float64
	for i := range c.Kernels {
		most = max(most, math.Abs(c.Kernels[i].B-c.Kernels[i].A))
	}
	c.Kernels = slices.DeleteFunc(c.Kernels, func(k result.KernelChange) bool {
		return math.Abs(k.CountB-k.CountA) < 0.5 && math.Abs(k.B-k.A) < 0.1*most
	})
	sorts.By(c.Kernels, func(x, y result.KernelChange) int {
		return cmp.Or(cmp.Compare(math.Abs(y.B-y.A), math.Abs(x.B-x.A)), cmp.Compare(x.Name, y.Name))
	})
	c.Kernels = c.Kernels[:min(len(c.Kernels), mostKernels)]
}

func (h *Sample) rank(label string) *match.Rank {
	for _, r := range h.ranks {
		if r.Label == label {
			return r
		}
	}
	return nil
}

// mostOf returns the bucket that contains the most steps of a cause, and a function that reports whether a step belongs
// to the cause.
func (h *Sample) mostOf(c *result.Cause) (most bucket, of func(step int) bool) {
	steps := map[int]bool{}
	for _, n := range c.Steps {
		steps[n] = true
	}
	of = func(n int) bool {
		if len(c.Steps) > 0 {
			return steps[n]
		}
		return c.First < 0 || n >= c.First && n <= c.Last
	}
	count := map[bucket]int{}
	for n := range h.placed {
		if p := &h.placed[n]; p.nth >= 0 && of(n) {
			if count[p.bucket]++; count[p.bucket] > count[most] {
				most = p.bucket
			}
		}
	}
	return most, of
}

// rankKernels holds the kernels of one rank in some steps.
type rankKernels struct {
	steps int
	often float64 // median number of kernels per step
	by    map[string]*rankKernel
}

type rankKernel struct {
	full  string
	class kernel.Class
	count int
	ns    int64
}

func (h *Sample) kernelsOf(r *match.Rank, in func(step int) bool) *rankKernels {
	out := &rankKernels{by: map[string]*rankKernel{}}
	count := map[int]int{}
	for n := range h.placed {
		if h.placed[n].nth >= 0 && in(n) && n >= r.First && n < r.First+len(r.Steps) {
			count[n] = 0
		}
	}
	for i := range r.Ops {
		o := &r.Ops[i]
		n := int(o.Step) + r.First
		if _, ok := count[n]; o.Step < 0 || !ok || o.Cat != trace.Kernel {
			continue
		}
		count[n]++
		full := h.a.Names.List[o.Name]
		k := at(out.by, kernel.Normalize(full))
		k.full, k.class = full, o.Class
		k.count++
		k.ns += r.Own(i)
	}
	out.steps = len(count)
	var all []int
	for _, n := range count {
		all = append(all, n)
	}
	out.often = metric.MedianInPlace(all)
	return out
}

// alike returns, for each side, the share of GPU time in kernels that the other side also runs or replaces by
// equivalent kernels. It covers steps of the buckets that both sides have, without communication. often applies to
// kernels that run several times a step. It is the factor by which nearly all of them run more often in B than in A;
// below 1, they run less often. It is 1 if there is no such factor. was is the result of renamed.
func alike(a, b *Sample, was map[kernelKey]kernelKey) (ofA, ofB, often float64) {
	known := map[kernelKey]bool{}
	for k, before := range was {
		known[k], known[before] = true, true
	}
	type name struct {
		bucket
		name string
	}
	counts := func(h *Sample) map[name]float64 {
		out := map[name]float64{}
		for k, s := range h.kern {
			out[name{k.bucket, k.name}] += float64(s.count) / float64(max(h.rankSteps[k.bucket], 1))
		}
		return out
	}
	inA, inB := counts(a), counts(b)
	share := func(h, other *Sample, has map[name]float64) float64 {
		var like, all float64
		for k, s := range h.kern {
			if s.class == kernel.Comm || other.steps[k.bucket] == nil {
				continue
			}
			var sum float64
			for _, ns := range s.sums {
				sum += ns
			}
			all += sum
			if known[k] || has[name{k.bucket, k.name}] > 0 {
				like += sum
			}
		}
		return metric.Share(like, all)
	}
	var factors []float64
	for k, n := range inA {
		if m := inB[k]; m > 0 && n > 0 && max(m, n) >= 2 {
			factors = append(factors, m/n)
		}
	}
	slices.Sort(factors)
	const most = 0.9
	often = 1
	switch low, high := metric.Quantile(factors, 1-most), metric.Quantile(factors, most); {
	case low > 1:
		often = low
	case high < 1:
		often = high
	}
	return share(a, b, inB), share(b, a, inA), often
}
