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

// handovers give captures of the viewer to Perfetto. Each is merged when that is first asked for, and its file is there
// until the viewer ends.
type handovers struct {
	e   *env
	ui  string
	log *slog.Logger

	mu     sync.Mutex // one is merged at a time
	from   map[*view.Capture]inputs
	made   map[*view.Capture]http.Handler
	remove []func()
}

// opened notes where a capture comes from.
func (h *handovers) opened(c *view.Capture, in inputs) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.from == nil {
		h.from, h.made = map[*view.Capture]inputs{}, map[*view.Capture]http.Handler{}
	}
	h.from[c] = in
}

// close removes what was merged.
func (h *handovers) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, remove := range h.remove {
		remove()
	}
}

// handler is the hand-over of a capture.
func (h *handovers) handler(ctx context.Context, c *view.Capture) (http.Handler, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.made[c] != nil {
		return h.made[c], nil
	}
	_, text, err := h.e.text(ctx, h.from[c])
	if err != nil {
		return nil, err
	}
	h.remove = append(h.remove, func() { text.Close() })
	path, rows := text.Set.Files[0].Path, pins(c)
	if len(text.Set.Files) == 1 {
		rows = mainRows(c.Traces) // named as in that file
	}
	if needsMerge(text.Set) {
		dir, remove, err := atomicfile.TempDir("stepscope-open-")
		if err != nil {
			return nil, err
		}
		h.remove = append(h.remove, remove)
		if path, err = h.e.mergeInto(ctx, text.Set, dir); err != nil {
			return nil, err
		}
	}
	made, err := open.Handler(open.Options{File: path, Title: c.Title(), UI: h.ui, Log: h.log, Commands: open.PinRows(rows, flags(c.Report, baseOf(c)))})
	if err == nil {
		h.made[c] = made
	}
	return made, err
}

// pins are the rows to pin of a capture, by the names that they have once it is merged.
func pins(c *view.Capture) (rows []open.Row) {
	for i, t := range c.Traces {
		if tr := mainTrack(t); tr != nil {
			rows = append(rows, open.Row{Rank: c.Report.Source.Ranks[i], Thread: tr.Name})
		}
	}
	return rows
}

// baseOf is what the times of a merged file count from: the earliest base of its ranks.
func baseOf(c *view.Capture) int64 {
	base := int64(math.MaxInt64)
	for _, t := range c.Traces {
		base = min(base, t.Source.BaseNS)
	}
	return base
}
