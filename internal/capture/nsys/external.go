package nsys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/pause"
)

// ExternalSession is a session that another process started and on which this process opens windows. Either [Run] made
// the session and stored a Record in Dir, or the user started the session directly with nsys.
type ExternalSession struct {
	Tool    *Tool
	Session Session
	Record  *Record // nil: the session was not made by Run
	Dir     string
	Run     string // id of the session's run; "": none
}

// Start opens a window. The report will be written to output or, if output is "", to a generated name.
func (t *ExternalSession) Start(ctx context.Context, output string, options []string) (*Window, error) {
	if t.Record == nil {
		w := &Window{Output: output, Opened: time.Now().UTC()}
		if output == "" {
			var err error
			if w.Output, err = freeName(t.Session.Name); err != nil {
				return nil, err
			}
		}
		return w, t.Tool.Start(ctx, t.Session.ID, w.Output, options)
	}
	// Wait until the session is ready, before NewWindow assigns a number.
	s, err := t.Tool.waitState(ctx, t.Session.ID, statePatient, func(s State) bool { return !s.Starting() })
	if err != nil {
		return nil, err
	}
	if s != nil && !s.State.Ready() {
		return nil, &StateError{*s, startHint(s.State)}
	}
	w, err := t.Record.NewWindow(t.Dir, output)
	if err != nil {
		return nil, err
	}
	all := slices.Clone(options)
	for _, o := range t.Record.Options {
		if !gives(options, optionName(o)) {
			all = append(all, o)
		}
	}
	if err := t.Tool.Start(ctx, t.Session.ID, w.Output, all); err != nil {
		w.Drop(t.Dir)
		return nil, err
	}
	w.Opened = time.Now().UTC()
	return w, w.Save(t.Dir)
}

// freeName returns an unused report name in the working directory.
func freeName(session string) (string, error) {
	session = strings.Trim(session, "[]") // a session name may have brackets, as in [default]
	for n := 1; ; n++ {
		path, err := filepath.Abs(fmt.Sprintf("%s-window-%d%s", session, n, Suffix))
		if err != nil {
			return "", err
		}
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			return path, nil
		}
	}
}

// ErrNoReport means that the window was closed before anything was collected.
var ErrNoReport = errors.New("there is no report: none had begun")

// Stop closes the window and moves the report to output. If output is "", Stop moves the report to the destination
// given at the start.
func (t *ExternalSession) Stop(ctx context.Context, output string, patience time.Duration) (*Window, error) {
	w := &Window{Output: output}
	if t.Record != nil {
		if open := Open(t.Dir); open != nil {
			w = open
			if output != "" {
				w.Output = output
			}
		}
	}
	ours := w.N > 0
	if ours { // prevent Run from arming another window before Stop is done
		w.Closed = time.Now().UTC()
		if err := w.Save(t.Dir); err != nil {
			return nil, err
		}
	}
	made, err := t.Tool.Stop(ctx, t.Session.ID, patience)
	if err != nil {
		if ours {
			w.Closed = time.Time{}
			err = errors.Join(err, w.Save(t.Dir))
		}
		return nil, err
	}
	if len(made) == 0 && t.Session.State.Armed() {
		if ours {
			w.Drop(t.Dir)
		}
		return nil, ErrNoReport
	}
	path, size, err := t.Tool.Settle(ctx, made, w.Output)
	w.Report, w.Size, w.Closed = path, size, time.Now().UTC()
	if ours {
		if saveErr := w.Close(t.Dir, path, size, err); err == nil {
			err = saveErr
		}
	}
	return w, err
}

// Next returns the current window of a session of mode Range. The window either waits for its range, or the range has
// begun. If the session does not wait for further ranges, Next returns nil.
func (t *ExternalSession) Next(ctx context.Context) *Window {
	began, idle := time.Now(), time.Now()
	for {
		s, err := t.Tool.Look(ctx, t.Session.ID)
		if err != nil || s == nil {
			return nil
		}
		if w := Open(t.Dir); w != nil && (s.State.Armed() || s.State.Collecting()) {
			return w
		}
		if !s.State.Ready() {
			idle = time.Now() // a report is being generated
		}
		if time.Since(idle) > rearmed || time.Since(began) > startPatience || !pause.For(ctx, pollEvery) {
			return nil
		}
	}
}

// rearmed is the maximum time from the end of a report to the moment when the session waits for the next range.
const rearmed = 3 * time.Second
