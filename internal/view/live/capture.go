package live

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/capture/torch"
)

// States of a capture.
const (
	recording = "recording"
	done      = "done"
	failed    = "failed"
	stopped   = "stopped"
)

const (
	mostSteps = 10_000
	mostLines = 40                     // maximum number of messages kept
	look      = 250 * time.Millisecond // interval at which progress is polled
)

// Capture describes a recording of a window, in progress or finished.
type Capture struct {
	N     int      `json:"n"` // sequence number, from 1
	Steps int      `json:"steps"`
	State string   `json:"state"`
	Lines []string `json:"lines"` // messages so far
	Now   []string `json:"now"`   // progress of each server
	Run   string   `json:"run"`   // id of the resulting run, set when the capture is done
	Error string   `json:"error"`
}

// capture is a Capture and the state needed while it is in progress.
type capture struct {
	cancel   context.CancelFunc
	progress torch.Progress

	mu sync.Mutex
	Capture
}

// now returns a snapshot of the capture.
func (c *capture) now() *Capture {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.Capture
	out.Lines, out.Now = slices.Clone(out.Lines), []string{}
	if out.State == recording {
		out.Now = append(out.Now, c.progress.Lines(80)...)
	}
	return &out
}

// Write appends text to the messages, line by line.
func (c *capture) Write(text []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for line := range strings.SplitSeq(strings.TrimRight(string(text), "\n"), "\n") {
		c.Lines = append(c.Lines, line)
	}
	c.Lines = c.Lines[max(len(c.Lines)-mostLines, 0):]
	return len(text), nil
}

// begin starts a capture, unless one is in progress. The body of the request is, for example, {"steps": 10}.
func (l *Live) begin(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Steps int }
	switch err := json.NewDecoder(io.LimitReader(r.Body, 4096)).Decode(&asked); {
	case !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") || err != nil:
		refuse(w, http.StatusBadRequest, `send JSON such as {"steps": 10}`)
		return
	case asked.Steps < 1 || asked.Steps > mostSteps:
		refuse(w, http.StatusBadRequest, "steps: give 1 to 10000")
		return
	case l.record == nil:
		refuse(w, http.StatusNotFound, "there is no directory for recordings: give --run-dir")
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil || l.ctx.Err() != nil {
		refuse(w, http.StatusServiceUnavailable, "the viewer is shutting down")
		return
	}
	n := 1
	if l.capture != nil {
		before := l.capture.now()
		if before.State == recording {
			refuse(w, http.StatusConflict, "a window is being recorded: wait for it, or stop it")
			return
		}
		n = before.N + 1
	}
	ctx, cancel := context.WithCancel(l.ctx)
	c := &capture{cancel: cancel, Capture: Capture{N: n, Steps: asked.Steps, State: recording, Lines: []string{}, Now: []string{}}}
	l.capture = c
	l.work.Go(func() { l.take(ctx, c) })
	l.publish(event{"capture", c.now()})
	reply(w, http.StatusAccepted, c.now())
}

// stop ends the capture in progress. The profilers are stopped, and nothing is kept.
func (l *Live) stop(w http.ResponseWriter, _ *http.Request) {
	l.mu.Lock()
	c := l.capture
	l.mu.Unlock()
	if c == nil || c.now().State != recording {
		refuse(w, http.StatusConflict, "nothing is being recorded")
		return
	}
	c.cancel()
	reply(w, http.StatusAccepted, c.now())
}

// take records a window, and reports its progress to all pages.
func (l *Live) take(ctx context.Context, c *capture) {
	defer c.cancel()
	over := make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() {
		tick := time.NewTicker(look)
		defer tick.Stop()
		said := ""
		for {
			select {
			case <-tick.C:
			case <-over:
				return
			}
			now := c.now()
			if text := strings.Join(now.Lines, "\n") + "\n\n" + strings.Join(now.Now, "\n"); text != said {
				said = text
				l.announce(now)
			}
		}
	})
	run, err := l.record(ctx, c.Steps, &progress.Console{W: c}, &c.progress)
	close(over)
	telling.Wait()
	c.mu.Lock()
	switch c.State, c.Run = done, run; {
	case err != nil && (errors.Is(err, context.Canceled) || ctx.Err() != nil):
		c.State, c.Error = stopped, "stopped before it was complete"
	case err != nil:
		c.State, c.Error = failed, err.Error()
	}
	c.mu.Unlock()
	l.announce(c.now())
}

func (l *Live) announce(now *Capture) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.publish(event{"capture", now})
}
