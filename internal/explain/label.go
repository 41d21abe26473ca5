package explain

import (
	"fmt"

	"github.com/stepscope/stepscope/trace"
)

// label names the ranks. Files that do not say their rank get their place in
// the world, or else their place in the list.
func label(ranks []*rank) {
	seen := map[string]int{}
	for _, r := range ranks {
		src := &r.source
		r.label = src.Rank.String()
		if src.Rank == trace.NoRank {
			r.label = fmt.Sprintf("rank %d", r.index)
			if src.World.Known && src.World.Rank >= 0 {
				r.label = fmt.Sprintf("rank %d", src.World.Rank)
			}
		}
		if src.Stage != "" {
			r.label += " " + src.Stage
		}
		seen[r.label]++
	}
	for _, r := range ranks {
		if seen[r.label] > 1 {
			r.label += fmt.Sprintf(" (file %d)", r.index)
		}
	}
}
