package explain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/trace"
)

// keptPoints bounds the points of a memory timeline in a report.
const keptPoints = 300

// memory fills the allocator timelines, one per rank and device.
func (a *analyzer) memory() {
	type device struct {
		gpu bool
		id  int32
	}
	for _, r := range a.ranks {
		by := map[device][]trace.MemoryPoint{}
		for _, p := range r.t.Memory {
			d := device{p.GPU, p.Device}
			by[d] = append(by[d], p)
		}
		for d, points := range by {
			slices.SortStableFunc(points, func(x, y trace.MemoryPoint) int { return cmp.Compare(x.Time, y.Time) })
			s := MemorySeries{Rank: r.index, Device: "CPU"}
			if d.gpu {
				s.Device = fmt.Sprintf("GPU %d", d.id)
			}
			peak := points[0]
			for _, p := range points {
				if p.Allocated > peak.Allocated {
					peak = p
				}
				if p.Bytes > 0 {
					s.Allocs++
				}
			}
			s.Peak, s.PeakAt = peak.Allocated, r.wall(peak.Time)-a.origin
			s.PeakOp = r.opAt(peak.Time)
			for _, p := range thin(points) {
				s.Points = append(s.Points, MemoryPoint{At: r.wall(p.Time) - a.origin, Allocated: p.Allocated, Reserved: p.Reserved})
			}
			a.report.Memory = append(a.report.Memory, s)
		}
	}
	slices.SortFunc(a.report.Memory, func(x, y MemorySeries) int {
		return cmp.Or(cmp.Compare(x.Rank, y.Rank), cmp.Compare(x.Device, y.Device))
	})
}

// thin keeps the lowest and the highest point of each of many equal parts, so
// that no peak is lost.
func thin(p []trace.MemoryPoint) []trace.MemoryPoint {
	if len(p) <= keptPoints {
		return p
	}
	var out []trace.MemoryPoint
	const parts = keptPoints / 2
	for i := range parts {
		part := p[i*len(p)/parts : (i+1)*len(p)/parts]
		lo, hi := 0, 0
		for j := range part {
			if part[j].Allocated < part[lo].Allocated {
				lo = j
			}
			if part[j].Allocated > part[hi].Allocated {
				hi = j
			}
		}
		out = append(out, part[min(lo, hi)])
		if lo != hi {
			out = append(out, part[max(lo, hi)])
		}
	}
	return out
}

// opAt is the outermost CPU op that runs at a moment; ops inside are details
// of it.
func (r *rank) opAt(at int64) string {
	var best *trace.Span
	for i := range r.t.Spans {
		s := &r.t.Spans[i]
		if s.Cat == trace.CPUOp && s.Start <= at && at < s.End() && (best == nil || s.Dur > best.Dur) {
			best = s
		}
	}
	if best == nil {
		return ""
	}
	return r.t.Strings.Get(best.Name)
}
