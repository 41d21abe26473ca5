// Package loglimit rate-limits log lines that peers can trigger: without a limit a peer could make a server write a line
// for each packet it sends.
package loglimit

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// So many lines of one text may come at once, and one more in each period.
const (
	atOnce = 10
	period = time.Second
)

// Lines decides which lines are written, those of each text by themselves. The zero value is ready.
type Lines struct {
	mu     sync.Mutex
	byText map[string]*line
}

type line struct {
	free float64   // that may still come at once
	at   time.Time // of the last one
	lost int
}

// maxTexts bounds the memory, should texts turn out to be many.
const maxTexts = 1000

// take tells whether a line may be written, and how many before it were not.
func (l *Lines) take(text string, now time.Time) (lost int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.byText[text]
	if one == nil {
		if l.byText == nil || len(l.byText) == maxTexts {
			l.byText = map[string]*line{}
		}
		one = &line{free: atOnce, at: now}
		l.byText[text] = one
	}
	one.free = min(atOnce, one.free+float64(now.Sub(one.at))/float64(period))
	one.at = now
	if one.free < 1 {
		one.lost++
		return 0, false
	}
	one.free--
	lost, one.lost = one.lost, 0
	return lost, true
}

// Printf writes a line by log, if it is its time; lines of one format are of one text.
func (l *Lines) Printf(log func(string), format string, args ...any) {
	lost, ok := l.take(format, time.Now())
	if !ok {
		return
	}
	text := fmt.Sprintf(format, args...)
	if lost > 0 {
		text += fmt.Sprintf(" (%d more such lines were not written)", lost)
	}
	log(text)
}

// Log limits the rate of a log's warnings and errors. The next line that is written tells how many were not.
func Log(log *slog.Logger) *slog.Logger {
	return slog.New(&handler{Handler: log.Handler(), lines: &Lines{}})
}

type handler struct {
	slog.Handler
	lines *Lines // counted for all handlers that come of one
}

// Handle writes a line, if it is its time.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
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
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{h.Handler.WithAttrs(attrs), h.lines}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.Handler.WithGroup(name), h.lines}
}
