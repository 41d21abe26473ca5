package judge

import (
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// This file looks for reasons why a rank has more work: the inputs given in the names of its steps, and the grids of
// its kernels.

// input is a size that the names of steps may contain.
type input struct {
	what   fact.Fact
	reason string                // reason for more work if the size is larger
	of     func(*trace.Step) int // the size; below 1: unknown
}

var inputs = []input{
	{fact.Of("input_batch"), reasonRequests, func(s *trace.Step) int { return s.Batch }},
	{fact.Of("input_tokens"), reasonTokens, func(s *trace.Step) int { return s.Tokens }},
	{fact.Of("input_context"), reasonContexts, attendsTo},
}

// said returns a size from the names of a rank's steps, and the same size of each other rank, as medians over the steps
// with a known size. If no step has the size, mine is 0 and others is empty.
func (d *Domain) said(i int, steps []int, of func(*trace.Step) int) (mine float64, others []float64) {
	for j, r := range d.Ranks {
		var all []int64
		for _, n := range steps {
			if s := infoOf(r, n); s != nil && of(s) > 0 {
				all = append(all, int64(of(s)))
			}
		}
		switch {
		case len(all) == 0:
		case j == i:
			mine = metric.MedianInPlace(all)
		default:
			others = append(others, metric.MedianInPlace(all))
		}
	}
	return mine, others
}

// inputEvidence states which inputs of the rank are larger than the same inputs of the other ranks.
func (d *Domain) inputEvidence(i int, steps []int) (out []result.Evidence) {
	for _, in := range inputs {
		mine, others := d.said(i, steps, in.of)
		if len(others) == 0 {
			continue
		}
		if usual := metric.Median(others); mine > usual {
			out = append(out, proof("count", mine, usual, fact.Of("input", "what", in.what, "mine", mine, "others", usual, "least", slices.Min(others), "most", slices.Max(others))))
		}
	}
	return out
}

// withBlocks adds to evidence about a kernel the grids, if this rank runs the kernel with more blocks than the other
// ranks. If the numbers of blocks are equal, it adds the data on which the kernel's time depends.
func (d *Domain) withBlocks(names *prep.Names, i int, steps []int, e result.Evidence) fact.Fact {
	mine, others, class := d.blocks(names, i, steps, e)
	switch {
	case len(others) == 0 || mine < metric.Median(others):
		return e.Text
	case mine == metric.Median(others):
		if most := d.allowed(i, steps); isAttention(class) && most > 0 && d.grew(names, i, steps, int64(e.Value)*int64(len(steps)), isAttention) > most {
			told, usual := d.said(i, steps, attendsTo)
			return fact.Of("kernel_not_context", "what", e.Text, "mine", told, "others", metric.Median(usual))
		}
		if why := onData(class); why.String() != "" {
			return fact.Of("kernel_data", "what", e.Text, "why", why)
		}
		return e.Text
	}
	return fact.Of("kernel_blocks", "what", e.Text, "mine", mine, "others", metric.Median(others))
}

// blocks returns the number of blocks with which a rank launches the kernel of some evidence, the number on each other
// rank, as medians over launches, and the class of the kernel.
func (d *Domain) blocks(names *prep.Names, i int, steps []int, e result.Evidence) (mine float64, others []float64, class kernel.Class) {
	is := make([]bool, len(names.List)) // whether the name is that of the kernel, by index of the name
	for name, text := range names.List {
		is[name] = text == e.Name.Text
	}
	in := make(map[int]bool, len(steps))
	for _, n := range steps {
		in[n] = true
	}
	for j, r := range d.Ranks {
		var all []int64
		for k := range r.Ops {
			o := &r.Ops[k]
			if o.Step >= 0 && is[o.Name] && in[int(o.Step)+r.First] {
				g := names.Keys[o.Key].Grid
				class = o.Class
				all = append(all, int64(g[0])*int64(g[1])*int64(g[2]))
			}
		}
		switch {
		case len(all) == 0:
		case j == i:
			mine = metric.MedianInPlace(all)
		default:
			others = append(others, metric.MedianInPlace(all))
		}
	}
	return mine, others, class
}

// onData names the data on which the time of kernels of a class depends, and which grids do not show.
func onData(c kernel.Class) (f fact.Fact) {
	switch {
	case !kernel.DataDependent(c):
	case c == kernel.Attention || c == kernel.LinearAttention:
		f = fact.Of("longer_context")
	default:
		f = fact.Of("more_tokens")
	}
	return f
}
