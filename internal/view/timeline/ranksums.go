package timeline

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/kernel"
)

// RankSum divides an interval on one rank. The parts sum up to the length of the interval. If kinds of work overlap, the
// time counts only as the first of them in the order of the fields, as in result.Time.
type RankSum struct {
	Rank     int   `json:"rank"`
	Device   bool  `json:"device"` // the rows include GPU streams; if not, Compute is the time of the threads' spans
	Compute  int64 `json:"compute_ns"`
	Wait     int64 `json:"wait_ns"`     // in collectives, before the last rank arrived
	Transfer int64 `json:"transfer_ns"` // in collectives, afterwards
	Copy     int64 `json:"copy_ns"`
	Idle     int64 `json:"idle_ns"`
	// Longest is the longest span on the rows, of the GPU if there is any; nil: there are no spans.
	Longest *Link `json:"longest"`
}

// Classes of GPU work that is not computation.
var (
	classComm = uint8(classGroups + slices.Index(kernel.Groups(), kernel.GroupCommunication))
	classCopy = uint8(classGroups + slices.Index(kernel.Groups(), kernel.GroupCopy))
)

// RankSums divides an interval on each rank that has any of the given rows. of returns the interval in the rank's time.
func (t *Timeline) RankSums(rows []int, of func(rank int) Interval) []RankSum {
	byRank := map[int][]int{}
	for _, at := range rows {
		byRank[t.rows[at].Rank] = append(byRank[t.rows[at].Rank], at)
	}
	out := []RankSum{}
	for rank := range t.ranks {
		if own := byRank[rank]; own != nil {
			out = append(out, t.rankSum(rank, own, of(rank)))
		}
	}
	return out
}

func (t *Timeline) rankSum(rank int, rows []int, in Interval) RankSum {
	onGPU := func(at int) bool { return t.rows[at].onGPU() }
	s := RankSum{Rank: rank, Device: slices.ContainsFunc(rows, onGPU)}
	var compute, waits, comm, all []Interval
	longest, dur := int32(-1), int64(-1)
	for _, at := range rows {
		if s.Device && !onGPU(at) {
			continue
		}
		row := &t.rows[at]
		for _, l := range t.lanes[row.Lane : row.Lane+row.Lanes] {
			i, j := l.overlapping(in.From, in.To)
			if best := l.longestOf(i, j); best.dur > dur {
				longest, dur = l.span[best.span], best.dur
			}
			for ; i < j; i++ {
				x := Interval{max(l.start[i], in.From), min(l.end[i], in.To)}
				all = append(all, x)
				switch {
				case l.class[i] == classComm:
					comm = append(comm, x)
					if l.wait != nil && l.start[i]+l.wait[i] > x.From {
						waits = append(waits, Interval{x.From, min(l.start[i]+l.wait[i], x.To)})
					}
				case l.class[i] != classCopy || !s.Device:
					compute = append(compute, x)
				}
			}
		}
	}
	s.Compute = covered(compute)
	withWaits := covered(append(waits, compute...))
	withComm := covered(append(comm, compute...))
	busy := covered(all)
	s.Wait, s.Transfer, s.Copy, s.Idle = withWaits-s.Compute, withComm-withWaits, busy-withComm, in.To-in.From-busy
	if longest >= 0 {
		link := t.link(rank, longest)
		s.Longest = &link
	}
	return s
}

// onGPU reports whether a row holds work of a GPU stream.
func (r *Row) onGPU() bool {
	return r.Role == RoleCompute || r.Role == RoleComm || r.Role == RoleStream
}

// covered returns the length of the union of intervals, which it sorts.
func covered(of []Interval) (sum int64) {
	sorts.By(of, func(a, b Interval) int { return cmp.Compare(a.From, b.From) })
	end := int64(-farthest)
	for _, x := range of {
		if x.To > end {
			sum += x.To - max(x.From, end)
			end = x.To
		}
	}
	return sum
}
