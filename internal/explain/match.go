package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/trace"
)

// domain is a set of ranks that share collectives, so that one can make the
// others wait. Data-parallel replicas without common collectives are domains
// of their own, and are compared within, never with each other.
type domain struct {
	ranks   []*rank
	names   *names
	matches []match // by time of the last arrival
	// divided are the operations without recorded arguments that ranks of one
	// DP coordinate run among themselves, see divide.
	divided map[string]bool
	// unmatched counts communication kernels without partners on all ranks.
	unmatched int
}

// match is one collective with its kernel on each rank of its group.
type match struct {
	op      string
	key     string
	step    int // in the capture's numbering
	at      []part
	inGraph bool
	first   bool  // the first of its group in the window: its skew is the profilers' start
	last    int64 // latest arrival
}

// part is one rank's kernel of a collective, on the aligned clock.
type part struct {
	rank       int32 // in domain.ranks
	op         int32 // in rank.ops
	start, end int64
	wait       int64 // of the kernel's time, until the last rank has arrived
}

// seqKey identifies a sequence of collectives whose order all ranks share.
type seqKey struct {
	step  int
	group string
	op    string
}

// domains divides ranks by what they share: a recorded process group of more
// than one rank, or else the tensor-parallel group that their names say.
func domains(ranks []*rank) []*domain {
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
		at := r.t.Source.Rank
		if at.TP >= 0 {
			join(fmt.Sprintf("tp of dp%d pp%d %s", at.DP, at.PP, r.t.Source.Stage), i)
		} else {
			join("unnamed "+r.t.Source.Stage, i)
		}
		for j := range r.t.Comms {
			if c := &r.t.Comms[j]; c.GroupSize > 1 {
				// Processes with worlds of their own all call their group
				// "[0, 1]": the job's size tells such groups apart.
				if w := r.t.Source.World; w.Size >= len(ranks) || at.DP < 0 {
					join(r.stage()+r.t.Strings.Get(c.Ranks), i)
				}
			}
		}
	}
	for i, r := range ranks {
		if key := oneWorld(ranks, r); key != "" {
			join(key, i)
		}
	}
	byRoot := map[int]*domain{}
	var out []*domain
	for i, r := range ranks {
		d := byRoot[find(i)]
		if d == nil {
			d = &domain{}
			byRoot[find(i)] = d
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
func oneWorld(ranks []*rank, r *rank) string {
	me := &r.t.Source
	if !me.World.Known || me.World.Rank < 0 || me.Rank.DP < 0 {
		return ""
	}
	seen := map[int]bool{}
	for _, o := range ranks {
		at := &o.t.Source
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
	byPart := map[int]*domain{}
	var out []*domain
	for i, r := range d.ranks {
		p := byPart[of[i]]
		if p == nil {
			p = &domain{}
			byPart[of[i]] = p
			out = append(out, p)
		}
		p.ranks = append(p.ranks, r)
	}
	return out
}

func (r *rank) stage() string { return r.t.Source.Stage + "|" }

// find matches the collectives of all ranks: by step, group and operation,
// then by order. That needs no recorded arguments, so it holds for kernels
// replayed in graphs, too.
func (d *domain) find() {
	if len(d.ranks) < 2 {
		return
	}
	seqs := make([]map[seqKey][]int32, len(d.ranks))
	var keys []seqKey
	known := map[seqKey]bool{}
	for i, r := range d.ranks {
		seqs[i] = map[seqKey][]int32{}
		for j := range r.ops {
			o := &r.ops[j]
			if !o.comm() || o.step < 0 {
				continue
			}
			op, group := d.collective(r, o)
			if !kernel.Synchronising(op) {
				continue
			}
			k := seqKey{int(o.step) + r.first, group, op}
			seqs[i][k] = append(seqs[i][k], int32(j))
			if !known[k] {
				known[k] = true
				keys = append(keys, k)
			}
		}
	}
	slices.SortFunc(keys, func(a, b seqKey) int {
		return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.group, b.group), cmp.Compare(a.op, b.op))
	})
	for _, k := range keys {
		d.matchSequence(k, seqs)
	}
	slices.SortStableFunc(d.matches, func(a, b match) int { return cmp.Compare(a.last, b.last) })
}

// cutAt tells whether a file that ends early lacks a rank's part of a step:
// whom the others waited for is then unknown.
func (d *domain) cutAt(step int) bool {
	return step >= d.whole(step+1)
}

// whole is how many of the capture's steps no file that ends early lacks. One
// that has hardly any is as good as missing, and does not count.
func (d *domain) whole(steps int) int {
	for _, r := range d.ranks {
		if r.cut > 0 && len(r.steps) >= leastSteps {
			steps = min(steps, r.first+len(r.steps))
		}
	}
	return max(steps, 0)
}

// matchSequence pairs the n-th kernels of one sequence. Only ranks that have
// the sequence are members; when their counts differ, the beginnings are
// paired as far as their times allow it.
func (d *domain) matchSequence(k seqKey, seqs []map[seqKey][]int32) {
	var members []int
	shortest, longest := -1, 0
	for i := range d.ranks {
		if n := len(seqs[i][k]); n > 0 {
			members = append(members, i)
			if shortest < 0 || n < shortest {
				shortest = n
			}
			longest = max(longest, n)
		}
	}
	if len(members) < 2 || d.cutAt(k.step) {
		d.unmatched += longest
		return
	}
	for _, i := range members {
		d.unmatched += len(seqs[i][k]) - shortest
	}
	for n := range shortest {
		m := match{op: k.op, key: k.group, step: k.step}
		for _, i := range members {
			r := d.ranks[i]
			at := seqs[i][k][n]
			o := &r.ops[at]
			m.at = append(m.at, part{rank: int32(i), op: at, start: r.wall(o.start), end: r.wall(o.end)})
			m.inGraph = m.inGraph || trace.IsGraphLaunch(r.launchName(o))
		}
		if shortest != longest && !possible(m.at) {
			d.unmatched += (shortest - n) * len(members)
			return
		}
		for _, p := range m.at {
			d.ranks[p.rank].ops[p.op].match = int32(len(d.matches))
		}
		m.close()
		d.matches = append(d.matches, m)
	}
}

// possible checks what must hold for one collective: nobody ends before all
// have begun.
func possible(at []part) bool {
	latest, earliest := at[0].start, at[0].end
	for _, p := range at {
		latest, earliest = max(latest, p.start), min(earliest, p.end)
	}
	return earliest >= latest
}

// close computes what follows from the times: wait is the kernel's time until
// the last rank's arrival, clamped to the kernel.
func (m *match) close() {
	m.last = m.at[0].start
	for _, p := range m.at {
		m.last = max(m.last, p.start)
	}
	for i := range m.at {
		p := &m.at[i]
		p.wait = min(max(m.last-p.start, 0), p.end-p.start)
	}
}

// reindex writes the final places of matches into the ops, and marks the
// first of every group: the profilers start at different moments, so its skew
// proves nothing.
func (d *domain) reindex() {
	seen := map[string]bool{}
	for i := range d.matches {
		m := &d.matches[i]
		members := m.members()
		m.first = !seen[members]
		seen[members] = true
		for _, p := range m.at {
			o := &d.ranks[p.rank].ops[p.op]
			o.match = int32(i)
			if possible(m.at) {
				o.wait = p.wait
			}
		}
	}
}

// members names the ranks of a collective.
func (m *match) members() string {
	var b strings.Builder
	for _, p := range m.at {
		fmt.Fprintf(&b, "%d,", p.rank)
	}
	return b.String()
}

// collKey is what an operation and its group follow from.
type collKey struct{ kernel, name, ranks, group trace.StringID }

// collName is an operation and its group.
type collName struct{ op, group string }

// collective gives the operation and the group of a communication kernel.
// Kernels in graphs and custom all-reduce record no arguments: their group is
// the one that the ranks' names make, which all of them share.
func (r *rank) collective(o *op) (name, group string) {
	t := r.t
	key := collKey{kernel: t.Spans[o.span].Name}
	args := r.comm(o)
	if args != nil {
		key = collKey{name: args.Name, ranks: args.Ranks, group: args.Group}
	}
	known, ok := r.colls[key]
	if !ok {
		if args != nil {
			known = collName{kernel.CollectiveArg(t.Strings.Get(args.Name)), t.Strings.Get(args.Ranks) + " " + t.Strings.Get(args.Group)}
		} else {
			known.op, _ = kernel.Collective(t.Strings.Get(key.kernel))
		}
		if r.colls == nil {
			r.colls = map[collKey]collName{}
		}
		r.colls[key] = known
	}
	return known.op, known.group
}

// comm is the recorded arguments of a communication kernel, or nil.
func (r *rank) comm(o *op) *trace.Comm {
	if c := r.t.Ops[r.t.Spans[o.span].Detail].Comm; c >= 0 {
		return &r.t.Comms[c]
	}
	return nil
}

func abs(x int64) int64 {
	if x < 0 {
		return -x
	}
	return x
}
