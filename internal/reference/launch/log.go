package launch

import (
	"io"
	"log/slog"
	"sync"
	"time"
)

// Log writes lines in the form of SGLang's: "[2026-01-02 15:04:05] text". It is
// for many goroutines.
type Log struct {
	mu     sync.Mutex
	w      io.Writer
	layout string // of the time
}

// NewLog writes to w.
func NewLog(w io.Writer) *Log { return &Log{w: w, layout: "[2006-01-02 15:04:05] "} }

// NewShortLog writes the time as SGLang's diffusion programs do, without the year.
func NewShortLog(w io.Writer) *Log { return &Log{w: w, layout: "[01-02 15:04:05] "} }

// Line writes one line.
func (l *Log) Line(text string) { l.Write([]byte(text + "\n")) }

// Write writes p, which is whole lines, behind the time.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(append(time.Now().AppendFormat(nil, l.layout), p...))
}

// Raw gives a writer for lines that have their time.
func (l *Log) Raw() io.Writer { return raw{l} }

type raw struct{ l *Log }

func (r raw) Write(p []byte) (int, error) {
	r.l.mu.Lock()
	defer r.l.mu.Unlock()
	return r.l.w.Write(p)
}

// Structured gives a logger of level and above: key=value behind the text, the
// level only when it is not info.
func (l *Log) Structured(level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey && a.Value.Any() == slog.LevelInfo) {
			return slog.Attr{}
		}
		return a
	}}))
}
