package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/tracefile/set"
)

// session is one window over all ranks, from StartProfile until its files are written.
type session struct {
	e    *Engine
	req  api.ProfileRequest
	opts device.RecordOptions
	done chan struct{} // closed when result is set

	mu       sync.Mutex
	open     map[*dpRank]time.Time // ranks whose part is open, and when each last had a request; see lonely
	stopping bool
	steps    int
	last     time.Time // time of the last recorded step
	idle     *time.Timer
	alone    *time.Timer // runs lonely; nil while the parts of all ranks are open
	files    []string    // paths of traces
	problems []string

	snapshots []string // paths of memory snapshots

	writing sync.WaitGroup
	pace    throttle
	result  api.ProfileResult
	err     error // reason for missing files
}

// StartProfile arms or starts a window on all ranks. It returns without waiting for steps or files.
func (e *Engine) StartProfile(ctx context.Context, req api.ProfileRequest) error {
	e.life.RLock()
	defer e.life.RUnlock()
	if e.draining.Load() {
		return api.ErrUnavailable
	}
	if err := checkProfile(&req); err != nil {
		return err
	}
	s := &session{e: e, req: req, open: map[*dpRank]time.Time{}, done: make(chan struct{}), pace: throttle{busy: e.serving}}
	for _, r := range e.ranks {
		s.open[r] = time.Time{}
	}
	s.opts = device.RecordOptions{
		CPU: req.Activities&api.ActivityCPU != 0, GPU: req.Activities&api.ActivityGPU != 0,
		Memory: req.Activities&api.ActivityMem != 0, Stack: req.WithStack, Shapes: req.RecordShapes,
	}
	if e.session.Load() != nil { // report this error before any error about the directory
		return api.ErrProfileRunning
	}
	if s.records() {
		if err := atomicfile.TryDir(req.OutputDir); err != nil {
			return fmt.Errorf("%w: no trace can be written to output_dir: %v", api.ErrInvalid, err)
		}
		set.Salvage(req.OutputDir, e.opt.Log)
		if name := taken(&req); name != "" {
			return fmt.Errorf("%w: output_dir already has traces of profile_id %s, such as %s: use another profile_id or output_dir", api.ErrInvalid, req.ID, name)
		}
	}
	if !e.session.CompareAndSwap(nil, s) {
		return api.ErrProfileRunning
	}
	if req.Activities&api.ActivityCUDAProfiler != 0 && e.opt.CUDAProfiler == nil {
		s.problem("CUDA_PROFILER: no external profiler is attached to this server; start it under nsys profile -c nvtx -p cudaProfilerApi@stepscope")
	}
	armed := make(chan error, len(e.ranks))
	for _, r := range e.ranks {
		if !r.Do(func() { armed <- r.arm(s) }) {
			armed <- api.ErrUnavailable
			s.over(r)
		}
	}
	var err error
	for range e.ranks {
		select {
		case one := <-armed:
			err = errors.Join(err, one)
		case <-ctx.Done():
			s.end()
			return context.Cause(ctx)
		}
	}
	if err != nil {
		s.end()
		return err
	}
	if req.NumSteps > 0 {
		s.mu.Lock()
		s.idle = time.AfterFunc(e.opt.ProfileIdle, s.timeout)
		s.mu.Unlock()
	}
	return nil
}

// StopProfile ends the armed or open window and waits until its files are written or ctx ends. The files are written
// even if ctx ends. If some files could not be written, StopProfile returns both an error and the result.
func (e *Engine) StopProfile(ctx context.Context) (api.ProfileResult, error) {
	s := e.session.Load()
	if s == nil {
		// A client that calls StopProfile after the last step expects the files to exist.
		if was := e.closed.Load(); was != nil {
			select {
			case <-was.done:
			case <-ctx.Done():
			}
		}
		return api.ProfileResult{}, api.ErrProfileIdle
	}
	s.end()
	select {
	case <-s.done:
		return s.result, s.err
	case <-ctx.Done():
		return api.ProfileResult{Dir: s.req.OutputDir, ID: s.req.ID}, context.Cause(ctx)
	}
}

