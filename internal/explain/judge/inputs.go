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

// Reasons for more work on a rank: the inputs in the names of its steps, and the grids of its kernels.

// inputs are the sizes that the names of steps may give.
var inputs = []struct {
	what   fact.Fact
	reason string                // for more work
	of     func(*trace.Step) int // below 1: unknown
}{
	{fact.Of("input_batch"), reasonRequests, func(s *trace.Step) int { return s.Batch }},
	{fact.Of("input_tokens"), reasonTokens, func(s *trace.Step) int { return s.Tokens }},
	{fact.Of("input_context"), reasonContexts, attendsTo},
}

// said returns a size from the names of a rank's steps, and that of each other rank: medians over the steps that have
// it; 0 and none if they do not.
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

// inputEvidence reports which inputs of the rank are larger than those of the other ranks.
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

// withBlocks adds the grids to evidence about a kernel if this rank runs it with more blocks than the others. With as
// many blocks, it adds the data on which the kernel's time depends.
func (d *Domain) withBlocks(names *prep.Names, i int, steps []int, e result.Evidence) fact.Fact {
	mine, others := 0.0, []float64{}
	var class kernel.Class
	is := make([]bool, len(names.List)) // by name: it is the kernel
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

// onData names the data, not visible in a grid, on which the time of a kernel depends.
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
