package explain

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/trace"
)

// NotOneError means that the traces cannot be the ranks of one capture.
type NotOneError struct{ Why string }

func (e *NotOneError) Error() string {
	return "the files are not one capture: " + e.Why + " (--force analyses them anyway)"
}

// once drops ranks that were given twice, and adds a note. doubt is a reason why the remaining ranks cannot be one
// capture. It covers only reasons that are evident without comparing the ranks; "": none.
func once(ranks []*prep.Rank) (kept []*prep.Rank, doubt string) {
	for _, r := range ranks {
		twice := false
		for _, k := range kept {
			a, b := &k.Source, &r.Source
			switch {
			case a.Stage != b.Stage || a.Rank != b.Rank && a.Rank != trace.NoRank && b.Rank != trace.NoRank:
			case k.Recording == r.Recording && r.Recording != "":
				k.Notes = append(slices.Clone(k.Notes), trace.Note{Kind: trace.NoteGivenTwice, Source: b.Path, Count: 1})
				twice = true
			case a.Rank == b.Rank && a.World.Known && b.World.Known && a.World.Rank == b.World.Rank && a.World.Rank >= 0:
				doubt = fmt.Sprintf("%s and %s both claim to be rank %d of %d", filepath.Base(a.Path), filepath.Base(b.Path), a.World.Rank, a.World.Size)
			}
			if a.Stage == b.Stage && a.Rank.DP == b.Rank.DP && a.Rank.PP == b.Rank.PP && a.World.Known && b.World.Known && a.World.Size != b.World.Size && min(a.World.Size, b.World.Size) > 0 {
				doubt = fmt.Sprintf("%s belongs to a world of %d ranks, %s to one of %d", filepath.Base(a.Path), a.World.Size, filepath.Base(b.Path), b.World.Size)
			}
		}
		if !twice {
			kept = append(kept, r)
		}
	}
	return kept, doubt
}
