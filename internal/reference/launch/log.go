package launch

import (
	"io"
	"log/slog"
	"sync"
	"time"
)

// Log writes lines in SGLang's format: "[2026-01-02 15:04:05] text". It is safe for concurrent use.
type Log struct {
	mu     sync.Mutex
	w      io.Writer
	layout string // format of the time
}

// NewLog returns a log that writes to w.
func NewLog(w io.Writer) *Log { return &Log{w: w, layout: "[2006-01-02 15:04:05] "} }

// NewShortLog returns a log with the time format of SGLang's diffusion programs, without the year.
func NewShortLog(w io.Writer) *Log { return &Log{w: w, layout: "[01-02 15:04:05] "} }

// Line writes one line.
func (l *Log) Line(text string) { l.Write([]byte(text + "\n")) }

// Write writes the time and then p, which must consist of complete lines.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(append(time.Now().AppendFormat(nil, l.layout), p...))
}

// Raw returns a writer for lines that already begin with the time.
func (l *Log) Raw() io.Writer { return raw{l} }

type raw struct{ l *Log }

func (r raw) Write(p []byte) (int, error) {
	r.l.mu.Lock()
	defer r.l.mu.Unlock()
	return r.l.w.Write(p)
}

// Structured returns a logger for level and above. It writes key=value pairs after the text. Except for level info, it
// also writes the level.
func (l *Log) Structured(level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey && a.Value.Any() == slog.LevelInfo) {
			return slog.Attr{}
		}
		return a
	}}))
}
