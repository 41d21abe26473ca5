// Package match relates the ranks of a window to each other: which ranks share collectives, which kernels belong to one
// collective, which steps correspond, and how much the clocks differ.
package match

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/tracefile/clock"
)

// Aligned holds the ranks of one window, related to each other: with a common clock, a common numbering of steps, and
// the collectives that ranks share.
type Aligned struct {
	Ranks   []*Rank
	Domains []*Domain
	Names   *prep.Names
	Marks   *prep.Markers // layer-wise markers; nil: none
	numbering
	Origin int64 // start of the capture, ns since the epoch on the common clock
	Span   int64 // length of the capture
	// Recorded is the length of the recorded part of Span. It is set for windows split by stage, which have unrecorded
	// time between the stages. 0: all of Span.
	Recorded int64
	Clocks   fact.Fact // agreement of the ranks' clocks, as far as known
	Within   int64     // largest remaining error of a clock, ns; 0: ranks share a clock, or nothing is known
	Broken   int       // number of collectives with contradictory times
	// HostOnly means that no GPU work was recorded, so steps and layers are measured in host time.
	HostOnly bool
}

// Rank is a prepared rank, related to the other ranks of the window.
type Rank struct {
	*prep.Rank
	First int         // index of Steps[0] in the capture's numbering
	Shift clock.Shift // shift of this rank's clock with which it agrees with the other clocks
	Clock ClockBound  // bounds on the clock's remaining error
	Match []int32     // per op: index in the domain's Matches of its collective; -1: none
	Wait  []int64     // per op of a collective: wait until the last rank arrived, ns
	// Edge holds, by op, the time of collectives in which another rank was not recorded, in ns. See markEdges.
	Edge map[int32]int64
	// hostWaits are the waits of the launching thread for the hosts of other ranks, in order and disjoint.
	hostWaits []prep.Interval
}

// Wall converts a time of the rank's clock to the common clock.
func (r *Rank) Wall(at int64) int64 { return at + r.Shift.At(at) }

// Align finds the collectives that ranks share, gives each step the same number on all ranks, and determines the
// differences between clocks.
func Align(ranks []*prep.Rank, n *prep.Names, marks *prep.Markers) *Aligned {
	a := &Aligned{Names: n, Marks: marks, HostOnly: true}
	for _, r := range ranks {
		a.Ranks = append(a.Ranks, &Rank{Rank: r, Match: make([]int32, len(r.Ops)), Wait: make([]int64, len(r.Ops))})
		a.HostOnly = a.HostOnly && len(r.Ops) == 0
	}
	findLostOps(a.Ranks)
	var all []*Domain
	for _, d := range domains(a.Ranks) {
		d.pair()
		parts := d.parts()
		if len(parts) > 1 {
			for _, p := range parts {
				p.pair()
			}
		} else {
			parts = []*Domain{d}
		}
		all = append(all, parts...)
	}
	a.Domains = apart(all)
	together(a.Domains)
	a.agree()
	a.numbering = number(a.Ranks)
	a.Origin, a.Span = extent(a.Ranks)
	a.Recorded = a.recorded()
	return a
}

// agree aligns the clocks of hosts if collectives show that the clocks differ, and describes the result.
func (a *Aligned) agree() {
	matched, shifted, one, assumed, several, forbidden := 0, false, true, false, false, false
	for _, d := range a.Domains {
		if n := d.Impossible(); n > 0 && d.alignClocks() {
			d.find()
			if d.Impossible() < n {
				shifted = true
			} else {
				d.leaveClocks()
			}
		}
		if d.steadyShifts() {
			shifted = true
			d.find()
		}
		d.readClocks()
		mendable, none := d.contradictions()
		if mendable && d.mendClocks() {
			shifted = true
		}
		d.forget()
		forbidden = forbidden || none
		d.reindex()
		d.pairOutside()
		d.markEdges()
		d.matchHosts()
		matched += len(d.Matches)
		a.Broken += d.Impossible()
		one = one && len(d.watches) == 1
		several = several || d.severalHosts
		for _, r := range d.Ranks {
			a.Within = max(a.Within, r.Clock.Within())
			assumed = assumed || r.Clock.Assumed
		}
	}
	var others, still, never, taken fact.Fact
	if a.Within > 0 {
		others = fact.Of("clocks_others", "ns", a.Within)
	}
	if forbidden {
		never = fact.Of("clocks_never")
	}
	if a.Broken > 0 {
		still = fact.Of("clocks_still", "broken", a.Broken, "never", never)
	}
	switch {
	case assumed:
		taken = fact.Of("clocks_assumed")
	case several:
		taken = fact.Of("clocks_several")
	}
	switch {
	case matched == 0:
		a.Clocks = fact.Of("clocks_none")
	case shifted:
		a.Clocks = fact.Of("clocks_aligned", "matched", matched, "within", a.Within, "still", still)
	case a.Broken > 0:
		a.Clocks = fact.Of("clocks_contradict", "matched", matched, "broken", a.Broken, "others", others, "never", never)
	case one:
		a.Clocks = fact.Of("clocks_one", "matched", matched)
	default:
		a.Clocks = fact.Of("clocks_agree", "matched", matched, "within", a.Within, "assumed", taken)
	}
}

