package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/explain/kernel"
)

// domain is a set of ranks that share collectives, so that one can make the
// others wait. Data-parallel replicas without common collectives are domains
// of their own, and are compared within, never with each other.
type domain struct {
	ranks   []*ranked
	matches []match // by time of the last arrival
	// divided are the operations without recorded arguments that ranks of one
	// DP coordinate run among themselves, see divide.
	divided map[string]bool
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

// find matches the collectives of all ranks: by step, group and operation,
// then by order. That needs no recorded arguments, so it holds for kernels
// replayed in graphs, too.
func (d *domain) find() {
	d.matches = nil
	for _, r := range d.ranks {
		for i := range r.match {
			r.match[i] = -1
		}
	}
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

// hardlyAny is how many steps of a cut file are as good as none.
const hardlyAny = 2

// whole is how many of the capture's steps no file that ends early lacks. One
// that has hardly any is as good as missing, and does not count.
func (d *domain) whole(steps int) int {
	for _, r := range d.ranks {
		if r.cut > 0 && len(r.steps) >= hardlyAny {
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
		return
	}
	for n := range shortest {
		m := match{op: k.op, key: k.group, step: k.step}
		for _, i := range members {
			r := d.ranks[i]
			at := seqs[i][k][n]
			o := &r.ops[at]
			m.at = append(m.at, part{rank: int32(i), op: at, start: r.wall(o.start), end: r.wall(o.end)})
			m.inGraph = m.inGraph || r.inGraph(o)
		}
		if shortest != longest && !m.possible() {
			return
		}
		for _, p := range m.at {
			d.ranks[p.rank].match[p.op] = int32(len(d.matches))
		}
		m.close()
		d.matches = append(d.matches, m)
	}
}

// possible checks what must hold for one collective: nobody ends before all
// have begun.
func (m *match) possible() bool {
	latest, earliest := m.at[0].start, m.at[0].end
	for _, p := range m.at {
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
			r := d.ranks[p.rank]
			r.match[p.op] = int32(i)
			if m.possible() {
				r.wait[p.op] = p.wait
			}
		}
	}
}

// opOf is the op of a rank in a match, -1 if it is no member.
func (m *match) opOf(rank int32) int32 {
	for _, p := range m.at {
		if p.rank == rank {
			return p.op
		}
	}
	return -1
}

// members names the ranks of a collective.
func (m *match) members() string {
	var b strings.Builder
	for _, p := range m.at {
		fmt.Fprintf(&b, "%d,", p.rank)
	}
	return b.String()
}

func abs(x int64) int64 { return max(x, -x) }
