package front

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// A peer can make a server write a line for each packet it sends. So many lines of one text may come at once, and one
// more in each seldom.
const (
	atOnce = 10
	seldom = time.Second
)

// Seldom limits the rate of a log's warnings and errors, those of each text by themselves. The next line that is written
// tells how many were not.
func Seldom(log *slog.Logger) *slog.Logger {
	return slog.New(&seldomHandler{Handler: log.Handler(), lines: &lines{byText: map[string]*line{}}})
}

type seldomHandler struct {
	slog.Handler
	lines *lines
}

// lines are counted for all handlers that come of one.
type lines struct {
	mu     sync.Mutex
	byText map[string]*line
}

type line struct {
	free float64   // that may still come at once
	at   time.Time // of the last one
	lost int
}

// maxTexts bounds the memory: our own texts are few, but net/http's have addresses.
const maxTexts = 1000

// take tells whether a line may be written, and how many before it were not.
func (l *lines) take(text string, now time.Time) (lost int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.byText[text]
	if one == nil {
		if len(l.byText) == maxTexts {
			clear(l.byText)
		}
		one = &line{free: atOnce, at: now}
		l.byText[text] = one
	}
	one.free = min(atOnce, one.free+float64(now.Sub(one.at))/float64(seldom))
	one.at = now
	if one.free < 1 {
		one.lost++
		return 0, false
	}
	one.free--
	lost, one.lost = one.lost, 0
	return lost, true
}

// Handle writes a line, if it is its time.
func (h *seldomHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return h.Handler.Handle(ctx, r)
	}
	lost, ok := h.lines.take(r.Message, r.Time)
	if !ok {
		return nil
	}
	if lost > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("more_not_written", lost))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs and WithGroup keep the limit.
func (h *seldomHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &seldomHandler{h.Handler.WithAttrs(attrs), h.lines}
}

func (h *seldomHandler) WithGroup(name string) slog.Handler {
	return &seldomHandler{h.Handler.WithGroup(name), h.lines}
}

// httpLog passes on what net/http says, which is of its peers and never twice the same.
type httpLog struct{ log *slog.Logger }

func (h httpLog) Write(p []byte) (int, error) {
	h.log.Warn("HTTP", "problem", string(p[:max(0, len(p)-1)]))
	return len(p), nil
}
