package judge

import (
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// slowTransfers finds steps from which on collectives are slower for all ranks: the time of collectives without
// waiting, summed per step, rises and stays high. All ranks have arrived when a transfer begins, so the link is slow
// and not a rank. Only steps of similar size are compared.
func slowTransfers(c *capture, d *Domain) (out []result.Finding) {
	// Transfer times of equal collectives vary far less than the lateness of ranks, so a smaller share of a step is
	// enough for a finding.
	const rise, slowShare = 1.25, 0.02
	if c.lostRank() { // the wait for this rank looks like a transfer
		return nil
	}
	moved := make([]int64, c.Steps)
	for i := range d.Matches {
		m := &d.Matches[i]
		if m.First || !m.Possible() || d.Lacking(m.Step) > 0 { // the wait for a rank with lost work looks like a transfer
			continue
		}
		shortest := m.At[0].End - m.At[0].Start
		for _, p := range m.At {
			shortest = min(shortest, p.End-p.Start)
		}
		moved[m.Step] += shortest
	}
	type size struct {
		kind          string
		batch, tokens int
	}
	var sizes []size
	like := map[size][]int{}
	for n := 1; n < c.Steps; n++ {
		s := &c.rep.Steps[n]
		if k := (size{s.Kind, s.Batch, s.Tokens}); moved[n] > 0 {
			if like[k] == nil {
				sizes = append(sizes, k)
			}
			like[k] = append(like[k], n)
		}
	}
	for _, k := range sizes {
		steps := like[k]
		s := changePoint(steps, moved)
		if s < 0 {
			continue
		}
		before, after := pick(moved, steps[:s]), pick(moved, steps[s:])
		slices.Sort(before)
		slices.Sort(after)
		was, is := metric.Quantile(before, 0.5), metric.Quantile(after, 0.5)
		n := steps[s]
		apart := metric.Quantile(after, 0.25) > metric.Quantile(before, 0.75)
		if !apart || is < rise*was || is-was < max(lateFloor, slowShare*float64(c.StepPeriod(n))) {
			continue
		}
		out = append(out, slowTransfer(c, d, k.kind, n, steps[len(steps)-1], was, is))
	}
	return out
}

// slowTransfer returns the finding that the time of transfers rose at step n. was and is are the times before and after
// the rise, in ns per step. If ranks are missing, the recorded ranks may all be waiting for a missing rank, which looks
// like a transfer.
func slowTransfer(c *capture, d *Domain, kind string, n, last int, was, is float64) result.Finding {
	f := result.Finding{
		Kind: result.SlowLink, Cause: result.CauseCommunication, FirstStep: n, LastStep: last,
		CostNSPerStep: int64(is - was), ID: id(result.SlowLink, kind, n),
		Title:    fact.Of("slow_link", "first", n, "is", is, "kind", c.rep.Said(kind), "was", was),
		Evidence: []result.Evidence{proof("ns", is, was, fact.Of("transfers_before", "is", is, "was", was))},
	}
	if lacksRanks(c.Aligned, d.Domain, c.rep) {
		f.Kind, f.Cause, f.Severity, f.ID = result.Data, "", "medium", id("data-slow", kind, n)
		f.Title = fact.Of("data-slow", "first", n, "is", is, "kind", c.rep.Said(kind), "was", was)
	}
	for _, r := range d.Ranks {
		f.Ranks = append(f.Ranks, r.Index)
	}
	return f
}

// unexplained drops slow transfers that begin when one rank becomes slow. A shared or throttled device of one rank, or
// its slow link, slows the collectives of all ranks. The dropped findings become evidence of the straggler.
func unexplained(slow, stragglers []result.Finding) []result.Finding {
	return slices.DeleteFunc(slow, func(f result.Finding) bool {
		for i := range stragglers {
			s := &stragglers[i]
			if (s.Cause == result.CauseDevice || s.Cause == result.CauseCommunication) && s.FirstStep-1 <= f.FirstStep && f.FirstStep <= s.FirstStep+1 {
				e := f.Evidence[0]
				e.Text = fact.Of("with_it", "what", e.Text)
				s.Evidence = append(s.Evidence, e)
				return true
			}
		}
		return false
	})
}
