package explain

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/trace"
)

var errNoGPU = errors.New("nothing to compare: the traces hold no GPU work (was the window recorded with GPU activities, and was there traffic?)")

// half is one side, prepared.
type half struct {
	a       *analyzer
	ranks   []*rank
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

type kernelSamples struct {
	full  string
	class kernel.Class
	sums  []float64 // ns a step, mean over ranks; steps without it count 0
	each  []int64
	count int
}

func newHalf(traces []*trace.Trace, id, only string, rules *kernel.Rules) (*half, error) {
	w := Prepare(traces, rules)
	a := &analyzer{names: w.names, ranks: w.ranks, report: &Report{Format: 1}}
	if !slices.ContainsFunc(a.ranks, func(r *rank) bool { return len(r.ops) > 0 }) {
		return nil, errNoGPU
	}
	a.findMarkers()
	a.label()
	a.source(Options{ID: id})
	a.match()
	a.number()
	a.times()
	h := &half{a: a, steps: map[bucket]*figures{}, total: map[bucket]float64{}, kern: map[kernelKey]*kernelSamples{}, modules: map[moduleKey][]float64{}, rankSteps: map[bucket]int{}}
	for _, r := range a.ranks {
		if only == "" || r.label == only {
			h.ranks = append(h.ranks, r)
		}
	}
	if len(h.ranks) == 0 {
		return nil, fmt.Errorf("no rank %q, there are: %s", only, strings.Join(a.report.Source.Ranks, ", "))
	}
	h.sample()
	return h, nil
}

func (h *half) side() Side {
	s := Side{ID: h.a.report.Source.ID, Ranks: []string{}, Device: h.a.report.Source.Device, Steps: h.a.steps}
	for _, r := range h.ranks {
		s.Ranks = append(s.Ranks, r.label)
	}
	return s
}

// sample collects one value per step for every figure and kernel.
func (h *half) sample() {
	in := map[int]bool{}
	for _, r := range h.ranks {
		in[r.index] = true
	}
	whole := h.a.steps
	for _, d := range h.a.domains {
		whole = min(whole, d.whole(h.a.steps))
	}
	of := make([]bucket, h.a.steps) // of each sampled step
	nth := make([]int, h.a.steps)   // its place among its like; -1: not sampled
	count := map[bucket]int{}
	have := make([]int, h.a.steps) // ranks that have the step
	for n := range h.a.report.Steps {
		s := &h.a.report.Steps[n]
		nth[n] = -1
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
			for f, v := range [6]int64{p.Total - p.waiting, p.Compute, p.ExposedComm, p.CommWait, p.Idle - p.IdleBy.none, p.HostGap} {
				sum[f] += float64(v)
			}
		}
		if ranks == 0 {
			continue
		}
		b := bucket{s.Kind, s.Mode, s.Batch}
		have[n] = ranks
		h.rankSteps[b] += ranks
		of[n], nth[n] = b, count[b]
		count[b]++
		if h.steps[b] == nil {
			h.steps[b] = &figures{}
		}
		for f := range sum {
			h.steps[b][f] = append(h.steps[b][f], sum[f]/float64(ranks))
		}
	}
	for b, f := range h.steps {
		h.total[b] = metric.Median(f[0])
	}
	normal := map[int32]string{}
	for _, r := range h.ranks {
		for i := range r.ops {
			o := &r.ops[i]
			if o.step < 0 {
				continue
			}
			n := int(o.step) + r.first
			if nth[n] < 0 {
				continue
			}
			name, ok := normal[o.name]
			if !ok {
				name = kernel.Normalize(h.a.names.list[o.name])
				normal[o.name] = name
			}
			key := kernelKey{of[n], name, r.t.Ops[r.t.Spans[o.span].Detail].Grid}
			k := h.kern[key]
			if k == nil {
				k = &kernelSamples{full: h.a.names.list[o.name], class: o.class, sums: make([]float64, count[of[n]])}
				h.kern[key] = k
			}
			// A rank that waits for another is no slower at communicating.
			took := o.end - o.start - o.wait
			k.sums[nth[n]] += float64(took) / float64(have[n])
			k.each = append(k.each, took)
			k.count++
			h.addModules(r, o, of[n], nth[n], count[of[n]], float64(took)/float64(have[n]))
		}
	}
}