// apartLeast is a distance between the windows of two ranks, in ns. The windows of one capture are never so far apart,
// since the ranks of a capture step together.
const apartLeast = 1e9

// Apart names a rank with a window that does not overlap the window of another rank of its group, or returns "". Before
// the comparison, clocks are aligned as well as collectives allow.
func (a *Aligned) Apart() string {
	for _, d := range domains(a.Ranks) {
		var ref *Rank
		var start, end int64
		for _, r := range d.Ranks {
			if ref != nil && r.Source.Rank.PP != ref.Source.Rank.PP {
				continue // pipeline stages share only sends, which cannot align clocks
			}
			if r.Source.Rank.TP < 0 && !r.Source.World.Known || len(r.Ops)+len(r.Steps) == 0 {
				continue // nothing shows that the rank belongs to the other ranks
			}
			first, length := extent([]*Rank{r})
			if ref == nil {
				ref, start, end = r, first, first+length
				continue
			}
			if gap := max(first-end, start-first-length); gap > apartLeast {
				return fmt.Sprintf("%s was recorded %.0f s apart from %s, and their collectives do not match", r.Label, float64(gap)/1e9, ref.Label)
			}
		}
	}
	return ""
}

// extent returns the start and length of the capture on the common clock.
func extent(ranks []*Rank) (start, length int64) {
	first, last := int64(1<<63-1), int64(-1<<63)
	add := func(r *Rank, start, end int64) {
		first, last = min(first, r.Wall(start)), max(last, r.Wall(end))
	}
	for _, r := range ranks {
		for i := range r.Ops {
			add(r, r.Ops[i].Start, r.Ops[i].End)
		}
		for i := range r.Steps {
			add(r, r.Steps[i].Start, r.Steps[i].End)
		}
	}
	return first, last - first
}

// domains divides ranks into domains. Ranks of a recorded process group of more than one rank are in one domain.
// Without recorded groups, the ranks of one tensor-parallel group, according to their names, are in one domain.
func domains(ranks []*Rank) []*Domain {
	of := newSets(len(ranks))
	owner := map[string]int{}
	join := func(key string, i int) {
		if j, ok := owner[key]; ok {
			of.join(i, j)
		} else {
			owner[key] = i
		}
	}
	for i, r := range ranks {
		src := &r.Source
		at := src.Rank
		if at.TP >= 0 {
			join(fmt.Sprintf("tp of dp%d pp%d %s", at.DP, at.PP, src.Stage), i)
		} else {
			join("unnamed "+src.Stage, i)
		}
		for j := range r.Colls {
			// Independent jobs all name their group "[0, 1]". The size of the job shows whether equal names mean the
			// same group.
			if c := &r.Colls[j]; c.Size > 1 && (src.World.Size >= len(ranks) || at.DP < 0) {
				join(src.Stage+"|"+c.Ranks, i)
			}
		}
	}
	for i, r := range ranks {
		if key := oneWorld(ranks, r); key != "" {
			join(key, i)
		}
	}
	return grouped(ranks, func(i int) int { return of[i] })
}

// sets holds the set to which each rank belongs.
type sets []int

