package explain

import (
	"slices"
)

// memoryRows brings the allocators' timelines to the clock of all.
func memoryRows(a *aligned) (out []MemorySeries) {
	for _, r := range a.ranks {
		for _, s := range r.memory {
			s.Rank, s.PeakAt, s.Points = r.index, r.wall(s.PeakAt)-a.origin, slices.Clone(s.Points)
			for i := range s.Points {
				s.Points[i].At = r.wall(s.Points[i].At) - a.origin
			}
			out = append(out, s)
		}
	}
	return out
}
