package explain

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/tracefile/clock"
)

// aligned is the ranks of one window on one clock and one numbering of steps,
// with the collectives that they share.
type aligned struct {
	ranks   []*ranked
	domains []*domain
	names   *names
	marks   *markers // nil without layer-wise markers
	numbering
	origin int64  // when the capture begins, ns since the epoch on the clock of all
	span   int64  // how long it is
	clocks string // what is known of the agreement of the ranks' clocks
	broken int    // collectives whose times contradict each other
	// hostOnly: no GPU work was recorded, so steps and layers are told by host time.
	hostOnly bool
}

// ranked is a rank among the others.
type ranked struct {
	*rank
	host  *host
	first int         // index of steps[0] in the capture's numbering
	shift clock.Shift // of this rank's clock, to agree with the others
	match []int32     // per op: the collective it is part of, in the domain's matches; -1
	wait  []int64     // per op: of a collective, ns until the last rank arrived
}

// wall is a moment of the rank's clock on the clock of all.
func (r *ranked) wall(at int64) int64 { return at + r.shift.At(at) }

// align finds the collectives that ranks share, which step of one is which of
// another, and by how much their clocks differ.
func align(ranks []*rank, hosts []*host, n *names, marks *markers) *aligned {
	a := &aligned{names: n, marks: marks, hostOnly: true}
	for i, r := range ranks {
		a.ranks = append(a.ranks, &ranked{rank: r, host: hosts[i], match: make([]int32, len(r.ops)), wait: make([]int64, len(r.ops))})
		a.hostOnly = a.hostOnly && len(r.ops) == 0
	}
	var all []*domain
	for _, d := range domains(a.ranks) {
		d.pair()
		parts := d.parts()
		if len(parts) > 1 {
			for _, p := range parts {
				p.pair()
			}
		} else {
			parts = []*domain{d}
		}
		all = append(all, parts...)
	}
	a.domains = apart(all)
	a.clocks, a.broken = agree(a.domains)
	a.numbering = number(a.ranks)
	a.origin, a.span = extent(a.ranks)
	return a
}

// agree brings the clocks of hosts together if the collectives say that they
// differ, and tells what is known of them.
func agree(domains []*domain) (clocks string, broken int) {
	matched, shifted := 0, 0
	for _, d := range domains {
		if n := d.impossible(); n*50 > len(d.matches) && n > 2 && d.alignClocks() {
			shifted++
			d.find()
		}
		if d.steadyShifts() {
			shifted++
			d.find()
		}
		d.reindex()
		matched += len(d.matches)
		broken += d.impossible()
	}
	switch {
	case matched == 0:
		return "not compared: the ranks share no collectives", broken
	case shifted > 0:
		return fmt.Sprintf("differ: aligned by the ends of %d shared collectives, %d of them still impossible", matched, broken), broken
	case broken == 0:
		return fmt.Sprintf("agree: in all %d shared collectives nobody ends before all have begun", matched), broken
	}
	return fmt.Sprintf("%d of %d shared collectives contradict each other in time; they are left out", broken, matched), broken
}

// extent says when the capture begins and how long it is, on the clock of all.
func extent(ranks []*ranked) (start, length int64) {
	first, last := int64(1<<63-1), int64(-1<<63)
	add := func(r *ranked, start, end int64) {
		first, last = min(first, r.wall(start)), max(last, r.wall(end))
	}
	for _, r := range ranks {
		for i := range r.ops {
			add(r, r.ops[i].start, r.ops[i].end)
		}
		for i := range r.steps {
			add(r, r.steps[i].start, r.steps[i].end)
		}
	}
	return first, last - first
}

