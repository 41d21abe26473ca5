package prep

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/trace"
)

// Stage is a stage of a diffusion pipeline, with the time of its span on the host.
type Stage struct {
	Start, End int64
	Name       string // registered name
}

// findStages returns the stages of a trace. Markers and the profiler may both name a stage, so only the outermost of
// nested spans counts.
func findStages(t *trace.Trace) (out []Stage) {
	for i := range t.Spans {
		if s := &t.Spans[i]; s.Cat == trace.UserAnnotation {
			if name := trace.StageOf(t.Strings.Get(s.Name)); name != "" {
				out = append(out, Stage{s.Start, s.End(), name})
			}
		}
	}
	sorts.By(out, func(a, b Stage) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End)) })
	kept := out[:0]
	for _, s := range out {
		if n := len(kept); n == 0 || s.Start >= kept[n-1].End {
			kept = append(kept, s)
		}
	}
	return kept
}

// StageAt returns the index of the stage that contains the host time at, or -1.
func (r *Rank) StageAt(at int64) int {
	i, ok := slices.BinarySearchFunc(r.Stages, at, func(s Stage, at int64) int { return cmp.Compare(s.Start, at) })
	if !ok {
		i--
	}
	if i < 0 || at >= r.Stages[i].End {
		return -1
	}
	return i
}

// EndsStage reports whether a step is the last one of a stage.
func (r *Rank) EndsStage(i int) bool {
	until := r.Steps[i].Until
	return until > 0 && (i+1 == len(r.Steps) || r.Steps[i+1].Start >= until)
}

// endWithStages sets Until of each step to the end of the stage that contains the step.
func (r *Rank) endWithStages() {
	for i := range r.Steps {
		if at := r.StageAt(r.Steps[i].Start); at >= 0 {
			r.Steps[i].Until = r.Stages[at].End
		}
	}
}
