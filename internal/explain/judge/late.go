// Package judge derives the findings of a capture: late ranks, each with cause and first step, and other problems.
package judge

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// This file finds the ranks that are late at collectives, and the causes.
//
// All ranks leave a collective together. The approach of a rank is its activity between leaving one collective and
// arriving at the next. The approach of a late rank can therefore be compared with that of the rank with the median
// arrival, without comparing clocks:
//
//	approach = own work + idle before ops that the host launched late
//	                    + idle before ops that were launched in time
//
// The three terms are summed per kernel (name and grid). The excess of the late rank over the other rank is divided by
// cause:
//
//	work           ops the other rank does not have, or has with smaller grids
//	device         the same ops taking longer, or starting late though launched,
//	               and generated kernels with other grids for the same work
//	host           idle before ops that were launched late, and idle of a software
//	               device that no core of its host ran
//	communication  leaving the previous collective later than the other rank
//	unknown        idle before ops whose launch was not recorded
//
// A host may be late because it has more to launch, in which case the cause is work. While the other ranks wait for the
// late rank, their hosts run ahead, so the idle time of their devices does not measure the speed of their hosts. The
// host time from launch to launch does (extrawork.go), so the idle time is divided between work and host in proportion
// to the excess of that time.
//
// The cost of a lateness is the average wait of the other ranks.

// Causes, in the order of the arrays below.
const (
	byWork = iota
	byDevice
	byHost
	byComm
	byUnknown
	numCauses
)

var causeNames = [numCauses]string{result.CauseWork, result.CauseDevice, result.CauseHost, result.CauseCommunication, result.CauseUnknown}

// tie is the difference between arrivals, in ns, below which no rank is blamed. The ends of one collective differ by
// this much between ranks.
const tie = 2000

// noExtraWork is the share of a peer's compute below which a rank has no extra work in a step.
const noExtraWork = 0.005

// lateness describes the lateness of one rank in one step, and its cost to the other ranks.
type lateness struct {
	cost    int64            // average wait of the other ranks for this rank, ns
	doubt   int64            // further apparent wait that may be clock error, ns
	excess  [numCauses]int64 // ns by which the rank is behind, by cause; may be negative
	last    int              // number of collectives at which the rank arrived last
	of      int              // number of collectives of the step in which the rank took part
	extra   map[int32]extra  // excess per kernel key
	idle    int64            // excess of idle time due to the host, not yet divided
	queued  int64            // excess of idle time before ops launched in time, part of excess[byDevice]
	untold  int64            // excess of idle time before ops with unrecorded launches, not yet divided
	refs    map[int32]int    // per rank, how often that rank was the reference
	starved int64            // excess of time in which a software device had no core, part of excess[byHost]
	// host is the excess of host time per kernel key, for launches that both ranks have.
	host map[int32]int64
	// configured holds the names of generated kernels whose grids differ between ranks although the work is the same.
	configured map[int32]bool
}

type extra struct {
	count int64
	ns    int64 // excess due to work
	slow  int64 // excess due to the device: the same ops took longer
	late  int64 // excess due to the device: ops started late although launched in time
	// untold is the excess with unknown cause: ops started late, and their launches were not recorded.
	untold int64
}

// split divides the cost among the causes in proportion to the positive excesses.
func (l *lateness) split() (c [numCauses]int64) {
	var sum int64
	for _, x := range l.excess {
		sum += max(x, 0)
	}
	if sum == 0 {
		return c
	}
	// If the excesses explain less than half of the cost, do not attribute the unexplained cost to the excesses, since
	// lateness can be carried over from earlier steps.
	sum = max(sum, l.cost/2)
	for i, x := range l.excess {
		c[i] = int64(float64(l.cost) * float64(max(x, 0)) / float64(sum))
	}
	return c
}

// Domain is a domain with the costs that its ranks cause each other.
type Domain struct {
	*match.Domain
	late [][]lateness  // [rank][step]
	work [][]*approach // own work, [rank][step]; nil: no work in the step
	more [][]float64   // [rank][step]: excess of own work over a typical peer's, as a share of the peer's work
	// other holds, [rank][step], the excess of generated kernels in a slower configuration, as such a share.
	other [][]float64
	// early holds, for each step in which most ranks are late together, the ranks that wait.
	early map[int][]int32
	// hostTimes holds, [rank][step], the time from the start of a step to the start of the next, less waits of the host.
	hostTimes [][]int64
}

