package set

import (
	"slices"

	"github.com/stepscope/stepscope/trace"
)

// Work says whether the file of a rank has GPU work.
type Work struct {
	Path  string
	Rank  trace.Rank
	Stage string // of a window split by stage
	GPU   bool
}

// WithoutWork returns a note about each rank without GPU work, if another rank of its replica has some in the same stage.
// A replica without requests has none on any rank.
func WithoutWork(ranks []Work) (notes []trace.Note) {
	for _, r := range ranks {
		busy := func(o Work) bool {
			return o.GPU && o.Rank.DP == r.Rank.DP && o.Stage == r.Stage && o.Rank != r.Rank && o.Rank != trace.NoRank
		}
		if !r.GPU && r.Rank != trace.NoRank && slices.ContainsFunc(ranks, busy) {
			notes = append(notes, trace.Note{Kind: trace.NoteNoWork, Source: r.Path, Count: 1})
		}
	}
	return notes
}
