package client

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// Limits on waiting for a server. Tests shorten them.
var (
	replyLimit = 6 * time.Hour    // maximum duration of a request, as in SGLang's client
	getLimit   = time.Minute      // maximum duration of a GET, for which a server computes nothing
	stallLimit = 10 * time.Minute // maximum time between two reads of a body or two events of a stream
	errorLimit = 10 * time.Second // maximum time to read the body of a refusal
)

// watched is the body of a reply. The body is closed if there is no progress for the duration in limit.
type watched struct {
	io.ReadCloser
	limit time.Duration
	timer *time.Timer
	late  atomic.Bool
	reads bool // whether every read counts as progress; if not, the caller calls progress
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
