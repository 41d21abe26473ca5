package tables

import (
	"cmp"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/base/gate"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Compare compares b with a. ranks means that a and b are ranks of one capture. force means that conclusions are drawn
// even if the workloads differ.
func Compare(a, b *Sample, limits gate.Limits, ranks, force bool) *result.Comparison {
	c := &result.Comparison{Format: 1, A: a.Side, B: b.Side, Limit: limits.Any(), OfRanks: ranks}
	was := renamed(a, b)
	c.Steps, c.Kernels, c.Modules = stepDiffs(a, b), kernelDiffs(a, b, was), moduleDiffs(a, b)
	c.Throughput = throughputs(a, b, ranks)
	incomplete(c, a, b, ranks)
	unlike(c, a, b, was, ranks, force)
	for _, l := range limits.Named() {
		c.Limits = append(c.Limits, l.String())
	}
	if c.Refused {
		withdraw(c, func(_, _, verdict string) bool { return verdict != result.Appeared && verdict != result.Vanished })
	} else {
		regressions(c, c.Limit, ranks)
		for _, l := range limits.Named() {
			hold(c, l)
		}
	}
	note := func(f fact.Fact) { c.Notes = append(c.Notes, f) }
	if (a.a.Marks == nil) != (b.a.Marks == nil) {
		with := b
		if b.a.Marks == nil {
			with = a
		}
		note(fact.Of("compare_markers", "side", with.ID))
	}
	for _, h := range []*Sample{a, b} {
		for _, r := range h.a.Ranks {
			if len(r.Cut) > 0 {
				note(fact.Of("compare_cut", "side", h.ID, "rank", r.Label, "from", r.First+len(r.Steps)))
			}
		}
	}
	note(fact.Of("compare_two_captures"))
	return c
}

// Captures are taken to be of different models in two cases: kernels with a counterpart take less than leastLike of the
// GPU time, or nearly all kernels run more often or less often by at least the factor mostOften.
const (
	leastLike = 0.5
	mostOften = 1.25
)

// unlike lists the differences between the workloads of the captures, and decides whether they rule out a verdict.
func unlike(c *result.Comparison, a, b *Sample, was map[kernelKey]kernelKey, ranks, force bool) {
	add := func(f fact.Fact) { c.Unlike = append(c.Unlike, f) }
	lossy := c.Judged >= result.JudgedSteps && max(a.lost, b.lost) > muchLost // missing steps and kernels may be lost ones
	if !slices.ContainsFunc(c.Steps, func(d result.StepDiff) bool { return d.NA > 0 && d.NB > 0 }) {
		if lossy {
			c.Judged = result.JudgedNone
			return
		}
		add(fact.Of("compare_nothing"))
		c.Refused = true
		return
	}
	if !ranks && !lossy {
		ofA, ofB, often := alike(a, b, was)
		switch {
		case max(ofA, ofB) < leastLike:
			add(fact.Of("compare_other_kernels", "a", 1-ofA, "b", 1-ofB))
			c.Refused = !force
		case often >= mostOften || often <= 1/mostOften:
			add(fact.Of("compare_often", "factor", often))
			c.Refused = !force
		}
	}
	if a.Device != b.Device && a.Device != "" && b.Device != "" {
		add(fact.Of("compare_devices", "a", a.Device, "b", b.Device))
	}
	if len(a.ranks) != len(b.ranks) {
		add(fact.Of("compare_ranks", "a", len(a.ranks), "b", len(b.ranks)))
	}
	if a.stacks() != b.stacks() {
		with := b
		if a.stacks() {
			with = a
		}
		add(fact.Of("compare_stacks", "side", with.ID))
	}
}

// withdraw replaces the verdicts of all rows for which from returns true. Rows are not judged without a verdict on the
// captures.
func withdraw(c *result.Comparison, from func(figure, class, verdict string) bool) {
	take := func(figure, class string, verdict *string) {
		if *verdict != result.Unclear && from(figure, class, *verdict) {
			*verdict = result.NotJudged
		}
	}
	for i := range c.Steps {
		take(c.Steps[i].Figure, "", &c.Steps[i].Verdict)
	}
	for i := range c.Throughput {
		take(c.Throughput[i].Figure, "", &c.Throughput[i].Verdict)
	}
	for i := range c.Kernels {
		take("", c.Kernels[i].Class, &c.Kernels[i].Verdict)
	}
	for i := range c.Modules {
		take("", "", &c.Modules[i].Verdict)
	}
}

// stepDiffs compares the figures of steps.
func stepDiffs(a, b *Sample) (out []result.StepDiff) {
	for k := range eitherKey(a.steps, b.steps) {
		fa, fb := cmp.Or(a.steps[k], &figures{}), cmp.Or(b.steps[k], &figures{})
		for f, name := range FigureNames {
			out = append(out, result.StepDiff{Kind: k.kind, Mode: k.mode, Batch: k.batch, Figure: name, Change: change(fa[f], fb[f])})
		}
	}
	sorts.Stable(out, func(x, y result.StepDiff) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Mode, y.Mode), cmp.Compare(x.Batch, y.Batch))
	})
	verdicts(out, func(d *result.StepDiff) (*result.Change, *string) { return &d.Change, &d.Verdict })
	return out
}

