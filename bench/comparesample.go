package bench

import (
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
)

// This file extracts the values that are compared between two loads, and draws samples from them.

// pooled returns the values of all requests of all runs, sorted.
func (h *half) pooled(of value) (v []float64) {
	for i, ok := range h.ok {
		v = append(v, of.values(ok, h.touched[i])...)
	}
	slices.Sort(v)
	return v
}

// batched computes one figure for each of n batches of neighbouring values of a run. If n batches would each hold fewer
// than least values, it makes fewer batches.
func batched(v []float64, n, least int, figure func([]float64) float64) (out []float64) {
	n = min(n, len(v)/least)
	for i := range n {
		out = append(out, figure(v[i*len(v)/n:(i+1)*len(v)/n]))
	}
	return out
}

// samples returns a figure's samples: one per run, or one per batch of each run.
func (h *half) samples(records [][]*Record, of value, perRun bool, figure func([]float64) float64) (v []float64) {
	n := batches
	if perRun {
		n = 1
	}
	for i, r := range records {
		v = append(v, batched(of.values(r, h.touched[i]), n, 2, figure)...)
	}
	return v
}

// compareMedian compares medians. If perRun is set, the medians of the runs are the samples.
func compareMedian(name string, of value, a, b *half, perRun bool) Diff {
	d := Diff{Metric: name, Figure: "median", Unit: NS, Per: per(perRun)}
	d.test(a.samples(a.ok, of, perRun, metric.Median[float64]), b.samples(b.ok, of, perRun, metric.Median[float64]))
	if !perRun {
		d.section(a.section(of, 0.5, batches, 2), b.section(of, 0.5, batches, 2))
	}
	return d
}

func per(run bool) string {
	if run {
		return "run"
	}
	return "batch"
}

// test fills d with the results of Mann-Whitney's test and Hodges and Lehmann's interval.
func (d *Diff) test(a, b []float64) {
	m := metric.Compare(a, b)
	d.A, d.B, d.NA, d.NB, d.P = m.MedianA, m.MedianB, m.NA, m.NB, m.P
	d.Change, d.Lo, d.Hi = m.Change, m.Lo, m.Hi
	switch {
	case d.NA == 0 || d.NB == 0:
		d.Verdict = Missing
	case !m.Enough:
		d.Verdict, d.Lo, d.Hi = TooFew, 0, 0
	}
}

// compareTail compares 99th percentiles. If perRun is set, the percentiles of the runs are tested in the same way as
// medians.
func compareTail(name string, of value, a, b *half, perRun bool) Diff {
	d := Diff{Metric: name, Figure: "p99", Unit: NS, Per: per(perRun), P: 1}
	if perRun {
		d.test(a.samples(a.ok, of, true, quantile(0.99)), b.samples(b.ok, of, true, quantile(0.99)))
		return d
	}
	va, vb := a.section(of, 0.99, tailBatches, tailBatch), b.section(of, 0.99, tailBatches, tailBatch)
	d.NA, d.NB = va.DF+1, vb.DF+1
	if d.NA < tailBatches || d.NB < tailBatches || va.Value <= 0 {
		d.Verdict = TooFew
	}
	d.section(va, vb)
	return d
}

func quantile(p float64) func([]float64) float64 {
	return func(v []float64) float64 {
		s := slices.Clone(v)
		slices.Sort(s)
		return metric.Quantile(s, p)
	}
}

// section estimates a quantile of all requests by sectioning (Asmussen and Glynn, Stochastic Simulation, section
// III.5): the uncertainty is estimated from the spread of the batches' quantiles around the overall quantile. This
// works even if neighbouring requests are correlated.
func (h *half) section(of value, p float64, n, least int) metric.Estimate {
	e := metric.Estimate{Value: metric.Quantile(h.pooled(of), p)}
	var each []float64
	for i, ok := range h.ok {
		each = append(each, batched(of.values(ok, h.touched[i]), n, least, quantile(p))...)
	}
	for _, x := range each {
		e.Variance += (x - e.Value) * (x - e.Value) / float64(len(each)-1) / float64(len(each))
	}
	e.DF = len(each) - 1
	return e
}

// section sets the values of both sides, and the change with its interval unless the row has no verdict.
func (d *Diff) section(a, b metric.Estimate) {
	d.A, d.B = a.Value, b.Value
	d.Change = relative(d.A, d.B)
	if d.Verdict == "" {
		_, d.Lo, d.Hi = a.Change(b)
	}
}

// compareShare compares the shares of requests for which yes returns true. For a failed request, yes is called with
// nil.
func compareShare(name string, higher bool, yes func(*Record) bool, a, b *half, perRun bool) Diff {
	d := Diff{Metric: name, Figure: "mean", Unit: Share, Higher: higher, Per: per(perRun)}
	of := func(h *half) (samples []float64, share float64) {
		requests, n := 0, batches
		if perRun {
			n = 1
		}
		for i, all := range h.all {
			good := map[*Record]bool{}
			for _, r := range h.ok[i] {
				good[r] = true
			}
			var each []float64
			for _, r := range all {
				one := r
				if !good[r] {
					one = nil
				}
				switch {
				case h.touched[i].request(r):
				case yes(one):
					share++
					each = append(each, 1)
				default:
					each = append(each, 0)
				}
			}
			samples = append(samples, batched(each, n, 2, metric.Mean[float64])...)
			requests += len(each)
		}
		return samples, share / float64(max(requests, 1))
	}
	sa, shareA := of(a)
	sb, shareB := of(b)
	d.test(sa, sb)
	d.A, d.B = shareA, shareB
	d.Change = d.B - d.A
	if _, lo, hi := metric.SeriesMean(sa).Difference(metric.SeriesMean(sb)); d.Verdict == "" {
		d.Lo, d.Hi = min(lo, d.Change), max(hi, d.Change)
	}
	return d
}

func compareRate(f figure, a, b *half) Diff {
	d := Diff{Metric: f.name, Figure: "mean", Unit: f.unit, Higher: f.higher, Per: "run"}
	of := func(h *half) (v []float64) {
		for _, s := range h.summaries {
			if x, ok := f.of(s); ok {
				v = append(v, x)
			}
		}
		return v
	}
	d.test(of(a), of(b))
	return d
}

func relative(a, b float64) float64 {
	if a == 0 {
		return 0
	}
	return b/a - 1
}
