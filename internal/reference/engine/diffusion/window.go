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
	rec      engine.Recording // set when the window is closed
	err      error            // reason why nothing was recorded
}

func newWindow(job *Job, r engine.Recorder) *window { return &window{job: job, recorder: r} }

// window returns the range of recorded denoising steps of the job, from ≤ step < to.
func (j *Job) window() (from, to int) {
	if j.Profile.AllStages || j.Profile.Steps == All {
		return 0, j.Steps
	}
	return 1, min(1+j.Profile.Steps, j.Steps)
}

// mode returns the part of a trace's file name that describes the contents of the trace.
func (j *Job) mode() string {
	switch {
	case j.Profile.AllStages:
		return "full_stages"
	case j.Profile.Steps == All:
		return fmt.Sprintf("%d_steps", j.Steps)
	}
	return fmt.Sprintf("%d_steps", j.Profile.Steps)
}

// what describes the recorded part of the job, for messages.
func (j *Job) what() string {
	switch {
	case j.Profile.AllStages:
		return "all stages"
	case j.Profile.Steps == All:
		return fmt.Sprintf("%d steps", j.Steps)
	}
	return fmt.Sprintf("%d steps", j.Profile.Steps)
}

// lacks returns notes on requested steps that the traces do not contain.
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

// around runs a job. With AllStages it records the entire job. If the job fails with an open window, around closes the
// window. A rank that cannot record still runs the job, because the other ranks wait for this rank in collectives.
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

// step begins a denoising step. It annotates the steps of a window with the same ranges as torch's profiler.
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