// Profiling reports whether a window is armed or open.
func (e *Engine) Profiling() bool { return e.session.Load() != nil }

// taken returns the path of an existing trace of an earlier window that has the same file name, or "".
func taken(r *api.ProfileRequest) string {
	entries, _ := os.ReadDir(r.OutputDir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), r.Stem()+"-TP-") && strings.HasSuffix(e.Name(), traceSuffix) {
			return e.Name()
		}
	}
	return ""
}

// checkProfile returns an error for a request that is invalid or would record nothing.
func checkProfile(r *api.ProfileRequest) error {
	for name, part := range map[string]string{"profile_id": r.ID, "profile_prefix": r.Prefix} {
		if strings.ContainsAny(part, `/\`) || part != filepath.Base(part) && part != "" {
			return fmt.Errorf("%w: %s %q cannot be part of a file name", api.ErrInvalid, name, part)
		}
	}
	switch {
	case r.ID == "":
		return fmt.Errorf("%w: a profile needs an id", api.ErrInvalid)
	case r.Activities == 0:
		return fmt.Errorf("%w: no known activity to record: choose from CPU, GPU, MEM and CUDA_PROFILER", api.ErrInvalid)
	case r.NumSteps < 0 || r.StartStep < 0 || r.MemEntries < 0:
		return fmt.Errorf("%w: num_steps %d, start_step %d and memory history depth %d must not be negative",
			api.ErrInvalid, r.NumSteps, r.StartStep, r.MemEntries)
	case r.ByStage && r.NumSteps == 0:
		return fmt.Errorf("%w: profile_by_stage needs num_steps, the number of steps per stage", api.ErrInvalid)
	case r.ByStage && !r.Prefill && !r.Decode:
		return fmt.Errorf("%w: profile_by_stage without a stage: choose from prefill and decode", api.ErrInvalid)
	}
	return nil
}

// traces reports whether there are traces to write. As in SGLang, a window with only api.ActivityMem produces memory
// snapshots but no traces.
func (s *session) traces() bool { return s.opts.CPU || s.opts.GPU }

// records reports whether the window produces any files.
func (s *session) records() bool { return s.traces() || s.opts.Memory }

// end closes each rank's part, either immediately or after the rank's current step.
func (s *session) end() {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	for _, r := range s.e.ranks {
		// After the scheduler's Stop, this function is never called. In that case an open window has already been
		// closed.
		r.Do(func() {
			if r.window != nil && r.window.s == s {
				r.window.finish()
			}
		})
	}
}

// timeout closes a window that has begun and has had no step for Options.ProfileIdle.
func (s *session) timeout() {
	s.mu.Lock()
	quiet := time.Since(s.last)
	begun := s.steps > 0
	if len(s.open) == 0 {
		s.mu.Unlock()
		return
	}
	wait := s.e.opt.ProfileIdle
	if begun {
		wait -= quiet
	}
	if !begun || wait > 0 {
		s.idle.Reset(wait)
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	s.e.opt.Log(fmt.Sprintf("no step for %v: the profiling window closed before its last step", s.e.opt.ProfileIdle))
	s.problem(fmt.Sprintf("closed after %v without a step", s.e.opt.ProfileIdle))
	s.end()
}

// step counts a recorded step.
func (s *session) step() {
	s.mu.Lock()
	s.steps++
	s.last = time.Now()
	s.mu.Unlock()
}

// problem adds a message to the result.
func (s *session) problem(text string) {
	s.mu.Lock()
	s.problems = append(s.problems, text)
	s.mu.Unlock()
}

// fail adds a problem to the result and records that files are missing.
func (s *session) fail(err error) {
	s.problem(err.Error())
	s.mu.Lock()
	s.err = errors.Join(s.err, err)
	s.mu.Unlock()
}
