package explain

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/kernel"
)

// half is one side: a sample of its steps, kernels and modules.
type half struct {
	Side
	a       *aligned
	ranks   []*ranked // that are compared
	steps   map[bucket]*figures
	total   map[bucket]float64 // median step time
	kern    map[kernelKey]*kernelSamples
	modules map[moduleKey][]float64 // as the sums of kern
	// rankSteps is how many steps of a bucket all ranks have together.
	rankSteps map[bucket]int
}

type bucket struct {
	kind, mode string
	batch      int
}

// figures holds samples: per figure one value a step.
type figures [6][]float64

var figureNames = [6]string{"step", "compute", "exposed_comm", "wait", "idle", "host_gap"}

type kernelKey struct {
	bucket
	name string // normalised
	grid [3]int32
}

// moduleKey is a module's kind in steps of one bucket.
type moduleKey struct {
	bucket
	name string
}

type kernelSamples struct {
	full  string
	class kernel.Class
	sums  []float64 // ns a step, mean over ranks; steps without it count 0
	each  []int64
	count int
}

// newHalf samples the ranks of one side: one value per step for every figure and kernel.
// only, if set, takes the rank of that label alone.
func newHalf(a *aligned, steps []Step, id, only string) (*half, error) {
	h := &half{a: a, steps: map[bucket]*figures{}, total: map[bucket]float64{}, kern: map[kernelKey]*kernelSamples{}, modules: map[moduleKey][]float64{}, rankSteps: map[bucket]int{}}
	h.Side = Side{ID: id, Ranks: []string{}, Steps: a.steps}
	var there []string
	for _, r := range a.ranks {
		there = append(there, r.label)
		h.Device = cmp.Or(h.Device, r.source.Device)
		if only == "" || r.label == only {
			h.ranks = append(h.ranks, r)
			h.Ranks = append(h.Ranks, r.label)
		}
	}
	if len(h.ranks) == 0 {
		return nil, fmt.Errorf("no rank %q, there are: %s", only, strings.Join(there, ", "))
	}
	h.addKernels(h.addSteps(steps))
	return h, nil
}

// sampled is where a step's values are.
type sampled struct {
	bucket
	nth   int // its place among its like; -1: it is left out
	ranks int // that have it
}

// addSteps samples the figures of steps. The first step and those that a cut file lacks
// are left out.
func (h *half) addSteps(steps []Step) []sampled {
	in := map[int]bool{}
	for _, r := range h.ranks {
		in[r.index] = true
	}
	whole := h.a.steps
	for _, d := range h.a.domains {
		whole = min(whole, d.whole(h.a.steps))
	}
	out := make([]sampled, len(steps))
	for n := range steps {
		s := &steps[n]
		b := bucket{s.Kind, s.Mode, s.Batch}
		out[n] = sampled{b, -1, 0}
		if n == 0 && h.a.steps > 1 || n >= whole {
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
func (h *half) addKernels(steps []sampled) {
	normal := map[int32]string{}
	for _, r := range h.ranks {
		for i := range r.ops {
			o := &r.ops[i]
			if o.step < 0 {
				continue
			}
			s := &steps[int(o.step)+r.first]
			if s.nth < 0 {
				continue
			}
			full := h.a.names.list[o.name]
			name, ok := normal[o.name]
			if !ok {
				name = kernel.Normalize(full)
				normal[o.name] = name
			}
			of := len(h.steps[s.bucket][0])
			key := kernelKey{s.bucket, name, h.a.names.keys[o.key].grid}
			k := h.kern[key]
			if k == nil {
				k = &kernelSamples{full: full, class: o.class, sums: make([]float64, of)}
				h.kern[key] = k
			}
			// A rank that waits for another is no slower at communicating.
			took := o.end - o.start - r.wait[i]
			mean := float64(took) / float64(s.ranks)
			k.sums[s.nth] += mean
			k.each = append(k.each, took)
			k.count++
			for in := r.rangeAt(o); in >= 0; in = r.ranges[in].parent {
				g := &r.ranges[in]
				if !g.firstGroup {
					continue
				}
				key := moduleKey{s.bucket, h.a.marks.groups[h.a.marks.modules[g.module].group].Name()}
				if h.modules[key] == nil {
					h.modules[key] = make([]float64, of)
				}
				h.modules[key][s.nth] += mean
			}
		}
	}
}
