package tables

import (
	"slices"

	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Memory converts the allocators' timelines to the common clock.
func Memory(a *match.Aligned) (out []result.MemorySeries) {
	for _, r := range a.Ranks {
		for _, s := range r.Memory {
			s.Rank, s.PeakAt, s.Points = r.Index, r.Wall(s.PeakAt)-a.Origin, slices.Clone(s.Points)
			for i := range s.Points {
				s.Points[i].At = r.Wall(s.Points[i].At) - a.Origin
			}
			out = append(out, s)
		}
	}
	return out
}
