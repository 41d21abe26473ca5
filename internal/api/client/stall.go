package client

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// What a server may keep a caller waiting for, when it has begun to answer or should have. Tests have shorter ones.
var (
	replyLimit = 6 * time.Hour    // a whole request, as SGLang's client has it
	getLimit   = time.Minute      // a whole GET, which computes nothing
	stallLimit = 10 * time.Minute // between two pieces of a body, or two events of a stream
	errorLimit = 10 * time.Second // the body of a refusal
)

// A watched body ends when nothing counted as progress for a time.
type watched struct {
	io.ReadCloser
	limit time.Duration
	timer *time.Timer
	late  atomic.Bool
	reads bool // each piece is progress; else the caller says what is
}

func watch(body io.ReadCloser, limit time.Duration, reads bool) *watched {
	w := &watched{ReadCloser: body, limit: limit, reads: reads}
	w.timer = time.AfterFunc(limit, func() {
		w.late.Store(true)
		body.Close()
	})
	return w
}

func (w *watched) progress() { w.timer.Reset(w.limit) }

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if n > 0 && w.reads {
		w.progress()
	}
	if err != nil && w.late.Load() {
		err = fmt.Errorf("no data for %v", w.limit)
	}
	return n, err
}

func (w *watched) Close() error {
	w.timer.Stop()
	return w.ReadCloser.Close()
}