func newSets(n int) sets {
	s := make(sets, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// join merges the sets of i and j.
func (s sets) join(i, j int) {
	from, to := s[i], s[j]
	if from == to {
		return
	}
	for k := range s {
		if s[k] == from {
			s[k] = to
		}
	}
}

// grouped returns one domain per key, with the ranks that have this key.
func grouped(ranks []*Rank, key func(i int) int) (out []*Domain) {
	by := map[int]*Domain{}
	for i, r := range ranks {
		d := by[key(i)]
		if d == nil {
			d = &Domain{}
			by[key(i)] = d
			out = append(out, d)
		}
		d.Ranks = append(d.Ranks, r)
	}
	return out
}

// oneWorld returns a key that the ranks of r's stage have in common, if these are different ranks of one process group.
// With data-parallel attention, ranks of several DP coordinates run collectives together. Replayed graphs do not record
// which ranks take part. If replicas are separate jobs, however, the same rank numbers occur several times.
func oneWorld(ranks []*Rank, r *Rank) string {
	me := &r.Source
	if !me.World.Known || me.World.Rank < 0 || me.Rank.DP < 0 {
		return ""
	}
	seen := map[int]bool{}
	for _, o := range ranks {
		at := &o.Source
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

// parts divides a domain into ranks that actually share collectives.
func (d *Domain) parts() []*Domain {
	of := newSets(len(d.Ranks))
	for i := range d.Matches {
		at := d.Matches[i].At
		for _, p := range at[1:] {
			of.join(int(p.Rank), int(at[0].Rank))
		}
	}
	return grouped(d.Ranks, func(i int) int { return of[i] })
}

// apart divides domains with collectives that are mostly impossible for any offset of the clocks. The DP coordinates of
// such a domain are replicas that share no collectives, although they are in one process group.
func apart(domains []*Domain) (out []*Domain) {
	for _, d := range domains {
		parts := grouped(d.Ranks, func(i int) int { return d.Ranks[i].Source.Rank.DP })
		if len(parts) == 1 || 2*d.Impossible() <= len(d.Matches) || len(d.Matches) == 0 {
			out = append(out, d)
			continue
		}
		better := 0
		for _, p := range parts {
			p.pair()
			better += len(p.Matches) - p.Impossible()
		}
		if better == 0 {
			d.pair()
			parts = []*Domain{d}
		}
		out = append(out, parts...)
	}
	return out
}

// pair gives each step the same number on all ranks of the domain, and finds the collectives of the domain.
func (d *Domain) pair() {
	d.divided = map[string]bool{}
	d.alignSteps()
	d.divide()
	d.find()
	if d.redivide() {
		d.find()
	}
}

// Impossible returns the number of matches with times that are impossible on the aligned clocks.
func (d *Domain) Impossible() int {
	n := 0
	for i := range d.Matches {
		if !d.Matches[i].Possible() {
			n++
		}
	}
	return n
}

// A clock difference of more than strange (ns) is believed only if, for most collectives, the ends give the same
// difference to within strangeEnds (ns).
const (
	strange     = 1e9
	strangeEnds = 1e6
)

// leaveClocks removes the shifts of the clocks.
func (d *Domain) leaveClocks() {
	for _, r := range d.Ranks {
		r.Shift = clock.Shift{}
	}
	d.find()
}

// alignClocks shifts ranks whose clocks disagree by more than the uncertainty of the shift.
func (d *Domain) alignClocks() bool {
	_, of := d.sequences()
	in := make([]clock.Rank, len(d.Ranks))
	for i, r := range d.Ranks {
		in[i].Host, in[i].RTT = r.Source.Host, r.Source.World.RTT
		for j := range r.Ops {
			o := &r.Ops[j]
			if o.Comm() && of[i][o.Coll] >= 0 {
				in[i].Events = append(in[i].Events, clock.Event{Start: o.Start, End: o.End, Key: uint64(of[i][o.Coll] + 1)})
			}
		}
	}
	moved := false
	for i, res := range clock.Align(in) {
		// Long collectives of another capture can fit these collectives by coincidence.
		if abs(res.Offset) > strange && (res.Spread > strangeEnds || 2*res.N < len(in[i].Events)) {
			continue
		}
		if (abs(res.Offset) > 1000 && res.Significant() || res.Drift != 0) && res.Err == nil {
			d.Ranks[i].Shift = res.Shift
			moved = true
		}
	}
	return moved
}