// Blame finds the late ranks at every collective and adds up their costs, domain by domain.
func Blame(a *match.Aligned) (out []*Domain) {
	generated := make([]bool, len(a.Names.List))
	for name, text := range a.Names.List {
		generated[name] = kernel.Generated(text)
	}
	for _, d := range a.Domains {
		j, ofData := &Domain{Domain: d}, dependent(d, a.Names)
		for _, r := range d.Ranks {
			j.late = append(j.late, make([]lateness, a.Steps))
			j.work = append(j.work, workBySteps(r, a.Steps))
			j.hostTimes = append(j.hostTimes, hostTimes(r))
		}
		for n := range a.Steps {
			of := j.configured(n, a.Names, generated)
			for i := range d.Ranks {
				j.late[i][n].configured = of
			}
		}
		j.early = j.earlySteps()
		j.blameRanks()
		peers := make([][]int, a.Steps)
		for n := range peers {
			peers[n] = j.byWork(n)
		}
		for i := range d.Ranks {
			more, other := make([]float64, a.Steps), make([]float64, a.Steps)
			divideUntold(j.late[i])
			for n := range a.Steps {
				own := j.extraWork(a.Names, peers[n], i, n)
				more[n], other[n] = own.share, own.other
				l := &j.late[i][n]
				j.divideIdle(int32(i), n, l)
				// If streams overlap, an op may be between different collectives than on the peer. Over the whole step,
				// such ops cancel out: if the step shows no extra work, there was none.
				if own.share < noExtraWork {
					l.excess[byWork] = 0
				}
				l.settle(&own, ofData, a.Names)
			}
			j.more, j.other = append(j.more, more), append(j.other, other)
		}
		out = append(out, j)
	}
	return out
}

// blameRanks blames the late ranks of each collective. The first collectives of a group are ignored: they may have
// begun before the window and prove nothing.
func (d *Domain) blameRanks() {
	prev := make([]int32, len(d.Ranks)) // last match of each rank before the current one
	for i := range prev {
		prev[i] = -1
	}
	var mine, theirs approach
	for mi := range d.Matches {
		m := &d.Matches[mi]
		for _, p := range m.At {
			d.late[p.Rank][m.Step].of++
		}
		if !m.First && m.Possible() {
			ref := inTime(m, d.early[m.Step])
			if behind := m.Last - ref.Start; behind >= tie {
				wait := d.meanWait(m, behind/4, len(d.early[m.Step]))
				// Ranks that arrive about when the last rank arrives share the blame.
				for i := range m.At {
					p := &m.At[i]
					if m.Last-p.Start > behind/4 {
						continue
					}
					l := &d.late[p.Rank][m.Step]
					l.last++
					from := d.common(ref.Rank, p.Rank, prev)
					// A rank that waited in other collectives in between is late partly because of the ranks for which
					// it waited. It is not to blame for that part.
					waited := d.waited(p.Rank, from, mi) - d.waited(ref.Rank, from, mi)
					own := p.Start - ref.Start
					all := own - min(max(waited, 0), own)
					doubt := d.doubt(from, p, ref)
					share := float64(wait) / float64(own)
					l.cost += int64(share * float64(max(all-doubt, 0)))
					l.doubt += int64(share * float64(min(all, doubt)))
					d.compare(from, p, ref, doubt, &mine, &theirs, l)
				}
			}
		}
		for _, p := range m.At {
			prev[p.Rank] = int32(mi)
		}
	}
}

// inTime returns the part of a collective with which late ranks are compared. This is the part with the median arrival.
// If most ranks are late, it is the part with the median arrival among the early ranks.
func inTime(m *match.Match, early []int32) *match.Part {
	var order []*match.Part
	for i := range m.At {
		if p := &m.At[i]; early == nil || slices.Contains(early, p.Rank) {
			order = append(order, p)
		}
	}
	if len(order) == 0 {
		return inTime(m, nil)
	}
	sorts.Stable(order, func(a, b *match.Part) int { return cmp.Compare(a.Start, b.Start) })
	return order[(len(order)-1)/2]
}

// otherSlow limits the excess of kernels whose time does not depend on data, as a share of their time. Up to this
// limit, these kernels do not indicate a slow device.
const otherSlow = 0.02

// fewOthers is a share of the excess of data-dependent kernels. If the slowness of the other kernels accounts for no
// more than this share, the data explain the excess.
const fewOthers = 0.1

