package signals

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

	"github.com/stepscope/stepscope/internal/api/servers"
	"github.com/stepscope/stepscope/internal/base/pause"
)

const (
	tailEvery = 200 * time.Millisecond // interval between reads of a file that does not grow
	mostLine  = 64 << 10               // maximum length of a line; a longer line is truncated
)

// Tail reads new lines of a log. The log is stdin or a file. A file is read from its current end onwards, even if
// the file is moved, truncated or recreated.
type Tail struct {
	path string
	file *os.File // nil: the file does not exist now but may reappear
	at   int64    // read offset

	half []byte // incomplete line at the end of the text read so far
	skip bool   // the current line is too long; the rest of the line is skipped

	mu    sync.Mutex
	log   Log
	lines int // complete lines
	known int // lines about the load
}

// OpenTail opens a log at the end of the file; "-" is stdin. [Tail.Follow] reads it.
func OpenTail(path string) (*Tail, error) {
	t := &Tail{path: path}
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

// Ranks returns the state of the ranks according to the log.
func (t *Tail) Ranks(now time.Time) []Rank {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.log.Ranks(now)
}

// Lines returns the number of lines read, and of those about the load.
func (t *Tail) Lines() (read, known int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lines, t.known
}

// Join adds the log's data to s, a sample of the same server. If the server exports nothing, Join returns a sample that
// contains only the log's data. The argument err is the error of Read.
func (t *Tail) Join(s *Sample, err error) (*Sample, error) {
	now := time.Now()
	ranks := t.Ranks(now)
	switch {
	case s != nil:
		s.Fill(ranks)
	case err == nil || errors.Is(err, ErrNothing):
		return OfLog(ranks, now), nil
	}
	return s, err
}

// Follow reads the log in the background until ctx ends. The function done waits until the reading has stopped.
func (t *Tail) Follow(ctx context.Context) (done func()) {
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
		if t.path != "-" { // do not wait for stdin: a read of stdin cannot be stopped and ends with the process
			<-ended
		}
	}
}

// more reads the data appended to the file.
func (t *Tail) more() {
	if t.file != nil {
		t.copy(t.file)
	}
	now, err := os.Stat(t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return // the log is being rotated
	case err != nil || t.file == nil:
	default:
		had, err := t.file.Stat()
		if err == nil && os.SameFile(had, now) {
			if now.Size() < t.at { // the file was truncated and is rewritten from the start
				t.file.Seek(0, io.SeekStart)
				t.at, t.half, t.skip = 0, nil, false
			}
			return
		}
		t.copy(t.file) // read the rest of the old file
		t.file.Close()
		t.file = nil
	}
	if f, err := os.Open(t.path); err == nil {
		t.file, t.at, t.half, t.skip = f, 0, nil, false
		t.copy(f)
	}
}

// copy processes the text of r up to its current end.
func (t *Tail) copy(r io.Reader) {
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

// take processes a piece of text, which may end in the middle of a line.
func (t *Tail) take(text []byte) {
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
		l, ok := servers.ParseLine(string(t.half))
		t.mu.Lock()
		t.lines++
		if ok {
			t.known++
			t.log.Add(&l, time.Now())
		}
		t.mu.Unlock()
		t.half, t.skip, text = t.half[:0], false, rest
	}
}
