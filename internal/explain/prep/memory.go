package prep

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// keptPoints limits the number of points of a memory timeline in a report.
const keptPoints = 300

// memoryOf returns the allocator's timeline of each device.
func memoryOf(t *trace.Trace) (out []result.MemorySeries) {
	by := map[string][]trace.MemoryPoint{}
	for _, p := range t.Memory {
		device := "CPU"
		if p.GPU {
			device = fmt.Sprintf("GPU %d", p.Device)
		}
		by[device] = append(by[device], p)
	}
	for _, device := range slices.Sorted(maps.Keys(by)) {
		points := by[device]
		sorts.Stable(points, func(x, y trace.MemoryPoint) int { return cmp.Compare(x.Time, y.Time) })
		s := result.MemorySeries{Device: device}
		peak := points[0]
		for _, p := range points {
			if p.Allocated > peak.Allocated {
				peak = p
			}
			if p.Bytes > 0 {
				s.Allocs++
			}
		}
		s.Peak, s.PeakAt, s.PeakOp = peak.Allocated, peak.Time, opAt(t, peak.Time)
		for _, p := range thin(points) {
			s.Points = append(s.Points, result.MemoryPoint{At: p.Time, Allocated: p.Allocated, Reserved: p.Reserved})
		}
		out = append(out, s)
	}
	return out
}

// thin divides the points into equal parts and keeps the lowest and the highest point of each part, so that no peak is
// lost.
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

// opAt returns the outermost CPU op that runs at a moment. opAt ignores the ops nested in that op.
func opAt(t *trace.Trace, at int64) string {
	var best *trace.Span
	for i := range t.Spans {
		s := &t.Spans[i]
		if s.Cat == trace.CPUOp && s.Start <= at && at < s.End() && (best == nil || s.Dur > best.Dur) {
			best = s
		}
	}
	if best == nil {
		return ""
	}
	return t.Strings.Get(best.Name)
}