// kernelDiffs compares kernels. It leaves out kernels in steps of a kind that only one side has, since the comparison
// of steps already shows this difference. was is the result of renamed.
func kernelDiffs(a, b *Sample, was map[kernelKey]kernelKey) (out []result.KernelDiff) {
	replaced := map[kernelKey]bool{}
	for _, k := range was {
		replaced[k] = true
	}
	for k := range eitherKey(a.kern, b.kern) {
		if a.steps[k.bucket] == nil || b.steps[k.bucket] == nil || replaced[k] {
			continue
		}
		d := result.KernelDiff{Kind: k.kind, Mode: k.mode, Batch: k.batch, Grid: k.grid}
		of := func(h *Sample, k kernelKey) (sums []float64, count float64, each int64) {
			s := h.kern[k]
			if s == nil {
				return nil, 0, 0
			}
			d.Name, d.Class = s.full, string(s.class.Group())
			return s.sums, float64(s.count) / float64(h.rankSteps[k.bucket]), int64(metric.MedianInPlace(s.each))
		}
		before, changed := was[k]
		if !changed {
			before = k
		}
		var sa, sb []float64
		sa, d.CountA, d.EachA = of(a, before)
		if changed {
			d.Was = d.Name
		}
		sb, d.CountB, d.EachB = of(b, k)
		d.Short = kernel.Short(d.Name)
		d.Change = change(sa, sb)
		d.Effect = effect(&d.Change, a.total[k.bucket])
		out = append(out, d)
	}
	sorts.By(out, func(x, y result.KernelDiff) int {
		return cmp.Or(cmp.Compare(math.Abs(y.Effect), math.Abs(x.Effect)), cmp.Compare(x.Kind, y.Kind),
			cmp.Compare(x.Batch, y.Batch), cmp.Compare(x.Name, y.Name), slices.Compare(x.Grid[:], y.Grid[:]))
	})
	verdicts(out, func(d *result.KernelDiff) (*result.Change, *string) { return &d.Change, &d.Verdict })
	return out
}

