package judge

import (
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
)

var balancedRules = []rule{{[]string{result.Balanced, result.Data}, balanced}}

// balanced returns the finding that no rank is late, and the measure by which this was found. If too few collectives
// were compared, it returns the finding that this is unknown.
func balanced(c *capture) []result.Finding {
	n := c.compared()
	if c.Steps <= leastSteps || float64(n.broken) > leftOut*float64(n.broken+n.matches) {
		return nil
	}
	unknown := func(why fact.Fact) []result.Finding {
		return []result.Finding{whole(result.Data, "medium", result.Unknown, why)}
	}
	if 2*n.ops < n.all && !slices.ContainsFunc(c.found, func(f result.Finding) bool { return f.Kind == result.Straggler }) {
		return unknown(fact.Of("data-compared", "n", n.ops, "of", n.all, "why", n.why()))
	}
	// If findings were held back, it is not proven that no rank is late. It is not proven either if ranks wait because
	// work is spread unevenly, even if no cause was found,
	// or if a rank cannot be compared.
	if c.lostRank() || c.rep.Chance.HeldBack > 0 || slices.ContainsFunc(c.rep.Balance, func(b result.BalanceRow) bool { return felt(&b) }) || slices.ContainsFunc(c.found, func(f result.Finding) bool {
		return f.Starved || len(f.Ranks) > 0 && (f.Kind == result.Straggler || f.Kind == result.UnevenAttention || f.Kind == result.UnevenExperts || f.Kind == result.CommBound || f.Kind == result.SlowStep || strings.HasPrefix(f.ID, "data-offsets"))
	}) {
		return nil
	}
	if n.ranks < 2 {
		return uncompared(c)
	}
	if 2*len(n.steps) < c.Steps {
		return unknown(fact.Of("data-compared.steps", "n", len(n.steps), "steps", c.Steps))
	}
	var worst *result.RankRow
	for i := range c.rep.Ranks {
		if r := &c.rep.Ranks[i]; worst == nil || r.Caused > worst.Caused {
			worst = r
		}
	}
	which := fact.Of("no_rank")
	if c.partial() {
		which = fact.Of("no_recorded_rank")
	}
	f := whole(result.Balanced, "", result.Balanced,
		fact.Of("balanced", "which", which, "share", lateShare, "ns", lateFloor, "steps", leastSteps),
		proof("ns", float64(worst.Caused), float64(lateLimit(c.Aligned, c.Steps-1)),
			fact.Of("compared", "n", n.matches, "ranks", n.ranks, "worst", worst.Name, "ns", worst.Caused)))
	f.Evidence = append(f.Evidence, c.unequal()...)
	return []result.Finding{f}
}

// uncompared states why no ranks could be compared, unless another finding does.
func uncompared(c *capture) []result.Finding {
	said := slices.ContainsFunc(c.found, func(f result.Finding) bool {
		return slices.ContainsFunc([]string{"data-lost", "data-cut", "data-missing", "data-empty", "data-steps", "data-clocks", "data-idle"}, func(by string) bool { return strings.HasPrefix(f.ID, by) })
	})
	size, comm := 1, false
	for _, r := range c.Ranks {
		for i := range r.Colls {
			size = max(size, r.Colls[i].Size)
		}
		comm = comm || slices.ContainsFunc(r.Ops, func(o prep.Op) bool { return o.Comm() })
	}
	why := fact.Of("apart_collectives")
	switch {
	case c.HostOnly || said || len(c.Ranks) == 1 && size == 1:
		return nil
	case len(c.Ranks) == 1:
		why = fact.Of("apart_alone", "size", size)
	case !comm:
		why = fact.Of("apart_none")
	}
	return []result.Finding{whole(result.Data, "low", "data-uncompared", fact.Of("data-uncompared", "why", why))}
}

// comparison counts the collectives that could be compared over ranks, and those that could not.
type comparison struct {
	steps           map[int]bool // steps with comparable collectives
	ranks           int          // ranks with comparable collectives
	matches, broken int          // comparable collectives, and those with impossible times
	// ops and all are the kernels of comparable collectives and of all collectives, except the first of each group.
	ops, all int
	// Kernels that could not be compared: outside of steps, in steps that a rank lacks, in steps with lost GPU work, and
	// without a counterpart.
	outside, apart, lost, alone int
}

// compared counts the collectives of ranks that share collectives.
func (c *capture) compared() *comparison {
	n := &comparison{steps: map[int]bool{}}
	for _, d := range c.Domains {
		before := n.matches
		for i := range d.Matches {
			switch m := &d.Matches[i]; {
			case !m.Possible():
				n.broken++
			case !m.First:
				n.matches++
				n.steps[m.Step] = true
			}
		}
		if n.matches > before {
			n.ranks += len(d.Ranks)
		}
		if len(d.Ranks) > 1 {
			n.count(d)
		}
	}
	return n
}

// count adds the kernels of the collectives of a domain.
func (n *comparison) count(d *match.Domain) {
	first, end := d.Common()
	for _, r := range d.Ranks {
		for i := range r.Ops {
			o := &r.Ops[i]
			if !o.Comm() || !kernel.Synchronising(r.Colls[o.Coll].Op) {
				continue
			}
			at, step := r.Match[i], int(o.Step)+r.First
			if at >= 0 && d.Matches[at].First {
				continue
			}
			n.all++
			switch {
			case at >= 0 && d.Matches[at].Possible():
				n.ops++
			case o.Step < 0:
				n.outside++
			case step < first || step >= end:
				n.apart++
			case r.Lacks(step):
				n.lost++
			default:
				n.alone++
			}
		}
	}
}

// why returns the most frequent reason why collectives could not be compared.
func (n *comparison) why() fact.Fact {
	switch most := max(n.outside, n.apart, n.lost, n.alone); most {
	case n.outside:
		return fact.Of("compared_outside", "n", most)
	case n.apart:
		return fact.Of("compared_apart", "n", most)
	case n.lost:
		return fact.Of("compared_lost", "n", most)
	default:
		return fact.Of("compared_alone", "n", most)
	}
}

// unequal reports which rank gets at least twice as much input as the other ranks, although the other ranks do not wait
// for this rank.
func (c *capture) unequal() (out []result.Evidence) {
	steps := make([]int, c.Steps)
	for n := range steps {
		steps[n] = n
	}
	for _, d := range c.blames {
		for i, r := range d.Ranks {
			for _, e := range d.inputEvidence(i, steps) {
				if e.Value >= 2*e.Peers && (out == nil || e.Value*out[0].Peers > out[0].Value*e.Peers) {
					e.Text = fact.Of("of_rank", "rank", r.Label, "what", e.Text)
					out = []result.Evidence{e}
				}
			}
		}
	}
	return out
}
