package judge

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/result"
)

var unevenRules = []rule{{[]string{result.UnevenAttention, result.UnevenExperts}, unbalanced}}

// Limits for the share of the loss that always falls on the same ranks. If the share is at least alwaysSame, the same
// ranks are always the slowest. If it is at most changing, the slowest ranks change.
const (
	alwaysSame = 2. / 3
	changing   = 1. / 3
)

// unbalanced finds attention that is spread unevenly over data-parallel ranks, and expert work that is spread unevenly
// over the ranks that share the experts. If there is already a finding that a rank, or ranks in turns, are late by such
// work, the imbalance becomes evidence of that finding.
func unbalanced(c *capture) (out []result.Finding) {
	if c.partial() {
		return nil
	}
	for i := range c.rep.Balance {
		b := &c.rep.Balance[i]
		if !felt(b) || c.slowDevice(b) {
			continue
		}
		same := fact.Of("uneven_partly", "share", b.Same)
		switch {
		case !b.Halves:
			same = fact.Fact{}
		case b.Same >= alwaysSame:
			same = fact.Of("uneven_same_"+b.Work, "steps", b.Steps)
		case b.Same <= changing:
			same = fact.Of("uneven_changing_" + b.Work)
		}
		d := c.domainOf(b.Parts[0].Ranks[0])
		what := fact.Of("uneven_"+b.Work, "kind", c.rep.Said(b.Kind), "balance", b.Ratio, "same", same)
		proofs := append([]result.Evidence{proof("ratio", b.Ratio, 1, what)}, c.spread(d, b)...)
		if f := c.lateBy(d, b); f != nil {
			f.Evidence = append(slices.Insert(f.Evidence, min(1, len(f.Evidence)), proofs[0]), proofs[1:]...)
			if t := &f.Title; b.Work == result.Experts && t.Key == "imbalance" {
				f.Reason = reasonExperts
				*t = fact.Of("imbalance", "n", t.Get("n"), "of", t.Get("of"), "why", fact.Of("late_"+reasonExperts), "cost", t.Get("cost"))
			}
			continue
		}
		soft := slices.ContainsFunc(d.Ranks, func(r *match.Rank) bool { return r.NoCore != nil })
		if soft && (c.starved() || b.Same < alwaysSame && b.Waited <= max(softDevice, b.Period/softShare)) {
			continue
		}
		f := result.Finding{
			Kind: result.UnevenAttention, Cause: result.CauseWork, FirstStep: b.Of[0], LastStep: b.Of[len(b.Of)-1],
			CostNSPerStep: b.Waited, Steps: b.Of, Evidence: proofs[1:],
		}
		f.Title = fact.Of("attention_imbalance", "what", what, "cost", b.Waited)
		if b.Work == result.Experts {
			f.Kind, f.Reason, f.Title = result.UnevenExperts, reasonExperts, fact.Of("expert_imbalance", "what", what, "cost", b.Waited)
		}
		if float64(b.Waited) > passingShare*float64(b.Period) {
			f.Severity = "medium"
		}
		for _, p := range b.Parts {
			f.Ranks = append(f.Ranks, p.Ranks...)
		}
		slices.Sort(f.Ranks)
		f.ID = id(f.Kind, b.Kind, d.Ranks[0].Label)
		out = append(out, f)
	}
	return out
}

// felt reports whether ranks wait for the slowest rank of a row longer than the limit above which a rank counts as
// late.
func felt(b *result.BalanceRow) bool {
	return b.Steps >= stayingSteps && b.Waited > max(lateFloor, int64(lateShare*float64(b.Period)))
}

// domainOf returns the domain of a rank.
func (c *capture) domainOf(rank int) *Domain {
	at := slices.IndexFunc(c.blames, func(d *Domain) bool {
		return slices.ContainsFunc(d.Ranks, func(r *match.Rank) bool { return r.Index == rank })
	})
	return c.blames[at]
}