// renamed maps kernels of b without a counterpart to equivalent kernels of a, within the steps of one bucket. It first
// pairs kernels with the same name but different grids. Then it pairs kernels of the same class, if their number per
// step and their order agree.
func renamed(a, b *Sample) map[kernelKey]kernelKey {
	type group struct {
		bucket
		name  string
		class kernel.Class
	}
	was, paired := map[kernelKey]kernelKey{}, map[kernelKey]bool{}
	pair := func(of func(k kernelKey, s *kernelSamples) group) {
		only := func(h, other *Sample) map[group][]kernelKey {
			out := map[group][]kernelKey{}
			for k, s := range h.kern {
				if other.kern[k] == nil && !paired[k] {
					out[of(k, s)] = append(out[of(k, s)], k)
				}
			}
			for _, list := range out {
				sorts.By(list, func(x, y kernelKey) int { return h.kern[x].order - h.kern[y].order })
			}
			return out
		}
		often := func(h *Sample, k kernelKey) float64 { return float64(h.kern[k].count) / float64(h.rankSteps[k.bucket]) }
		gone := only(a, b)
		for g, list := range only(b, a) {
			for i, k := range list {
				if len(gone[g]) != len(list) {
					break
				}
				before := gone[g][i]
				if n := often(a, before); math.Abs(often(b, k)-n) > 0.1*n {
					continue
				}
				was[k], paired[k], paired[before] = before, true, true
			}
		}
	}
	pair(func(k kernelKey, s *kernelSamples) group { return group{k.bucket, k.name, s.class} })
	pair(func(k kernelKey, s *kernelSamples) group { return group{k.bucket, "", s.class} })
	return was
}

// moduleDiffs compares modules, if both sides have layer-wise markers.
func moduleDiffs(a, b *Sample) (out []result.ModuleDiff) {
	if a.a.Marks == nil || b.a.Marks == nil {
		return nil
	}
	for k := range eitherKey(a.modules, b.modules) {
		if a.steps[k.bucket] == nil || b.steps[k.bucket] == nil {
			continue
		}
		d := result.ModuleDiff{Kind: k.kind, Mode: k.mode, Batch: k.batch, Module: k.name, Change: change(a.modules[k], b.modules[k])}
		d.Effect = effect(&d.Change, a.total[k.bucket])
		out = append(out, d)
	}
	sorts.By(out, func(x, y result.ModuleDiff) int {
		return cmp.Or(cmp.Compare(math.Abs(y.Effect), math.Abs(x.Effect)), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Mode, y.Mode),
			cmp.Compare(x.Batch, y.Batch), cmp.Compare(x.Module, y.Module))
	})
	verdicts(out, func(d *result.ModuleDiff) (*result.Change, *string) { return &d.Change, &d.Verdict })
	return out
}

// eitherKey returns the keys that a or b has.
func eitherKey[K comparable, V any](a, b map[K]V) map[K]bool {
	out := make(map[K]bool, len(a))
	for _, m := range []map[K]V{a, b} {
		for k := range m {
			out[k] = true
		}
	}
	return out
}

func change(a, b []float64) result.Change {
	m := metric.Compare(a, b)
	return result.Change{A: m.MedianA, B: m.MedianB, NA: m.NA, NB: m.NB, Change: m.Change, Lo: m.Lo, Hi: m.Hi, P: m.P, Enough: m.Enough}
}

// effect returns the effect of a change on the length of a step, relative to total.
func effect(c *result.Change, total float64) float64 {
	if total <= 0 {
		return 0
	}
	return (orZero(c.B) - orZero(c.A)) / total
}

// verdicts adjusts the p-values of the tested rows of one table, sets the verdict of each row, and replaces non-finite
// values by 0, since JSON has no NaN.
func verdicts[D any](rows []D, of func(*D) (*result.Change, *string)) {
	var p []float64
	var tested []*result.Change
	for i := range rows {
		c, _ := of(&rows[i])
		c.PAdj = c.P
		if c.Enough && c.NA > 0 && c.NB > 0 {
			p, tested = append(p, c.P), append(tested, c)
		}
	}
	for i, q := range metric.AdjustFDR(p) {
		tested[i].PAdj = q
	}
	for i := range rows {
		c, said := of(&rows[i])
		*said = verdict(c)
		for _, f := range []*float64{&c.A, &c.B, &c.Change, &c.Lo, &c.Hi, &c.P, &c.PAdj} {
			*f = orZero(*f)
		}
	}
}

func verdict(c *result.Change) string {
	switch {
	case c.NA == 0:
		return result.Appeared
	case c.NB == 0:
		return result.Vanished
	case !c.Enough:
		return result.Unclear
	}
	return result.Verdict(c.Change, c.Lo, c.Hi, c.PAdj)
}

// orZero returns x, or 0 if it is not finite.
func orZero(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}
