package prep

import (
	"fmt"

	"github.com/stepscope/stepscope/trace"
)

// label names the ranks. Files that do not say their rank get their place in
// the world, or else their place in the list.
func Label(ranks []*Rank) {
	seen := map[string]int{}
	for _, r := range ranks {
		src := &r.Source
		r.Label = src.Rank.String()
		if src.Rank == trace.NoRank {
			r.Label = fmt.Sprintf("rank %d", r.Index)
			if src.World.Known && src.World.Rank >= 0 {
				r.Label = fmt.Sprintf("rank %d", src.World.Rank)
			}
		}
		if src.Stage != "" {
			r.Label += " " + src.Stage
		}
		seen[r.Label]++
	}
	for _, r := range ranks {
		if seen[r.Label] > 1 {
			r.Label += fmt.Sprintf(" (file %d)", r.Index)
		}
	}
}
