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

// stagePatience is how long the second stage of a window may begin after the first. With
// a mixed load each has its steps within the time of a request.
const stagePatience = 20 * time.Second

// stageDone is the stage whose traces are all there, while those of the other are not; "":
// it is not so.
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

// strayed tells whether the traces that have come all hold steps of the stage that has no
// files. SGLang 0.5.11 that meets a decode step first counts on from there: when the decode
// steps are done it records the prefill steps up to the next decode step, and writes them
// over the decode steps. Nothing more comes then.
func (w *watch) strayed() bool {
	names := w.have(isTrace)
	return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return !w.seen[name].strays })
}

// otherStage ends a window of which one stage has come. The answer to a stop, which a
// server that writes traces gives after that, tells whether the other one is still recorded.
func (w *watch) otherStage(ctx context.Context) error {
	m, done := w.m, w.stageDone()
	other := api.Prefill
	if done == api.Prefill {
		other = api.Decode
	}
	m.o.Log(fmt.Sprintf("%s: the traces of %s have come, those of %s have not: closing the window", m.URL, done, other))
	end, err := m.stop(ctx)
	if err != nil {
		return err
	}
	w.changed = time.Now()
	w.idle = end == wasIdle
	w.settles = w.idle
	switch {
	case w.strayed():
		w.note("the server wrote its %s steps over those of %s, as SGLang 0.5.11 does when a window meets a %s step first; a window without --profile-by-stage has both", other, done, done)
	case w.idle:
		w.note("no trace of %s will come: the server says that it records no more, so it had no %s steps; a window without --profile-by-stage has both", other, other)
	default:
		w.note("the window of %s had not ended %v after that of %s: it was closed", other, stagePatience, done)
	}
	return nil
}

// strays tells whether a trace holds steps, and none of the stage that its name says.
func strays(ctx context.Context, path string) bool {
	sets, err := set.Find([]string{path})
	if err != nil || len(sets) != 1 {
		return false
	}
	rep, err := check.Check(ctx, sets[0], nil, nil)
	return err == nil && rep.Files[0].Stage != sets[0].Files[0].Name.Stage
}
