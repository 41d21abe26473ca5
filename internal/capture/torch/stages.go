package torch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/tracefile/check"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// sayStages explains a window by stage before a server is armed. SGLang's profiler (V1, up to at least 0.5.17) counts
// the steps of each stage from the stage's first step. When a stage has run all requested steps, the profiler writes
// a file under that stage's name, with all data recorded so far.
func (m *member) sayStages() {
	if !m.profile().Stages || m.info.V2 || len(m.stages()) < 2 {
		return
	}
	m.o.Log(fmt.Sprintf("%s: by stage it records up to %d prefill steps, then %d decode steps; under a mixed load it may encounter a decode step first and then overwrite the decode steps with prefill steps: to get both, record two windows, --profile-stages prefill, then --profile-stages decode",
		m.URL, m.w.NumSteps, m.w.NumSteps))
}

// stagePatience is the maximum time between the traces of the two stages of a window. Under a mixed load both stages
// complete within the duration of a request.
const stagePatience = 20 * time.Second

// stageDone returns the stage whose traces have all arrived although traces of the other stage are missing. If there is
// no such stage, it returns "".
func (w *watch) stageDone() string {
	stages := w.m.stages()
	if len(stages) < 2 || len(w.expected) == 0 || w.growing() {
		return ""
	}
	left := w.missing()
	for _, s := range stages {
		if len(left) > 0 && !slices.ContainsFunc(left, func(f trace.FileName) bool { return f.Stage == s }) {
			return s
		}
	}
	return ""
}

// strayed reports whether none of the received traces holds steps of the stage in its name. SGLang 0.5.11 writes such
// traces if a window begins with a decode step. When the decode steps are done, SGLang continues to record the prefill
// steps up to the next decode step, and overwrites the decode trace with these prefill steps. After that it writes no
// further files.
func (w *watch) strayed() bool {
	names := w.have(isTrace)
	return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return !w.seen[name].strays })
}

// lost ends a window of one stage whose trace the server has overwritten with steps of the other stage.
func (w *watch) lost(ctx context.Context) error {
	stage := w.m.stages()[0]
	w.note("the server overwrote the %s steps with its other steps, as SGLang does when a window begins with a decode step: try again", stage)
	end, err := w.m.stop(ctx)
	w.changed, w.idle, w.settles = time.Now(), end == wasIdle, true
	return err
}

// held corrects the stage in a file name of a window of one stage to the stage whose steps the file holds. This is
// needed because SGLang may write prefill steps under the name of decode.
func (w *watch) held(name string, f trace.FileName) trace.FileName {
	if !w.seen[name].strays || len(w.m.stages()) != 1 {
		return f
	}
	if api.Stage(f.Stage) == api.Decode {
		f.Stage = api.Prefill
	} else {
		f.Stage = api.Decode
	}
	return f
}

// otherStage ends a window after the traces of only one stage have arrived. The server replies to the stop request
// after it has written traces. The reply shows whether the other stage was still being recorded.
func (w *watch) otherStage(ctx context.Context) error {
	m, done := w.m, w.stageDone()
	other := api.Prefill
	if done == api.Prefill {
		other = api.Decode
	}
	m.o.Log(fmt.Sprintf("%s: the traces of %s have arrived, those of %s have not: closing the window", m.URL, done, other))
	end, err := m.stop(ctx)
	if err != nil {
		return err
	}
	w.changed = time.Now()
	w.idle = end == wasIdle
	w.settles = w.idle
	switch {
	case w.strayed():
		w.note("the server overwrote the %[2]s steps with its %[1]s steps, as SGLang 0.5.11 does when a window begins with a %[2]s step; a window without --profile-by-stage has both", other, done)
	case w.idle:
		w.note("there will be no trace of %s: the server says that it is no longer recording, so it had no %s steps; a window without --profile-by-stage has both", other, other)
	default:
		w.note("the window of %s had not ended %v after that of %s: it was closed", other, stagePatience, done)
	}
	return nil
}

// strays reports whether a trace holds steps, but no step of the stage in the trace's name.
func strays(ctx context.Context, path string) bool {
	sets, err := set.Find([]string{path})
	if err != nil || len(sets) != 1 {
		return false
	}
	rep, err := check.Check(ctx, sets[0], nil, nil)
	return err == nil && rep.Files[0].Stage != sets[0].Files[0].Name.Stage
}
