package explain

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/stepscope/stepscope/trace"
)

// NotOneError is that traces cannot be the ranks of one capture.
type NotOneError struct{ Why string }

func (e *NotOneError) Error() string {
	return "the files are not one capture: " + e.Why + " (--force goes on all the same)"
}

// once leaves out traces that are there twice, with a note. doubt is a reason for which
// the others cannot be of one capture; "": none is known before they are compared.
func once(traces []*trace.Trace) (kept []*trace.Trace, doubt string) {
	for _, t := range traces {
		twice := false
		for i, k := range kept {
			a, b := &k.Source, &t.Source
			switch {
			case a.Stage != b.Stage || a.Rank != b.Rank && a.Rank != trace.NoRank && b.Rank != trace.NoRank:
			case sameRecording(k, t):
				marked := *k
				marked.Notes = append(slices.Clone(k.Notes), trace.Note{Kind: trace.NoteGivenTwice, Source: b.Path, Count: 1})
				kept[i], twice = &marked, true
			case a.Rank == b.Rank && a.World.Known && b.World.Known && a.World.Rank == b.World.Rank && a.World.Rank >= 0:
				doubt = fmt.Sprintf("%s and %s both say that they are rank %d of %d", filepath.Base(a.Path), filepath.Base(b.Path), a.World.Rank, a.World.Size)
			}
			if a.Stage == b.Stage && a.Rank.DP == b.Rank.DP && a.Rank.PP == b.Rank.PP && a.World.Known && b.World.Known && a.World.Size != b.World.Size && min(a.World.Size, b.World.Size) > 0 {
				doubt = fmt.Sprintf("%s is of %d ranks, %s of %d", filepath.Base(a.Path), a.World.Size, filepath.Base(b.Path), b.World.Size)
			}
		}
		if !twice {
			kept = append(kept, t)
		}
	}
	return kept, doubt
}

// sameRecording tells two files of one recording: the same spans at the same times.
func sameRecording(a, b *trace.Trace) bool {
	n := len(a.Spans)
	if n == 0 || n != len(b.Spans) {
		return false
	}
	for i := range a.Spans {
		x, y := &a.Spans[i], &b.Spans[i]
		if x.Start != y.Start || x.Dur != y.Dur || a.Strings.Get(x.Name) != b.Strings.Get(y.Name) {
			return false
		}
	}
	return true
}