// settle corrects the excess of slow kernels by comparing whole kernels over the whole step. The correction is needed
// because an approach counts only the part of an op that follows an overlapping collective. If only data-dependent
// kernels are slower, or if they are far slower than the other kernels, they have more work. Otherwise, if contexts are
// known, attention has as much more work as the contexts explain.
func (l *lateness) settle(own *ownExcess, ofData []bool, n *prep.Names) {
	var near, whole, others, otherTime, more, dataTime int64
	share := map[int32]float64{} // share of the excess due to data, by key
	for _, e := range l.extra {
		near += e.slow
	}
	for key, ns := range own.slow {
		if whole += ns; ofData[key] {
			more += ns
		} else {
			others += ns
		}
	}
	for key, ns := range own.peer {
		if ofData[key] {
			dataTime += ns
		} else {
			otherTime += ns
		}
	}
	device := 1.0 // time of the other kernels relative to the peer
	if float64(max(others, 0)) > otherSlow*float64(otherTime) {
		device += float64(others) / float64(max(otherTime, 1))
	}
	mostly := (device-1)*float64(dataTime) <= fewOthers*float64(more)
	var moved int64
	for key, ns := range own.slow {
		most, attends := 0.0, isAttention(n.Class[n.Keys[key].Name])
		switch {
		case !ofData[key] || otherTime == 0:
			continue
		case mostly && (device == 1 || !attends || own.grown > 0):
		case attends && own.grown > 0:
			most = own.grown
		default:
			continue
		}
		if device > 1 {
			ns = byData(ns, own.peer[key], most, device)
		}
		share[key] = float64(ns) / float64(own.slow[key])
		moved += ns
	}
	if over := near - max(whole, 0); over > 0 && near > 0 && own.told {
		l.excess[byDevice] -= over
		near -= over
	}
	if moved = min(moved, near); moved <= 0 {
		return
	}
	l.excess[byDevice] -= moved
	l.excess[byWork] += moved
	for key, e := range l.extra {
		if share := share[key]; share > 0 && e.slow > 0 {
			ns := int64(share * float64(e.slow))
			e.ns, e.slow = e.ns+ns, e.slow-ns
			l.extra[key] = e
		}
	}
}

// meanWait returns the average wait of the domain's other ranks in a collective, in ns. Late ranks, and ranks that do
// not take part, count as not waiting. Ranks that lost work of the step do not count. If most ranks are late, the
// average is over the early ranks.
func (d *Domain) meanWait(m *match.Match, near int64, early int) int64 {
	var sum int64
	for _, p := range m.At {
		if w := m.Last - p.Start; w > near {
			sum += w
		}
	}
	if early == 0 {
		early = max(len(d.Ranks)-d.Lacking(m.Step)-1, 1)
	}
	return sum / int64(early)
}

// common returns the last previous collective in which two ranks took part, or -1.
func (d *Domain) common(a, b int32, prev []int32) int32 {
	from := min(prev[a], prev[b])
	for from >= 0 && (d.Matches[from].OpOf(a) < 0 || d.Matches[from].OpOf(b) < 0) {
		from--
	}
	return from
}

// waited returns how long a rank waited in the collectives between from and to, in ns.
func (d *Domain) waited(rank, from int32, to int) (sum int64) {
	for i := int(from) + 1; from >= 0 && i < to; i++ {
		m := &d.Matches[i]
		for _, p := range m.At {
			if p.Rank == rank && m.Possible() {
				sum += p.Wait
			}
		}
	}
	return sum
}

// leaves returns how much later the rank of p left the collective from than the rank of q, according to their clocks.
func (d *Domain) leaves(from int32, p, q *match.Part) int64 {
	m := &d.Matches[from]
	a, b := d.Ranks[p.Rank], d.Ranks[q.Rank]
	return a.Wall(a.Ops[m.OpOf(p.Rank)].End) - b.Wall(b.Ops[m.OpOf(q.Rank)].End)
}

// doubt returns how much of the lateness of p relative to q may be clock error. This is the part that depends on
// comparing two clocks, up to the largest clock error that collectives allow.
func (d *Domain) doubt(from int32, p, q *match.Part) int64 {
	byClocks := p.Start - q.Start
	if from >= 0 {
		byClocks = d.leaves(from, p, q)
	}
	return min(max(byClocks, 0), d.Doubt(p.Rank, q.Rank, p.Start))
}

// compare adds to l the difference between the approach of a late rank and that of the reference rank. Both approaches
// begin at from, the last collective that both ranks have in common. The doubtful part of the lateness does not count.
func (d *Domain) compare(from int32, p, q *match.Part, doubt int64, mine, theirs *approach, l *lateness) {
	fp, fq := int32(-1), int32(-1)
	if from >= 0 {
		fp, fq = d.Matches[from].OpOf(p.Rank), d.Matches[from].OpOf(q.Rank)
	}
	a, b := d.Ranks[p.Rank], d.Ranks[q.Rank]
	mine.walk(a, fp, p.Op)
	theirs.walk(b, fq, q.Op)
	if l.extra == nil {
		l.extra, l.refs = map[int32]extra{}, map[int32]int{}
	}
	l.refs[q.Rank]++
	mine.against(theirs, l)
	if from >= 0 {
		l.excess[byComm] += d.leaves(from, p, q) - doubt
	}
}
