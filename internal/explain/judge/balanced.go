package judge

import (
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
)

var balancedRules = []rule{{[]string{result.Balanced, result.Data}, balanced}}

// balanced returns the finding that no rank is late, and the measure by which this was found.
func balanced(c *capture) []result.Finding {
	// If findings were held back, it is not proven that no rank is late. It is not proven either if ranks wait because
	// work is spread unevenly, even if no cause was found.
	if c.rep.Chance.HeldBack > 0 || slices.ContainsFunc(c.rep.Balance, func(b result.BalanceRow) bool { return felt(&b) }) || slices.ContainsFunc(c.found, func(f result.Finding) bool {
		return f.Starved || len(f.Ranks) > 0 && (f.Kind == result.Straggler || f.Kind == result.UnevenAttention || f.Kind == result.UnevenExperts || f.Kind == result.CommBound || f.Kind == result.SlowStep || strings.HasPrefix(f.ID, "data-offsets"))
	}) {
		return nil
	}
	compared, collectives, broken := 0, 0, 0
	in := map[int]bool{} // steps in which ranks were compared
	for _, d := range c.Domains {
		n := 0
		for i := range d.Matches {
			switch m := &d.Matches[i]; {
			case !m.Possible():
				broken++
			case !m.First:
				n++
				in[m.Step] = true
			}
		}
		if n > 0 {
			compared += len(d.Ranks)
			collectives += n
		}
	}
	if compared < 2 {
		return uncompared(c)
	}
	if c.Steps <= leastSteps || float64(broken) > leftOut*float64(broken+collectives) {
		return nil
	}
	if 2*len(in) < c.Steps {
		return []result.Finding{whole(result.Data, "low", "data-compared", fact.Of("data-compared", "n", len(in), "steps", c.Steps))}
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
			fact.Of("compared", "n", collectives, "ranks", compared, "worst", worst.Name, "ns", worst.Caused)))
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
	return []result.Finding{whole(result.Data, "low", "data-compared", fact.Of("data-compared.none", "why", why))}
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
