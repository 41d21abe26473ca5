package read

import (
	"sync"

	"github.com/stepscope/stepscope/internal/base/runsort"
	"github.com/stepscope/stepscope/trace"
)

// spanList holds the spans of a file in file order until finish sorts them. The spans are stored in pieces of fixed
// size, which are reused across files. So the list grows without copying and leaves little memory unused.
type spanList struct {
	pieces []*[spanPiece]trace.Span
	n      int
}

// spanPiece is the number of spans in a piece. It is small because each label of a merged file needs at least one
// piece.
const spanPiece = 256

var spanPieces = sync.Pool{New: func() any { return new([spanPiece]trace.Span) }}

// add appends a span with undefined contents.
func (s *spanList) add() *trace.Span {
	if s.n%spanPiece == 0 {
		s.pieces = append(s.pieces, spanPieces.Get().(*[spanPiece]trace.Span))
	}
	s.n++
	return s.at(s.n - 1)
}

func (s *spanList) at(i int) *trace.Span { return &s.pieces[uint(i)/spanPiece][uint(i)%spanPiece] }

// sorted returns the spans that keep accepts, sorted by track, then start, then duration (longest first), then file
// order. It releases the list. tracks is the number of tracks.
func (s *spanList) sorted(tracks int, keep func(*trace.Span) bool) []trace.Span {
	ends := make([]int32, tracks+1)
	for i := range s.n {
		if sp := s.at(i); keep(sp) {
			ends[sp.Track+1]++
		}
	}
	for t := range tracks {
		ends[t+1] += ends[t]
	}
	order := make([]int32, ends[tracks])
	next := make([]int32, tracks)
	copy(next, ends)
	for i := range s.n {
		if sp := s.at(i); keep(sp) {
			order[next[sp.Track]] = int32(i)
			next[sp.Track]++
		}
	}
	for t := range tracks {
		runsort.Stable(order[ends[t]:ends[t+1]], s.before)
	}
	out := make([]trace.Span, len(order))
	for k, i := range order {
		out[k] = *s.at(int(i))
	}
	for _, p := range s.pieces {
		spanPieces.Put(p)
	}
	*s = spanList{}
	return out
}

// before reports whether span i sorts before span j.
func (s *spanList) before(i, j int32) bool {
	a, b := s.at(int(i)), s.at(int(j))
	return a.Start < b.Start || a.Start == b.Start && a.Dur > b.Dur
}
