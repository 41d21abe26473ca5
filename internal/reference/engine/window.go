package engine

import (
	"fmt"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine/memsnap"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
	"github.com/stepscope/stepscope/internal/reference/engine/sched"
)

// window is one data-parallel rank's part of a session. A window selects the steps to record. Only the goroutine of the
// rank's scheduler uses the window.
//
// Without stages, steps from … from+NumSteps-1 are recorded, where from is the later of the next step and StartStep.
// The window closes when the last of these steps ends. In SGLang, the window closes when the following step arrives.
// SGLang therefore records the same steps but may write the files much later.
//
// If windows are by stage, there is one window of NumSteps prefill steps and one window of NumSteps decode steps. The
// first prefill step opens the prefill window, and a decode step closes this window early. The first decode step that
// has enough requests opens the decode window. Prefill steps that occur while the decode window is open are not
// recorded.
type window struct {
	s *session
	r *dpRank

	from int64 // step that opens the window; 0: the window opens at once or by stage

	open  bool
	stage stage // stage of the open window, if windows are by stage
	count int   // number of steps recorded in the open window
	done  [2]bool

	reserved [][]memsnap.Block // with ActivityMem: memory that each rank has reserved
}

// stage is a kind of step.
type stage = model.Mode

// arm begins the rank's part of a session.
func (r *dpRank) arm(s *session) error {
	s.mu.Lock()
	stopping := s.stopping
	s.mu.Unlock()
	w := &window{s: s, r: r, done: [2]bool{model.Extend: !s.req.Prefill, model.Decode: !s.req.Decode}}
	if stopping {
		s.over(r)
		return nil
	}
	r.window = w
	switch {
	case s.req.ByStage:
	case s.req.StartStep > 0:
		w.from = max(s.req.StartStep, r.Count()+1)
	default:
		if err := w.start(); err != nil {
			w.finish()
			return err
		}
	}
	return nil
}

// BeforeStep opens windows. See sched.Hooks.
func (r *dpRank) BeforeStep(st sched.Step) (detailed bool) {
	if r.window == nil {
		return false
	}
	r.window.before(st)
	return r.window != nil && r.window.open && r.window.s.req.Detailed
}

// AfterStep closes windows. See sched.Hooks.
func (r *dpRank) AfterStep(st sched.Step) {
	if r.window != nil {
		r.window.after(st)
	}
}

func (w *window) before(st sched.Step) {
	mode := st.Batch.Mode
	req := &w.s.req
	if !req.ByStage {
		if !w.open && st.Count == w.from {
			w.startLate()
		}
		return
	}
	if w.open && w.stage == model.Extend && mode == model.Decode {
		w.closeStage()
	}
	if w.open && mode != w.stage { // a prefill step while the decode window is open
		w.pause(true)
	}
	few := mode == model.Decode && len(st.Batch.Seqs) < req.DecodeMinBS
	if w.r.window == w && !w.open && !w.done[mode] && !few {
		w.stage = mode
		w.startLate()
	}
}

func (w *window) after(st sched.Step) {
	req := &w.s.req
	if !w.open {
		return
	}
	if req.ByStage && st.Batch.Mode != w.stage {
		w.pause(false)
		return
	}
	w.s.step()
	w.count++
	switch {
	case w.count != req.NumSteps:
	case req.ByStage:
		w.closeStage()
	default:
		w.finish()
	}
}

func (w *window) pause(on bool) {
	for _, rank := range w.r.group.Ranks() {
		rank.Recorder.PauseRecording(on)
	}
}

// start starts recording on all ranks of the group.
func (w *window) start() error {
	ranks := w.r.group.Ranks()
	if w.s.opts.Memory && w.reserved == nil {
		var err error
		if w.reserved, err = reserved(w.r.group, w.s.e.opt.Sched.Blocks); err != nil {
			return fmt.Errorf("query the memory in use: %w", err)
		}
	}
	if w.s.records() {
		for i, rank := range ranks {
			if err := rank.Recorder.StartRecording(w.s.opts); err != nil {
				for _, begun := range ranks[:i] {
					if rec := begun.Recorder.StopRecording(); rec != nil {
						rec.Lost() // the recording is not needed; Lost allows its owner to release it
					}
				}
				return fmt.Errorf("start recording on %s: %w", w.s.place(rank), err)
			}
		}
	}
	w.outerProfiler(true)
	w.open, w.count = true, 0
	w.s.log(w.r, "Profiling starts%s. Traces will be saved to: %s (with profile id: %s)", w.suffix(" for "), w.s.req.OutputDir, w.s.req.ID)
	return nil
}

// startLate starts the recording of a window whose request has already been answered.
func (w *window) startLate() {
	if err := w.start(); err != nil {
		w.s.fail(err)
		w.s.log(w.r, "Profiling could not start: %v", err)
		w.finish()
	}
}

// stop ends the recording and passes it on to be written.
func (w *window) stop() {
	w.open = false
	w.s.log(w.r, "Stop profiling%s...", w.suffix("-"))
	w.outerProfiler(false)
	if !w.s.records() {
		return
	}
	now := time.Now()
	var files []rankFile
	for i, rank := range w.r.group.Ranks() {
		if rec := rank.Recorder.StopRecording(); rec != nil {
			f := rankFile{rank: rank, rec: rec, stage: w.suffix(""), stopped: now}
			if w.s.opts.Memory {
				f.reserved = w.reserved[i]
			}
			files = append(files, f)
		}
	}
	w.s.export(files)
}

// outerProfiler switches the profiler of an external tool. The tool profiles the whole process, so only the first rank
// switches it, as in SGLang.
func (w *window) outerProfiler(on bool) {
	f := w.s.e.opt.CUDAProfiler
	if f == nil || w.s.req.Activities&api.ActivityCUDAProfiler == 0 || w.r != w.s.e.ranks[0] {
		return
	}
	w.s.log(w.r, "Call cudaProfiler%s", map[bool]string{true: "Start", false: "Stop"}[on])
	f(on)
}

// closeStage ends the window of a stage. After the last stage, it also ends the rank's part of the session.
func (w *window) closeStage() {
	w.done[w.stage] = true
	w.stop()
	if w.done[model.Extend] && w.done[model.Decode] {
		w.finish()
	}
}

// finish ends the rank's part of the session.
func (w *window) finish() {
	if w.open {
		w.stop()
	}
	w.r.window = nil
	w.s.over(w.r)
}

// suffix returns sep and the name of the open stage, or "" if windows are not by stage.
func (w *window) suffix(sep string) string {
	switch {
	case !w.s.req.ByStage:
		return ""
	case w.s.req.StageNames:
		return sep + api.Stage(w.stage.String())
	}
	return sep + w.stage.String()
}
