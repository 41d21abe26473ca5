package match

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/tracefile/clock"
	"github.com/stepscope/stepscope/trace"
)

// Domain is a set of ranks that share collectives, so that one rank can make the others wait. Data-parallel replicas
// without common collectives are separate domains and are never compared with each other.
type Domain struct {
	Ranks   []*Rank
	Matches []Match     // collectives in steps, ordered by the time of the last arrival
	Outside []Match     // collectives outside of steps; see pairOutside
	Hosts   []HostMatch // host collectives, ordered by time
	// divided holds the operations without recorded arguments that the ranks of each DP coordinate run among
	// themselves; see divide.
	divided map[string]bool

	// The fields below describe the clocks of the ranks; see readClocks.
	watches []watch
	watchOf []int // index in watches of each rank's clock
	bounds  map[[2]int]*clock.Bounds
	// severalHosts means that files without a host name are not assumed to come from one host.
	severalHosts bool
}

// Match is one collective, with the kernel of each rank of the group.
type Match struct {
	Op      string
	group   string // "": not recorded
	Step    int    // in the capture's numbering
	At      []Part
	InGraph bool
	First   bool  // first collective of the group in a stretch, in which skew comes from the start of the profilers
	Last    int64 // time of the latest arrival
}

// Part is one rank's kernel of a collective, on the aligned clock.
type Part struct {
	Rank       int32 // index in Domain.Ranks
	Op         int32 // index in Rank.Ops
	Start, End int64
	Wait       int64 // part of the kernel's time before the last rank arrived, without Edge, ns
	Edge       int64 // part of the kernel's time in which another rank was not yet recorded; see markEdges
}

// inStep identifies a sequence in one step.
type inStep struct {
	step     int // in the capture's numbering
	sequence int32
}

// find matches the collectives of all ranks by step, group and operation, and within these by order. It needs no
// recorded arguments, so it also works for kernels replayed in graphs.
func (d *Domain) find() {
	d.Matches = nil
	for _, r := range d.Ranks {
		for i := range r.Match {
			r.Match[i] = -1
		}
	}
	if len(d.Ranks) < 2 {
		return
	}
	list, of := d.sequences()
	ops := make([]map[inStep][]int32, len(d.Ranks))
	all := map[inStep]bool{}
	for i, r := range d.Ranks {
		ops[i] = map[inStep][]int32{}
		for j := range r.Ops {
			o := &r.Ops[j]
			if !o.Comm() || o.Step < 0 || of[i][o.Coll] < 0 {
				continue
			}
			k := inStep{int(o.Step) + r.First, of[i][o.Coll]}
			ops[i][k] = append(ops[i][k], int32(j))
			all[k] = true
		}
	}
	for _, k := range sorts.Sorted(maps.Keys(all), func(a, b inStep) int {
		return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.sequence, b.sequence))
	}) {
		d.matchSequence(k, list[k.sequence], ops)
	}
	sorts.Stable(d.Matches, func(a, b Match) int { return cmp.Compare(a.Last, b.Last) })
}

// HardlyAny is the number of steps below which a truncated file counts as a file without steps.
const HardlyAny = 2

// Common returns the range [first, end) of the steps that all ranks have in full. In other steps, it is unknown for
// which rank the others waited. A rank counts as missing if it has hardly any steps because its file is truncated, or
// if it has no recognisable steps although other ranks have them.
func (d *Domain) Common() (first, end int) {
	end = -1
	named := slices.ContainsFunc(d.Ranks, func(r *Rank) bool { return r.Rule != trace.Uncut })
	for _, r := range d.Ranks {
		if len(r.Steps) == 0 || len(r.Cut) > 0 && len(r.Steps) < HardlyAny || r.Rule == trace.Uncut && named {
			continue
		}
		first = max(first, r.First)
		if last := r.First + len(r.Steps); end < 0 || last < end {
			end = last
		}
	}
	return first, max(first, end)
}

// Lacks reports whether the recording lost GPU work of the rank in the step, so that the rank cannot be compared in it.
func (r *Rank) Lacks(step int) bool {
	i := step - r.First
	return i >= 0 && i < len(r.Steps) && r.Steps[i].Unmeasured() && len(r.Ops) > 0
}

// Lacking returns the number of ranks that cannot be compared in the step.
func (d *Domain) Lacking(step int) (n int) {
	for _, r := range d.Ranks {
		if r.Lacks(step) {
			n++
		}
	}
	return n
}

