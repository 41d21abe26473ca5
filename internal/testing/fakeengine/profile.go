package fakeengine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/stepscope/stepscope/internal/api"
)

// window is one profiling window. It follows the rules of SGLang's scheduler: it starts at an absolute forward count,
// contains exactly NumSteps steps, and closes when the step after the last one arrives.
type window struct {
	r       api.ProfileRequest
	start   int64 // first recorded step; 0: at once
	open    bool
	steps   int
	prefill int // number of recorded prefill steps, if windows are by stage
	decode  int
}

// before is called before each forward step. The caller holds e.mu.
func (w *window) before(e *Engine, prefill bool) {
	if w == nil {
		return
	}
	if w.r.ByStage {
		count := &w.decode
		if prefill {
			count = &w.prefill
		}
		if w.r.NumSteps == 0 || *count < w.r.NumSteps {
			*count++
			w.open = true
		}
		if w.r.NumSteps > 0 && (!w.r.Prefill || w.prefill >= w.r.NumSteps) && (!w.r.Decode || w.decode >= w.r.NumSteps) {
			e.close(w)
		}
		return
	}
	if !w.open && e.forward >= w.start {
		w.open = true
	}
	if w.open && w.r.NumSteps > 0 && w.steps == w.r.NumSteps {
		e.close(w)
		return
	}
	if w.open {
		w.steps++
	}
}

// file returns the name of a window's file.
func file(r *api.ProfileRequest) string {
	name := r.ID + "-TP-0.trace.json.gz"
	if r.Prefix != "" {
		name = r.Prefix + "-" + name
	}
	return name
}

// close writes one file for the window. The caller holds e.mu.
func (e *Engine) close(w *window) (api.ProfileResult, error) {
	e.profile = nil
	res := api.ProfileResult{Dir: w.r.OutputDir, ID: w.r.ID}
	name := file(&w.r)
	if err := os.MkdirAll(res.Dir, 0o755); err != nil {
		return res, fmt.Errorf("profile directory: %w", err)
	}
	text := fmt.Sprintf("%d steps, %d prefill, %d decode\n", w.steps, w.prefill, w.decode)
	if err := os.WriteFile(filepath.Join(res.Dir, name), []byte(text), 0o644); err != nil {
		return res, err
	}
	res.Files = []string{name}
	e.results = append(e.results, res)
	return res, nil
}

// StartProfile arms a window.
func (e *Engine) StartProfile(_ context.Context, r api.ProfileRequest) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.profile != nil {
		return api.ErrProfileRunning
	}
	if slices.ContainsFunc(e.results, func(p api.ProfileResult) bool { return p.Dir == r.OutputDir && slices.Contains(p.Files, file(&r)) }) {
		return fmt.Errorf("%w: output_dir already has traces of profile_id %s", api.ErrInvalid, r.ID)
	}
	e.requests = append(e.requests, r)
	e.profile = &window{r: r, open: r.StartStep == 0 && !r.ByStage, start: max(r.StartStep, e.forward+1)}
	return nil
}

// StopProfile ends the window, armed or open.
func (e *Engine) StopProfile(context.Context) (api.ProfileResult, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.profile == nil {
		return api.ProfileResult{}, api.ErrProfileIdle
	}
	return e.close(e.profile)
}

// Profiles returns the requests and results so far.
func (e *Engine) Profiles() ([]api.ProfileRequest, []api.ProfileResult) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.requests), slices.Clone(e.results)
}
