package torch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/progress"
)

// Stop ends all windows that may still be recording, and returns when the servers have written the traces. A window
// that has closed by itself is not an error. If only some servers fail, their errors are logged, and Collect returns
// the recordings of the other servers. Stop returns an error only if all servers fail.
func (s *Session) Stop(ctx context.Context) error {
	var failed atomic.Int32
	err := s.each(func(m *member) error {
		if !m.recording() {
			return nil
		}
		_, err := m.stop(ctx)
		if err == nil || ctx.Err() != nil || len(s.members) == 1 {
			return err
		}
		s.o.Log(err.Error())
		failed.Add(1)
		return nil
	})
	if errors.Is(ctx.Err(), context.Canceled) { // a stop request may not have been sent yet
		return errors.Join(err, s.abort(ctx))
	}
	if n := int(failed.Load()); err == nil && n == len(s.members) {
		err = fmt.Errorf("none of the %d servers could be stopped", n)
	}
	return err
}

// abortPatience is the timeout for writing an abandoned window. The server receives the stop request long before that.
const abortPatience = 20 * time.Second

// abort stops all recordings, even if ctx has already ended.
func (s *Session) abort(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortPatience)
	defer cancel()
	return s.each(func(m *member) error {
		if !m.recording() {
			return nil
		}
		end, err := m.stop(ctx)
		if err == nil && end == wasIdle && m.profile().Silent && (m.w.StartStep > 0 || m.w.ByStage) {
			err = m.disarm(ctx)
		}
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("%s: is still writing its window", m.URL)
		}
		return err
	})
}

// ending is a server's answer to a stop request.
type ending int

const (
	wasOpen ending = iota // the request ended the window
	wasIdle               // the window had ended before, or had not begun
)

// writePatience is the timeout of a stop. SGLang answers after the traces are written, which can take minutes.
const writePatience = 30 * time.Minute

// stop ends the window. If the window is not open, stop returns wasIdle, not an error.
func (m *member) stop(ctx context.Context) (ending, error) {
	m.doing(doingStop)
	defer progress.Paces{First: m.o.slow}.Await(ctx, m.saySlow())()
	end, err := m.stopBy(ctx, "/stop_profile")
	if errors.Is(err, errNoStop) {
		// This is the name in SGLang's older guides; some servers use it.
		end, err = m.stopBy(ctx, "/end_profile")
	}
	if err == nil {
		m.record(false)
		m.written(time.Now())
		if end == wasIdle && m.w.NumSteps == 0 && m.w.For > 0 {
			m.mu.Lock()
			m.notes = append(m.notes, fmt.Sprintf("the window ended before %v had passed: the server had run the maximum number of steps set for it, or someone else stopped it", m.w.For))
			m.mu.Unlock()
		}
	}
	return end, err
}

// saySlow returns a function that reports a stop request without an answer. The first report includes the likely
// reason.
func (m *member) saySlow() func(waited time.Duration) {
	said := false
	return func(waited time.Duration) {
		text := fmt.Sprintf("%s: is still writing its traces, %v after the request to stop", m.URL, waited.Round(time.Second))
		if !said {
			said = true
			text = fmt.Sprintf("%s: was asked to stop, and answers when its traces are written", m.URL)
			if m.profile().Stalls {
				text += "; until then it serves no requests. A few steps take seconds, but 4 s of an idle server with Python stacks took a minute"
			}
		}
		m.o.Log(text)
	}
}

var errNoStop = errors.New("it has no route /stop_profile")

func (m *member) stopBy(ctx context.Context, route string) (ending, error) {
	r, err := m.ask(ctx, http.MethodPost, route, nil, writePatience)
	if err != nil {
		return wasOpen, fmt.Errorf("the profiler may still record: %w", err)
	}
	text := reasonOf(r)
	switch {
	case r.Status/100 == 2:
		return wasOpen, nil
	case r.Status == http.StatusConflict, strings.Contains(text, strings.TrimSuffix(api.ErrProfileIdle.Error(), ".")):
		return wasIdle, nil
	case r.Status == http.StatusInternalServerError && m.profile().Silent && (text == "" || strings.Contains(text, "Internal Server Error")):
		return wasIdle, nil // SGLang writes the reason only to its log
	case r.Status == http.StatusNotFound:
		return wasOpen, fmt.Errorf("%s: %w", m.URL, errNoStop)
	}
	return wasOpen, fmt.Errorf("%s: refused to stop its profile, which may still record: %d %s", m.URL, r.Status, text)
}

// disarm undoes a start that waits for its start step. SGLang cannot cancel such a start. Therefore disarm sends a
// start without a start step, which replaces the waiting start and can be stopped.
func (m *member) disarm(ctx context.Context) error {
	r := startRequest{OutputDir: m.dir, Activities: []string{"CPU"}, NumSteps: "1"}
	body, _ := json.Marshal(r)
	if _, err := m.ask(ctx, http.MethodPost, "/start_profile", body, askPatience); err != nil {
		return err
	}
	_, err := m.stop(ctx)
	return err
}

// StopAll ends all recordings of the servers, regardless of the processes that started the recordings. The result open
// maps the URL of each server to whether the server had an open window. Workers behind a router appear under their own
// URLs. The result down lists the URLs of workers that are down. After ctx ends, StopAll continues for a limited time,
// so that a requested stop still takes place.
func StopAll(ctx context.Context, targets []Target, o Options) (open map[string]bool, down []string, err error) {
	targets, err = named(targets)
	if err != nil {
		return nil, nil, err
	}
	interrupted := ctx
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(interrupted, func() { time.AfterFunc(abortPatience, cancel) })()
	s := &Session{o: o.withDefaults()}
	if err := s.connect(ctx, targets); err != nil {
		return nil, nil, err
	}
	open = map[string]bool{}
	var mu sync.Mutex
	err = s.each(func(m *member) error {
		end, err := m.stop(ctx)
		mu.Lock()
		defer mu.Unlock()
		open[m.URL] = err == nil && end == wasOpen
		return err
	})
	for _, d := range s.down {
		down = append(down, d.URL)
	}
	return open, down, err
}
