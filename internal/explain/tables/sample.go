package tables

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Sample is one side of a comparison: samples of its steps, kernels and modules.
type Sample struct {
	result.Side
	a       *match.Aligned
	ranks   []*match.Rank // the ranks that are compared
	placed  []sampled     // position of each step's values
	steps   map[bucket]*figures
	total   map[bucket]float64 // median step time of each bucket
	kern    map[kernelKey]*kernelSamples
	modules map[moduleKey][]float64 // values as in kernelSamples.sums
	// rankSteps is the number of steps of a bucket, summed over all ranks.
	rankSteps map[bucket]int
	judged    result.Judged // the figures that can be judged with the data of this side
	lacks     []fact.Fact   // the data that this side lacks
	lost      float64       // the largest share of a rank's records that is lost or wrong; 1: unknown
}

// stacks reports whether Python stacks were recorded.
func (h *Sample) stacks() bool {
	return slices.ContainsFunc(h.ranks, func(r *match.Rank) bool { return r.Stacks })
}

type bucket struct {
	kind, mode string
	batch      int
}

// figures holds the samples of each figure, one value per step.
type figures [6][]float64

// FigureNames holds the names of the figures of steps that are compared.
var FigureNames = [6]string{"step", "compute", "exposed_comm", "wait", "idle", "host_gap"}

type kernelKey struct {
	bucket
	name string // name as normalised for comparison
	grid [3]int32
}

// moduleKey identifies a kind of module in the steps of one bucket.
type moduleKey struct {
	bucket
	name string
}

type kernelSamples struct {
	full  string
	class kernel.Class
	sums  []float64 // time in each step, ns, as the mean over ranks; 0 in steps without the kernel
	each  []int64
	count int
	order int // position among the kernels of the sample, ordered by first run
}

// NewSample samples the ranks of one side: one value per step for every figure and kernel. If only is not empty, the
// sample contains only the rank with that label.
func NewSample(a *match.Aligned, steps []result.Step, id, only string) (*Sample, error) {
	h := &Sample{a: a, steps: map[bucket]*figures{}, total: map[bucket]float64{}, kern: map[kernelKey]*kernelSamples{}, modules: map[moduleKey][]float64{}, rankSteps: map[bucket]int{}}
	h.Side = result.Side{ID: id, Ranks: []string{}, Steps: a.Steps}
	var there []string
	for _, r := range a.Ranks {
		there = append(there, r.Label)
		h.Device = cmp.Or(h.Device, r.Source.Device)
		if only == "" || r.Label == only {
			h.ranks = append(h.ranks, r)
			h.Ranks = append(h.Ranks, r.Label)
		}
	}
	if len(h.ranks) == 0 {
		return nil, fmt.Errorf("no rank %q, there are: %s", only, strings.Join(there, ", "))
	}
	h.placed = h.addSteps(steps)
	h.addKernels(h.placed)
	return h, nil
}

// sampled is the position at which the values of a step are stored.
type sampled struct {
	bucket
	nth   int // index among the steps of the same bucket; -1: left out
	ranks int // number of ranks that made the step
}

// addSteps samples the figures of steps. It leaves out the first step, steps that some rank did not make, and steps in
// which a compared rank lost GPU work.
func (h *Sample) addSteps(steps []result.Step) []sampled {
	in := map[int]bool{}
	for _, r := range h.ranks {
		in[r.Index] = true
	}
	out := make([]sampled, len(steps))
	for n := range steps {
		s := &steps[n]
		b := bucket{s.Kind, s.Mode, s.Batch}
		out[n] = sampled{b, -1, 0}
		if n == 0 && h.a.Steps > 1 || !h.a.Made(n) || slices.ContainsFunc(h.ranks, func(r *match.Rank) bool { return r.Lacks(n) }) {
			continue
		}
		var sum [6]float64
		ranks := 0
		for i := range s.Ranks {
			p := &s.Ranks[i]
			if !in[p.Rank] {
				continue
			}
			ranks++
			for f, v := range [6]int64{p.Total - p.Waiting, p.Compute, p.ExposedComm, p.CommWait, p.Idle - p.IdleBy.None, p.HostGap} {
				sum[f] += float64(v)
			}
		}
		if ranks == 0 {
			continue
		}
		f := at(h.steps, b)
		out[n].nth, out[n].ranks = len(f[0]), ranks
		h.rankSteps[b] += ranks
		for i := range sum {
			f[i] = append(f[i], sum[i]/float64(ranks))
		}
	}
	for b, f := range h.steps {
		h.total[b] = metric.Median(f[0])
	}
	return out
}

// addKernels samples the kernels and modules of steps.
func (h *Sample) addKernels(steps []sampled) {
	normal := map[int32]string{}
	for _, r := range h.ranks {
		for i := range r.Ops {
			o := &r.Ops[i]
			if o.Step < 0 {
				continue
			}
			s := &steps[int(o.Step)+r.First]
			if s.nth < 0 {
				continue
			}
			full := h.a.Names.List[o.Name]
			name, ok := normal[o.Name]
			if !ok {
				name = kernel.Normalize(full)
				normal[o.Name] = name
			}
			of := len(h.steps[s.bucket][0])
			key := kernelKey{s.bucket, name, h.a.Names.Keys[o.Key].Grid}
			k := h.kern[key]
			if k == nil {
				k = &kernelSamples{full: full, class: o.Class, sums: make([]float64, of), order: len(h.kern)}
				h.kern[key] = k
			}
			// Subtract the wait: waiting for another rank does not mean that this rank communicates more slowly.
			took := r.Own(i)
			mean := float64(took) / float64(s.ranks)
			k.sums[s.nth] += mean
			k.each = append(k.each, took)
			k.count++
			for in := r.RangeAt(i); in >= 0; in = r.Ranges[in].Parent {
				g := &r.Ranges[in]
				if !g.FirstGroup {
					continue
				}
				key := moduleKey{s.bucket, h.a.Marks.Groups[h.a.Marks.Modules[g.Module].Group].Name()}
				if h.modules[key] == nil {
					h.modules[key] = make([]float64, of)
				}
				h.modules[key][s.nth] += mean
			}
		}
	}
}
