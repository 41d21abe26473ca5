package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/base/pause"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/capture/signals"
)

const (
	tailEvery = 200 * time.Millisecond // between looks at a file that has grown no more
	mostLine  = 64 << 10               // what a line has at most; the rest of a longer one is passed over
)

// tail reads the batch lines that come to a log: a file, from its present end on, whatever becomes of it
// (it may be moved away, cut off, and be there again), or stdin.
type tail struct {
	path string
	say  *progress.Console
	file *os.File // nil: it is gone, and may come again
	at   int64    // how far it was read

	half []byte // a line that has not ended
	skip bool   // it is too long

	mu  sync.Mutex
	log signals.Log
}

// openTail begins at the end of the file.
func openTail(path string, say *progress.Console) (*tail, error) {
	t := &tail{path: path, say: say}
	if path == "-" {
		return t, nil
	}
	f, err := os.Open(path)
	if err == nil {
		t.at, err = f.Seek(0, io.SeekEnd)
	}
	if err != nil {
		return nil, fmt.Errorf("--log: %w", err)
	}
	t.file = f
	return t, nil
}

// ranks is what the log has said by now.
func (t *tail) ranks(now time.Time) []signals.Rank {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.log.Ranks(now)
}

// follow reads what comes until ctx ends and the function that it gives is called.
func (t *tail) follow(ctx context.Context) (done func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if t.path == "-" {
			t.copy(os.Stdin)
			return
		}
		for pause.For(ctx, tailEvery) {
			t.more()
		}
		if t.file != nil {
			t.file.Close()
		}
	}()
	return func() {
		if t.path != "-" { // a read of stdin ends with the process
			<-ended
		}
	}
}

// more reads what has come to the file.
func (t *tail) more() {
	if t.file != nil {
		t.copy(t.file)
	}
	now, err := os.Stat(t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return // it is being rotated
	case err != nil || t.file == nil:
	default:
		had, err := t.file.Stat()
		if err == nil && os.SameFile(had, now) {
			if now.Size() < t.at { // it was cut off, and is written from its beginning
				t.file.Seek(0, io.SeekStart)
				t.at, t.half, t.skip = 0, nil, false
			}
			return
		}
		t.copy(t.file) // what came to the old one last
		t.file.Close()
		t.file = nil
	}
	if f, err := os.Open(t.path); err == nil {
		t.file, t.at, t.half, t.skip = f, 0, nil, false
		t.copy(f)
	}
}

// copy reads to the end.
func (t *tail) copy(r io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		t.at += int64(n)
		t.take(buf[:n])
		if err != nil || n == 0 {
			return
		}
	}
}

// take takes a piece of text, which may end in the middle of a line.
func (t *tail) take(text []byte) {
	for {
		line, rest, ended := bytes.Cut(text, []byte("\n"))
		if !t.skip {
			t.half = append(t.half, line...)
		}
		if len(t.half) > mostLine {
			t.half, t.skip = nil, true
		}
		if !ended {
			return
		}
		if l, ok := signals.ParseLine(string(t.half)); ok {
			t.mu.Lock()
			t.log.Add(&l, time.Now())
			t.mu.Unlock()
		}
		t.half, t.skip, text = t.half[:0], false, rest
	}
}
