package diffusion

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
)

// window is what of a job a rank records. A nil one records nothing.
type window struct {
	job      *Job
	recorder engine.Recorder
	open     bool
	rec      engine.Recording // when it is closed
	err      error            // why nothing is recorded
}

func newWindow(job *Job, r engine.Recorder) *window { return &window{job: job, recorder: r} }

// window gives its first denoising step and the one after the last, as far as the job has them.
func (j *Job) window() (from, to int) {
	if j.Profile.AllStages || j.Profile.Steps == All {
		return 0, j.Steps
	}
	return 1, min(1+j.Profile.Steps, j.Steps)
}

// mode is the part of a trace's name that says what it holds.
func (j *Job) mode() string {
	switch {
	case j.Profile.AllStages:
		return "full_stages"
	case j.Profile.Steps == All:
		return fmt.Sprintf("%d_steps", j.Steps)
	}
	return fmt.Sprintf("%d_steps", j.Profile.Steps)
}

// what says what is recorded.
func (j *Job) what() string {
	switch {
	case j.Profile.AllStages:
		return "all stages"
	case j.Profile.Steps == All:
		return fmt.Sprintf("%d steps", j.Steps)
	}
	return fmt.Sprintf("%d steps", j.Profile.Steps)
}

// lacks says what traces have less than was asked for.
func (j *Job) lacks() []string {
	from, to := j.window()
	if j.Profile.AllStages || j.Profile.Steps == All || to-from == j.Profile.Steps {
		return nil
	}
	if to <= from {
		return []string{fmt.Sprintf("No step was recorded: the first of %d warms up. Use more inference steps, or profile all with -1.", j.Steps)}
	}
	return []string{fmt.Sprintf("The traces hold %d of %d denoising steps: the first of %d inference steps warms up.", to-from, j.Profile.Steps, j.Steps)}
}

// around runs a job, all of which is recorded with AllStages, and closes what a failure left open. A rank that cannot
// record works on: the others wait for it in collectives.
func (w *window) around(run func() error) error {
	if w == nil {
		return run()
	}
	if w.job.Profile.AllStages {
		w.start()
	}
	defer w.stop()
	return run()
}

// step begins a denoising step. Steps of a window have the ranges that torch's profiler puts around them.
func (w *window) step(i int, h *device.Host) (end func()) {
	if w == nil || w.job.Profile.AllStages {
		return func() {}
	}
	from, to := w.job.window()
	if i < from || i >= to {
		return func() {}
	}
	if i == from {
		w.start()
	}
	if !w.open {
		return func() {}
	}
	h.Annotate(fmt.Sprintf("ProfilerStep#%d", i))
	return func() {
		h.End()
		if i == to-1 {
			w.stop()
		}
	}
}

func (w *window) start() {
	w.err = w.recorder.StartRecording(w.job.Profile.Record)
	w.open = w.err == nil
}

func (w *window) stop() {
	if w.open {
		w.open, w.rec = false, w.recorder.StopRecording()
	}
}