// Whole reports whether a step is complete: in each domain, either all ranks have it in full or none has it. Ranks with
// truncated files count as well.
func (a *Aligned) Whole(step int) bool {
	return a.Made(step) && !slices.ContainsFunc(a.Domains, func(d *Domain) bool { return d.Lacking(step) > 0 })
}

// Made is Whole, but also for steps of which the recording lost GPU work.
func (a *Aligned) Made(step int) bool {
	for _, d := range a.Domains {
		first, end := d.Common()
		if end == 0 || len(d.Ranks) == 1 && len(d.Ranks[0].Cut) == 0 || step >= first && step < end {
			continue
		}
		if len(d.Ranks[0].Cut) > 0 || slices.ContainsFunc(d.Ranks, func(r *Rank) bool { return step >= r.First && step < r.First+len(r.Steps) }) {
			return false
		}
	}
	return true
}

// matchSequence pairs the n-th kernels of one sequence on all ranks that have the sequence. If the numbers of kernels
// differ, it pairs kernels from the beginning until the first pair with impossible times. It leaves out ranks that lost
// work of the step.
func (d *Domain) matchSequence(k inStep, s sequence, ops []map[inStep][]int32) {
	var members []int
	shortest, longest := -1, 0
	for i := range d.Ranks {
		if n := len(ops[i][k]); n > 0 && !d.Ranks[i].Lacks(k.step) {
			members = append(members, i)
			if shortest < 0 || n < shortest {
				shortest = n
			}
			longest = max(longest, n)
		}
	}
	if first, end := d.Common(); len(members) < 2 || k.step < first || k.step >= end {
		return
	}
	for n := range shortest {
		m := Match{Op: s.op, group: s.group, Step: k.step}
		for _, i := range members {
			r := d.Ranks[i]
			at := ops[i][k][n]
			o := &r.Ops[at]
			m.At = append(m.At, Part{Rank: int32(i), Op: at, Start: r.Wall(o.Start), End: r.Wall(o.End)})
			m.InGraph = m.InGraph || r.InGraph(o)
		}
		if shortest != longest && !m.Possible() {
			return
		}
		for _, p := range m.At {
			d.Ranks[p.Rank].Match[p.Op] = int32(len(d.Matches))
		}
		m.close()
		d.Matches = append(d.Matches, m)
	}
}

// Possible reports whether the times are consistent: no rank ends the collective before all ranks have begun it.
func (m *Match) Possible() bool {
	latest, earliest := m.At[0].Start, m.At[0].End
	for _, p := range m.At {
		latest, earliest = max(latest, p.Start), min(earliest, p.End)
	}
	return earliest >= latest
}

// close computes Last and the waits. The wait of a rank is the part of its kernel before the last rank arrived.
func (m *Match) close() {
	m.Last = m.At[0].Start
	for _, p := range m.At {
		m.Last = max(m.Last, p.Start)
	}
	for i := range m.At {
		p := &m.At[i]
		p.Wait = min(max(m.Last-p.Start, 0), p.End-p.Start)
	}
}

// reindex sets Match and Wait of the ranks' ops, when the order of matches is final. It also marks the first match of
// every group in a stretch. The skew in that match proves nothing, since the profilers start at different moments.
func (d *Domain) reindex() {
	seen := map[string]bool{}
	for i := range d.Matches {
		m := &d.Matches[i]
		r := d.Ranks[m.At[0].Rank]
		members := fmt.Sprint(m.members(), r.Stretch(r.Ops[m.At[0].Op].Start))
		m.First = !seen[members]
		seen[members] = true
		for _, p := range m.At {
			r := d.Ranks[p.Rank]
			r.Match[p.Op] = int32(i)
			if m.Possible() {
				r.Wait[p.Op] = p.Wait
			}
		}
	}
}

// OpOf returns the op of a rank in a match, or -1 if the rank does not take part.
func (m *Match) OpOf(rank int32) int32 {
	for _, p := range m.At {
		if p.Rank == rank {
			return p.Op
		}
	}
	return -1
}

// members returns a text that identifies the ranks of a collective.
func (m *Match) members() string {
	var b strings.Builder
	for _, p := range m.At {
		fmt.Fprintf(&b, "%d,", p.Rank)
	}
	return b.String()
}

func abs(x int64) int64 { return max(x, -x) }