// about reports whether a finding has ranks and steps in common with a row.
func about(f *result.Finding, b *result.BalanceRow) bool {
	return slices.ContainsFunc(b.Parts, func(p result.BalancePart) bool {
		return slices.ContainsFunc(p.Ranks, func(r int) bool { return slices.Contains(f.Ranks, r) })
	}) && slices.ContainsFunc(b.Of, func(n int) bool { return f.FirstStep <= n && n <= f.LastStep })
}

// slowDevice reports whether one of the row's ranks is late because of its device. The times of such a rank hardly
// measure its load.
func (c *capture) slowDevice(b *result.BalanceRow) bool {
	return slices.ContainsFunc(c.found, func(f result.Finding) bool {
		return f.Kind == result.Straggler && f.Cause == result.CauseDevice && about(&f, b)
	})
}

// lateBy returns the finding that ranks are late, in steps of the row's kind, mostly because of the row's work.
func (c *capture) lateBy(d *Domain, b *result.BalanceRow) *result.Finding {
	for i := range c.found {
		f := &c.found[i]
		if f.Kind != result.Straggler || f.Cause != result.CauseWork || !about(f, b) {
			continue
		}
		var all, by int64
		for j, r := range d.Ranks {
			if !slices.Contains(f.Ranks, r.Index) {
				continue
			}
			for _, n := range b.Of {
				if n < f.FirstStep || n > f.LastStep {
					continue
				}
				for key, e := range d.late[j][n].extra {
					class := c.Names.Class[c.Names.Keys[key].Name]
					if all += max(e.ns, 0); b.Work == result.Attention && isAttention(class) || b.Work == result.Experts && class == kernel.MoEGEMM {
						by += max(e.ns, 0)
					}
				}
			}
		}
		if all > 0 && 2*by >= all {
			return f
		}
	}
	return nil
}

// mostParts is the maximum number of coordinates, or of layers, that are listed.
const mostParts = 8

// spread states how the work is distributed over the ranks, the inputs of the ranks, and the layers in which the work
// is least even.
func (c *capture) spread(d *Domain, b *result.BalanceRow) (out []result.Evidence) {
	order := slices.Clone(b.Parts)
	sorts.Stable(order, func(x, y result.BalancePart) int { return cmp.Compare(y.Share, x.Share) })
	var sum float64
	for _, p := range order {
		sum += float64(p.Time) / float64(len(order))
	}
	var parts []fact.Fact
	for _, p := range order[:min(len(order), mostParts)] {
		parts = append(parts, fact.Of("uneven_part", "rank", c.Ranks[p.Ranks[0]].Label, "ns", p.Time, "share", p.Share))
	}
	out = append(out, proof("ns", float64(order[0].Time), sum, fact.Of("uneven_parts", "work", fact.Of("uneven_time_"+b.Work), "parts", parts)))
	first := slices.IndexFunc(d.Ranks, func(r *match.Rank) bool { return r.Index == order[0].Ranks[0] })
	if b.Work == result.Attention {
		for _, e := range d.inputEvidence(first, b.Of) {
			e.Text = fact.Of("of_rank", "rank", d.Ranks[first].Label, "what", e.Text)
			out = append(out, e)
		}
	}
	if len(b.Layers) > 1 {
		worst := slices.MaxFunc(b.Layers, func(x, y result.BalanceLayer) int { return cmp.Compare(x.Lost, y.Lost) })
		ratios := make([]float64, len(b.Layers))
		for i := range b.Layers {
			ratios[i] = b.Layers[i].Ratio
		}
		layer := fact.Of("uneven_layer_nth", "n", worst.Layer)
		if worst.Stack != "" {
			layer = fact.Of("uneven_layer", "stack", worst.Stack, "n", worst.Layer)
		}
		out = append(out, proof("ratio", worst.Ratio, metric.Median(ratios),
			fact.Of("uneven_layers", "n", len(b.Layers), "median", metric.Median(ratios), "layer", layer, "balance", worst.Ratio, "lost", worst.Lost)))
	}
	return out
}
