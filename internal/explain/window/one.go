package window

import (
	"fmt"
	"path/filepath"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/trace"
)

// rankOf is which rank of a window a trace says it is.
type rankOf struct {
	rank  trace.Rank
	stage string
	world int
}

// oneCapture leaves out a file that is there twice, and gives a reason for which the
// others cannot be of one capture; "": none is known before they are compared.
func oneCapture(say *progress.Console, traces []*trace.Trace) (kept []*trace.Trace, doubt string) {
	seen := map[rankOf]*trace.Trace{}
	for _, t := range traces {
		src := &t.Source
		base := filepath.Base(src.Path)
		if !src.World.Known || src.World.Rank < 0 {
			kept = append(kept, t)
			continue
		}
		me := rankOf{src.Rank, src.Stage, src.World.Rank}
		if src.Rank.DP < 0 {
			me.rank = trace.NoRank // two names of one rank
		}
		other := seen[me]
		switch {
		case other == nil:
			seen[me] = t
		case sameRecording(t, other):
			say.Warn("%s: the same recording as %s, left out", base, filepath.Base(other.Source.Path))
			continue
		default:
			doubt = fmt.Sprintf("%s and %s both say that they are rank %d of %d", filepath.Base(other.Source.Path), base, src.World.Rank, src.World.Size)
		}
		if first := &kept0(kept, src.Stage, t).Source; first.World.Size != src.World.Size {
			doubt = fmt.Sprintf("%s is of %d ranks, %s of %d", filepath.Base(first.Path), first.World.Size, base, src.World.Size)
		}
		kept = append(kept, t)
	}
	return kept, doubt
}

// kept0 is the first trace of a stage that says how many ranks there are, or t.
func kept0(kept []*trace.Trace, stage string, t *trace.Trace) *trace.Trace {
	for _, k := range kept {
		if k.Source.Stage == stage && k.Source.World.Known && k.Source.World.Size > 0 {
			return k
		}
	}
	return t
}

// sameRecording tells two files of one recording: as many spans, at the same times.
func sameRecording(a, b *trace.Trace) bool {
	n := len(a.Spans)
	if n != len(b.Spans) {
		return false
	}
	for _, i := range []int{0, n / 2, n - 1} {
		if n > 0 && (a.Spans[i].Start != b.Spans[i].Start || a.Spans[i].Dur != b.Spans[i].Dur) {
			return false
		}
	}
	return true
}

// doubts refuses files that cannot be one capture, unless the user insists.
func (in *Input) doubts(say *progress.Console, doubt string) ([]string, error) {
	if doubt == "" {
		return nil, nil
	}
	if !in.Force {
		return nil, &explain.NotOneError{Why: doubt}
	}
	say.Lack("not one capture: %s", doubt)
	return []string{doubt}, nil
}
