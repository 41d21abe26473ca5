package diffusion

import (
	"fmt"

	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
)

// window is a rank's recording of a job. A nil window records nothing.
type window struct {
	job      *Job
	recorder engine.Recorder
	open     bool
	rec      engine.Recording // set when it is closed
	err      error            // reason why nothing is recorded
}

func newWindow(job *Job, r engine.Recorder) *window { return &window{job: job, recorder: r} }

// window returns its first denoising step and the one after its last, limited to the job's steps.
func (j *Job) window() (from, to int) {
	if j.Profile.AllStages || j.Profile.Steps == All {
		return 0, j.Steps
	}
	return 1, min(1+j.Profile.Steps, j.Steps)
}

// mode is the part of a trace's name that describes its contents.
func (j *Job) mode() string {
	switch {
	case j.Profile.AllStages:
		return "full_stages"
	case j.Profile.Steps == All:
		return fmt.Sprintf("%d_steps", j.Steps)
	}
	return fmt.Sprintf("%d_steps", j.Profile.Steps)
}

// what describes the recording.
func (j *Job) what() string {
	switch {
	case j.Profile.AllStages:
		return "all stages"
	case j.Profile.Steps == All:
		return fmt.Sprintf("%d steps", j.Steps)
	}
	return fmt.Sprintf("%d steps", j.Profile.Steps)
}

// lacks returns notes on steps that were requested but are missing in the traces.
func (j *Job) lacks() []string {
	from, to := j.window()
	if j.Profile.AllStages || j.Profile.Steps == All || to-from == j.Profile.Steps {
		return nil
	}
	if to <= from {
		return []string{fmt.Sprintf("No step was recorded: the first of %d is a warm-up. Use more inference steps, or profile all of them with -1.", j.Steps)}
	}
	return []string{fmt.Sprintf("The traces hold %d of %d denoising steps: the first of %d inference steps is a warm-up.", to-from, j.Profile.Steps, j.Steps)}
}

// around runs a job, recording all of it with AllStages, and closes a window that a failure left open. A rank that
// cannot record still works: the others wait for it in collectives.
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
