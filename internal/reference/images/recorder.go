package images

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/httpguard"
	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/device"
	"github.com/stepscope/stepscope/internal/reference/engine/diffusion"
)

// recorder implements the windows of /start_profile. A window contains either all work of the ranks between two calls
// or a number of denoising steps. The window's files have the same names as the files of the LLM server.
type recorder struct {
	engine Engine
	log    func(line string)

	mu   sync.Mutex
	open *session // nil: none
}

// session is a window that is open or being written.
type session struct {
	span   *diffusion.Span
	over   chan struct{} // closed when all files are written
	result api.ProfileResult
	err    error // reason for missing files
}

// StartProfile implements windows.Recorder.
func (r *recorder) StartProfile(_ context.Context, req api.ProfileRequest) error {
	bad := func(format string, args ...any) error {
		return &httpguard.Error{Status: http.StatusBadRequest, Message: fmt.Sprintf(format, args...)}
	}
	both := api.ActivityCPU | api.ActivityGPU
	switch {
	case req.ByStage:
		return bad("profile_by_stage: a diffusion pipeline has no prefill or decode; use profile_all_stages in a request to record its stages")
	case req.StartStep > 0:
		return bad("start_step: windows of a pipeline always start with the next step")
	case req.Merge:
		return bad("merge_profiles: this server does not merge traces; use stepscope trace merge")
	case req.Activities&^both != 0:
		return bad("activities: a pipeline records only CPU and GPU")
	}
	if err := atomicfile.TryDir(req.OutputDir); err != nil {
		return bad("output_dir: nothing can be written there: %v", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open != nil {
		return api.ErrProfileRunning
	}
	s := &session{over: make(chan struct{}), span: &diffusion.Span{Steps: req.NumSteps, Record: device.RecordOptions{
		CPU: req.Activities&api.ActivityCPU != 0, GPU: req.Activities&api.ActivityGPU != 0, Shapes: req.RecordShapes, Stack: req.WithStack,
	}}}
	if err := r.engine.Open(s.span); err != nil {
		return err
	}
	r.open = s
	go func() {
		<-s.span.Done()
		r.write(s, req)
	}()
	return nil
}

// write writes the files of a window that has ended.
func (r *recorder) write(s *session, req api.ProfileRequest) {
	paths, notes, err := r.engine.WriteSpan(s.span, func(rank engine.Rank) string {
		return filepath.Join(req.OutputDir, fmt.Sprintf("%s-TP-%d.trace.json.gz", req.Stem(), rank.TP))
	})
	s.result = api.ProfileResult{Dir: req.OutputDir, ID: req.ID}
	for _, p := range paths {
		s.result.Files = append(s.result.Files, filepath.Base(p))
	}
	slices.Sort(s.result.Files)
	text := "Profiling done. Traces are saved to: " + req.OutputDir
	if err != nil {
		s.err = errors.New(strings.Join(strings.Fields(err.Error()), " "))
		notes = append(notes, s.err.Error())
	} else if len(paths) == 0 {
		notes = append(notes, "Nothing was recorded: the window ended before its first step.")
	}
	s.result.Message = strings.Join(notes, "; ")
	if len(paths) == 0 {
		text = "Profiling done. No file was written."
	}
	r.log(strings.TrimSpace(text + " " + s.result.Message))
	r.mu.Lock()
	r.open = nil
	r.mu.Unlock()
	close(s.over)
}

// StopProfile implements windows.Recorder.
func (r *recorder) StopProfile(context.Context) (api.ProfileResult, error) {
	r.mu.Lock()
	s := r.open
	r.mu.Unlock()
	if s == nil {
		return api.ProfileResult{}, api.ErrProfileIdle
	}
	if err := r.engine.Shut(s.span); err != nil {
		return api.ProfileResult{}, err
	}
	<-s.over
	return s.result, s.err
}

// Profiling reports whether a window is armed, open or being written.
func (r *recorder) Profiling() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open != nil
}

// close ends an open window at shutdown, so that its recording is not lost.
func (r *recorder) close() {
	r.StopProfile(context.Background())
}
