package explain

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/tracefile/clock"
)

// Which ranks share collectives, and whether their clocks agree.

// match finds the collectives that ranks share, and brings the clocks of
// hosts together if the collectives say that they differ.
func (a *analyzer) match() {
	for _, d := range domains(a.ranks) {
		d.names = a.names
		d.alignSteps()
		d.pair()
		parts := d.parts()
		if len(parts) == 1 {
			a.domains = append(a.domains, d)
			continue
		}
		d.reset()
		for _, p := range parts {
			p.names = a.names
			p.alignSteps()
			p.pair()
			a.domains = append(a.domains, p)
		}
	}
	a.domains = apart(a.domains)
	matched, broken, shifted := 0, 0, 0
	for _, d := range a.domains {
		if n := d.impossible(); n*50 > len(d.matches) && n > 2 {
			if d.alignClocks() {
				shifted++
				d.reset()
				d.find()
			}
		}
		if d.steadyShifts() {
			shifted++
			d.reset()
			d.find()
		}
		d.reindex()
		matched += len(d.matches)
		broken += d.impossible()
	}
	c := &a.report.Source.Clocks
	switch {
	case matched == 0:
		*c = "not compared: the ranks share no collectives"
	case shifted > 0:
		*c = fmt.Sprintf("differ: aligned by the ends of %d shared collectives, %d of them still impossible", matched, broken)
	case broken == 0:
		*c = fmt.Sprintf("agree: in all %d shared collectives nobody ends before all have begun", matched)
	default:
		*c = fmt.Sprintf("%d of %d shared collectives contradict each other in time; they are left out", broken, matched)
	}
	if broken > 0 {
		a.note("warning", "collectives whose times contradict each other over ranks were left out of waits", int64(broken))
	}
}

// apart divides domains whose collectives are mostly impossible, whatever the
// clocks: the ranks of different DP coordinates then were replicas that share
// no collectives, though they are one world.
func apart(domains []*domain) []*domain {
	var out []*domain
	for _, d := range domains {
		byDP := map[int]*domain{}
		var order []*domain
		for _, r := range d.ranks {
			p := byDP[r.t.Source.Rank.DP]
			if p == nil {
				p = &domain{names: d.names}
				byDP[r.t.Source.Rank.DP] = p
				order = append(order, p)
			}
			p.ranks = append(p.ranks, r)
		}
		if len(order) == 1 || 2*d.impossible() <= len(d.matches) || len(d.matches) == 0 {
			out = append(out, d)
			continue
		}
		d.reset()
		better := 0
		for _, p := range order {
			p.alignSteps()
			p.pair()
			better += len(p.matches) - p.impossible()
		}
		if better > 0 {
			out = append(out, order...)
			continue
		}
		d.alignSteps()
		d.pair()
		out = append(out, d)
	}
	return out
}

// pair finds the domain's collectives.
func (d *domain) pair() {
	d.divide()
	d.find()
	if d.redivide() {
		d.reset()
		d.find()
	}
}

// impossible counts matches that contradict the clocks.
func (d *domain) impossible() int {
	n := 0
	for i := range d.matches {
		if !possible(d.matches[i].at) {
			n++
		}
	}
	return n
}

func (d *domain) reset() {
	d.matches, d.unmatched = nil, 0
	for _, r := range d.ranks {
		for i := range r.ops {
			r.ops[i].match = -1
		}
	}
}

// alignClocks shifts ranks whose clocks disagree by more than the shift's own
// uncertainty.
func (d *domain) alignClocks() bool {
	keys := map[string]uint64{}
	in := make([]clock.Rank, len(d.ranks))
	for i, r := range d.ranks {
		in[i].Host, in[i].RTT = r.t.Source.Host, r.t.Source.World.RTT
		for j := range r.ops {
			o := &r.ops[j]
			if !o.comm() {
				continue
			}
			op, group := d.collective(r, o)
			if !kernel.Synchronising(op) {
				continue
			}
			k, ok := keys[op+group]
			if !ok {
				k = uint64(len(keys) + 1)
				keys[op+group] = k
			}
			in[i].Events = append(in[i].Events, clock.Event{Start: o.start, End: o.end, Key: k})
		}
	}
	moved := false
	for i, res := range clock.Align(in) {
		if abs(res.Offset) > 1000 && res.Significant() && res.Err == nil {
			d.ranks[i].shift = res.Shift
			moved = true
		}
	}
	return moved
}
