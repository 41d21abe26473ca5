package cli

import (
	"context"
	"log/slog"
	"math"
	"net/http"
	"sync"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/tracefile/open"
	"github.com/stepscope/stepscope/internal/view"
)

// handover gives one capture of the viewer to Perfetto. It is prepared once, on the first request, regardless of how
// many requests there are and which of them are abandoned, because a merge may take minutes.
type handover struct {
	// make prepares the handler, and returns a function that removes its files, or nil if there are none or it fails.
	make func(context.Context) (made http.Handler, remove func(), err error)

	ctx    context.Context // for the work; ends with the viewer, or when the capture is released
	cancel func()
	work   sync.WaitGroup

	mu  sync.Mutex
	job *handoverJob // nil: none was requested, or the last one failed
}

// handoverJob is one attempt. Its results are valid once done is closed.
type handoverJob struct {
	done   chan struct{}
	made   http.Handler
	remove func()
	err    error
}

func newHandover(ctx context.Context, how func(context.Context) (http.Handler, func(), error)) *handover {
	h := &handover{make: how}
	h.ctx, h.cancel = context.WithCancel(ctx)
	return h
}

// Handler waits for the handler until ctx ends.
func (h *handover) Handler(ctx context.Context) (http.Handler, error) {
	job, err := h.begun()
	if err != nil {
		return nil, err
	}
	select {
	case <-job.done:
		return job.made, job.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// begun returns the current or completed attempt, and starts one if there is none.
func (h *handover) begun() (*handoverJob, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.ctx.Err(); err != nil {
		return nil, err
	}
	if h.job == nil {
		job := &handoverJob{done: make(chan struct{})}
		h.job = job
		h.work.Go(func() {
			defer close(job.done)
			if job.made, job.remove, job.err = h.make(h.ctx); job.err != nil {
				h.mu.Lock()
				h.job = nil
				h.mu.Unlock()
			}
		})
	}
	return h.job, nil
}

// Close stops the work and removes its files.
func (h *handover) Close() {
	h.mu.Lock()
	h.cancel()
	h.mu.Unlock() // no new attempt can begin
	h.work.Wait()
	if h.job != nil && h.job.remove != nil {
		h.job.remove()
	}
}

// toPerfetto prepares the hand-over of a capture to the Perfetto at an address.
func toPerfetto(ctx context.Context, e *env, c *view.Capture, in inputFlags, ui string, log *slog.Logger) (made http.Handler, remove func(), err error) {
	_, text, err := e.text(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	all := func() { text.Close() }
	defer func() {
		if err != nil {
			all()
		}
	}()
	path, rows := text.Set.Files[0].Path, pins(c)
	if len(text.Set.Files) == 1 {
		rows = mainRows(c.Traces) // with the names in that file
	}
	if needsMerge(text.Set) {
		dir, removeDir, err := atomicfile.TempDir("stepscope-open-")
		if err != nil {
			return nil, nil, err
		}
		all = func() { removeDir(); text.Close() }
		if path, err = e.mergeInto(ctx, text.Set, dir); err != nil {
			return nil, nil, err
		}
	}
	made, err = open.Handler(open.Options{File: path, Title: c.Title(), UI: ui, Log: log, Commands: open.PinRows(rows, flags(c.Report, baseOf(c)))})
	return made, all, err
}

// pins returns the rows of a capture to pin, with their names in the merged file.
func pins(c *view.Capture) (rows []open.Row) {
	for i, t := range c.Traces {
		if tr := mainTrack(t); tr != nil {
			rows = append(rows, open.Row{Rank: c.Report.Source.Ranks[i], Thread: tr.Name})
		}
	}
	return rows
}

// baseOf returns the base of times in a merged file, in ns: the earliest base of its ranks.
func baseOf(c *view.Capture) int64 {
	base := int64(math.MaxInt64)
	for _, t := range c.Traces {
		base = min(base, t.Source.BaseNS)
	}
	return base
}
