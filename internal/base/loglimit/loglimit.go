// Package loglimit limits the rate of log lines that peers can trigger. Without a limit, a peer could make a server
// write a log line for each packet that the peer sends.
package loglimit

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Limit for lines of the same text: atOnce lines without a delay, and one more line per period.
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
	free float64   // lines that may still be written without a delay
	at   time.Time // time of the last line
	lost int
}

// maxTexts is the maximum number of texts that Lines distinguishes. It limits the memory.
const maxTexts = 1000

// take reports whether a line may be written, and how many lines of this text were dropped before it.
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

// Printf writes a line with log if the limit allows it. All lines of one format share a limit.
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

// Log returns a logger that limits the rate of log's warnings and errors. The next line of the same text that is
// written reports the number of dropped lines.
func Log(log *slog.Logger) *slog.Logger {
	return slog.New(&handler{Handler: log.Handler(), lines: &Lines{}})
}

type handler struct {
	slog.Handler
	lines *Lines // shared by all handlers that are derived from the same handler
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

// WithAttrs and WithGroup return handlers that share the limit of h.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{h.Handler.WithAttrs(attrs), h.lines}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.Handler.WithGroup(name), h.lines}
}