// domains divides ranks by what they share: a recorded process group of more
// than one rank, or else the tensor-parallel group that their names say.
func domains(ranks []*ranked) []*domain {
	parent := make([]int, len(ranks))
	for i := range parent {
		parent[i] = i
	}
	var find func(int) int
	find = func(i int) int {
		if parent[i] != i {
			parent[i] = find(parent[i])
		}
		return parent[i]
	}
	owner := map[string]int{}
	join := func(key string, i int) {
		if j, ok := owner[key]; ok {
			parent[find(i)] = find(j)
		} else {
			owner[key] = i
		}
	}
	for i, r := range ranks {
		src := &r.source
		at := src.Rank
		if at.TP >= 0 {
			join(fmt.Sprintf("tp of dp%d pp%d %s", at.DP, at.PP, src.Stage), i)
		} else {
			join("unnamed "+src.Stage, i)
		}
		for j := range r.colls {
			// Processes with worlds of their own all call their group
			// "[0, 1]": the job's size tells such groups apart.
			if c := &r.colls[j]; c.size > 1 && (src.World.Size >= len(ranks) || at.DP < 0) {
				join(src.Stage+"|"+c.ranks, i)
			}
		}
	}
	for i, r := range ranks {
		if key := oneWorld(ranks, r); key != "" {
			join(key, i)
		}
	}
	return grouped(ranks, find)
}

// grouped makes a domain of the ranks that have the same key.
func grouped(ranks []*ranked, key func(i int) int) (out []*domain) {
	by := map[int]*domain{}
	for i, r := range ranks {
		d := by[key(i)]
		if d == nil {
			d = &domain{}
			by[key(i)] = d
			out = append(out, d)
		}
		d.ranks = append(d.ranks, r)
	}
	return out
}

// oneWorld is a key that the ranks of r's stage share if they are different
// ranks of one world: with data-parallel attention, ranks of several DP
// coordinates run collectives together, which replayed graphs do not record.
// Replicas that are worlds of their own have the same ranks several times.
func oneWorld(ranks []*ranked, r *ranked) string {
	me := &r.source
	if !me.World.Known || me.World.Rank < 0 || me.Rank.DP < 0 {
		return ""
	}
	seen := map[int]bool{}
	for _, o := range ranks {
		at := &o.source
		if at.Stage != me.Stage {
			continue
		}
		if seen[at.World.Rank] || at.World.Size != me.World.Size || !at.World.Known {
			return ""
		}
		seen[at.World.Rank] = true
	}
	return fmt.Sprintf("world %s pp%d", me.Stage, me.Rank.PP)
}

// parts divides a domain whose ranks turn out to share no collectives.
func (d *domain) parts() []*domain {
	of := make([]int, len(d.ranks))
	for i := range of {
		of[i] = i
	}
	for i := range d.matches {
		at := d.matches[i].at
		from := of[at[0].rank]
		for _, p := range at[1:] {
			if old := of[p.rank]; old != from {
				for j := range of {
					if of[j] == old {
						of[j] = from
					}
				}
			}
		}
	}
	return grouped(d.ranks, func(i int) int { return of[i] })
}

// apart divides domains whose collectives are mostly impossible, whatever the
// clocks: the ranks of different DP coordinates then were replicas that share
// no collectives, though they are one world.
func apart(domains []*domain) (out []*domain) {
	for _, d := range domains {
		parts := grouped(d.ranks, func(i int) int { return d.ranks[i].source.Rank.DP })
		if len(parts) == 1 || 2*d.impossible() <= len(d.matches) || len(d.matches) == 0 {
			out = append(out, d)
			continue
		}
		better := 0
		for _, p := range parts {
			p.pair()
			better += len(p.matches) - p.impossible()
		}
		if better == 0 {
			d.pair()
			parts = []*domain{d}
		}
		out = append(out, parts...)
	}
	return out
}

// pair numbers the steps of the domain's ranks alike and finds its collectives.
func (d *domain) pair() {
	d.alignSteps()
	d.divide()
	d.find()
	if d.redivide() {
		d.find()
	}
}

// impossible counts matches that contradict the clocks.
func (d *domain) impossible() int {
	n := 0
	for i := range d.matches {
		if !d.matches[i].possible() {
			n++
		}
	}
	return n
}

// alignClocks shifts ranks whose clocks disagree by more than the shift's own
// uncertainty.
func (d *domain) alignClocks() bool {
	keys := map[string]uint64{}
	in := make([]clock.Rank, len(d.ranks))
	for i, r := range d.ranks {
		in[i].Host, in[i].RTT = r.source.Host, r.source.World.RTT
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
