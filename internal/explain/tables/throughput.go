package tables

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

const (
	timePerStep    = "time_per_step"
	computePerStep = "compute_per_step"
	hostGapPerStep = "host_gap_per_step"
	tokenRate      = "throughput"
	leastSteps     = 4 // minimum number of steps per side for a verdict on a mean
)

// throughputs compares the time of the window per step of each kind. Unlike a median, this mean shows stalls in a few
// steps. Ranks of one capture end their steps together, so for such ranks the compute and the host gap per step are
// compared instead.
func throughputs(a, b *Sample, ranks bool) (out []result.Throughput) {
	if ranks {
		out = append(perStep(a, b, 1, computePerStep), perStep(a, b, 5, hostGapPerStep)...)
	} else {
		out = perStep(a, b, 0, timePerStep)
	}
	sorts.Stable(out, func(x, y result.Throughput) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Mode, y.Mode))
	})
	return out
}

// perStep compares the mean of a figure per step of each kind, and output tokens per second if the figure is the time.
// Steps of all batch sizes that both sides have count, each relative to the usual step of its batch size, so that the
// mix of batch sizes has no effect.
func perStep(a, b *Sample, figure int, name string) (out []result.Throughput) {
	both := map[bucket]float64{} // median step of the batch sizes that both sides have
	kinds := map[bucket][]int{}  // their batch sizes, by kind and mode
	for k, fa := range a.steps {
		fb := b.steps[k]
		if fb == nil {
			continue
		}
		if m := metric.Median(slices.Concat(fa[figure], fb[figure])); m > 0 {
			both[k] = m
			kinds[bucket{k.kind, k.mode, -1}] = append(kinds[bucket{k.kind, k.mode, -1}], k.batch)
		}
	}
	for k, batches := range kinds {
		if len(batches) == 1 {
			k.batch = batches[0]
		}
		sa, usualA, sizeA := a.series(k, both, figure)
		sb, usualB, sizeB := b.series(k, both, figure)
		n := float64(len(sa) + len(sb))
		usual := (usualA + usualB) / n
		t := result.Throughput{Kind: k.kind, Mode: k.mode, Batch: k.batch, Figure: name, NA: len(sa), NB: len(sb)}
		ma, mb := metric.SeriesMean(sa), metric.SeriesMean(sb)
		t.A, t.B = ma.Value*usual, mb.Value*usual
		t.Change, t.Lo, t.Hi = ma.Change(mb)
		t.Enough = min(t.NA, t.NB) >= leastSteps
		t.Verdict = verdict(&result.Change{NA: t.NA, NB: t.NB, Change: t.Change, Lo: t.Lo, Hi: t.Hi, Enough: t.Enough})
		out = append(out, t)
		if figure != 0 || k.kind != trace.Decode.String() || slices.Min(batches) <= 0 || t.A <= 0 || t.B <= 0 || len(a.a.Domains) != 1 || len(b.a.Domains) != 1 {
			continue
		}
		tokens := (sizeA + sizeB) / n * 1e9
		t.Figure, t.A, t.B = tokenRate, tokens/t.A, tokens/t.B
		t.Change, t.Lo, t.Hi = 1/(1+t.Change)-1, 1/(1+t.Hi)-1, 1/(1+t.Lo)-1
		out = append(out, t)
	}
	return out
}

// series returns a figure of the steps of a kind and mode in their order, divided by its usual value at their batch
// size. It also returns the sums of the usual values and of the batch sizes.
func (h *Sample) series(k bucket, usual map[bucket]float64, figure int) (values []float64, sum, sizes float64) {
	for _, p := range h.placed {
		m := usual[p.bucket]
		if p.nth < 0 || p.kind != k.kind || p.mode != k.mode || m == 0 {
			continue
		}
		values = append(values, h.steps[p.bucket][figure][p.nth]/m)
		sum, sizes = sum+m, sizes+float64(p.batch)
	}
	return values, sum, sizes
}
