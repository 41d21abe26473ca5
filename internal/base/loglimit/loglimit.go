// Package loglimit limits the rate of log lines that peers can trigger. Without a limit a peer could make a server
// write a line for each packet it sends.
package loglimit

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Burst and refill rate of the lines of one text: atOnce at once, and one more per period.
const (
	atOnce = 10
	period = time.Second
)

// Lines limits the rate of lines, separately for each text. The zero value is ready to use.
type Lines struct {
	mu     sync.Mutex
	byText map[string]*line
}

type line struct {
	free float64   // lines that may still come at once
	at   time.Time // time of the last line
	lost int
}

// maxTexts limits the memory for many different texts.
const maxTexts = 1000

// take reports whether a line may be written, and how many lines were dropped before it.
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

// Printf writes a line with log if the limit allows. The limit is per format.
func (l *Lines) Printf(log func(string), format string, args ...any) {
	lost, ok := l.take(format, time.Now())
	if !ok {
		return
	}
	text := fmt.Sprintf(format, args...)
	if lost > 0 {
		text += fmt.Sprintf(" (%d more such lines omitted)", lost)
	}
	log(text)
}

// Log returns a logger that limits the rate of log's warnings and errors. The next line written reports the number of
// dropped lines.
func Log(log *slog.Logger) *slog.Logger {
	return slog.New(&handler{Handler: log.Handler(), lines: &Lines{}})
}

type handler struct {
	slog.Handler
	lines *Lines // shared by all handlers derived from one
}

// Handle writes a record if the limit allows.
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
