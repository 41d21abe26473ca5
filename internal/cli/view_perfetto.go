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

// handover gives one capture of the viewer to Perfetto. A merge may take minutes, so the handler is prepared only once.
// The first request starts the preparation, which continues even if that request is abandoned.
type handover struct {
	// make prepares the handler. It also returns a function that removes the handler's files. The function is nil if
	// there are no files or make fails.
	make func(context.Context) (made http.Handler, remove func(), err error)

	ctx    context.Context // context of the preparation; ends with the viewer, or when the capture is released
	cancel func()
	work   sync.WaitGroup

	mu  sync.Mutex
	job *handoverJob // nil: no attempt was requested, or the last attempt failed
}

// handoverJob is one attempt to prepare the handler. The results are valid once done is closed.
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

// Handler returns the handler. It waits until the handler is prepared or ctx ends.
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

// begun returns the attempt that is in progress or completed. If there is none, it starts an attempt.
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

// Close stops the preparation and removes the handler's files.
func (h *handover) Close() {
	h.mu.Lock()
	h.cancel()
	h.mu.Unlock() // from now on no attempt can begin
	h.work.Wait()
	if h.job != nil && h.job.remove != nil {
		h.job.remove()
	}
}

// toPerfetto prepares the hand-over of a capture to the Perfetto at an address.
func toPerfetto(ctx context.Context, e *env, c *view.Capture, in inputFlags, ui string, log *slog.Logger) (made http.Handler, remove func(), err error) {
	_, text, err := e.text(ctx, in, false)
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
		rows = mainRows(c.Traces) // the rows have the names that they have in the file
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

// pins returns the rows of a capture to pin. The rows have the names that they have in the merged file.
func pins(c *view.Capture) (rows []open.Row) {
	for i, t := range c.Traces {
		if tr := mainTrack(t); tr != nil {
			rows = append(rows, open.Row{Rank: c.Report.Source.Ranks[i], Thread: tr.Name})
		}
	}
	return rows
}

// baseOf returns the base of the times in a merged file, in ns. It is the earliest base of the capture's ranks.
func baseOf(c *view.Capture) int64 {
	base := int64(math.MaxInt64)
	for _, t := range c.Traces {
		base = min(base, t.Source.BaseNS)
	}
	return base
}
