package torch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/stepscope/stepscope/internal/base/private"
)

// If stepscope is killed (kill -9, out of memory), only a window with a number of steps ends by itself. For a window of
// a fixed time, the server is therefore also given a number of steps. This number is larger than the number of steps
// that the server can run in that time.

// spareSteps is a margin for short windows. spareFactor is a margin for steps that become shorter.
const spareSteps, spareFactor = 100, 4

// bound returns the number of steps to give to the server. 0 means that the server gets no number, and the window ends
// only when it is stopped.
func (m *member) bound() int {
	if n, _ := m.told(); n > 0 || m.w.For <= 0 {
		return n
	}
	step := int64(m.profile().Step)
	if len(m.stretches) > 0 {
		step = max(slices.MinFunc(m.stretches, func(a, b stretch) int { return int(a.took - b.took) }).took/spareFactor, 1)
	}
	return int(int64(m.w.For)/step) + spareSteps
}

// sayUnbounded warns, before the window opens, if only stepscope can end the window.
func (m *member) sayUnbounded() {
	why := "a window without a number of steps does not end by itself"
	switch {
	case !m.profile().Ends:
		why = fmt.Sprintf("%s does not end windows by itself", m.kind)
	case m.bound() > 0:
		return
	}
	m.o.Log(fmt.Sprintf("%s: %s: if stepscope is killed before it closes this window, close it with: stepscope profile stop --url %s", m.URL, why, m.URL))
}

// opened is the record of an open window on a server. The record is needed because servers accept a second start while
// a window is open. vLLM ignores the second start, SGLang 0.5.17 loses the first window, and both answer 200. Each
// window is therefore recorded in a file until the window is closed.
type opened struct {
	URL  string    `json:"url"`
	At   time.Time `json:"at"`
	PID  int       `json:"pid"`
	Host string    `json:"host"`
}

// openFile returns the path of the record's file, or "" if no record is written.
func (m *member) openFile() string {
	if m.profile().Refuses || m.o.Sessions == "" {
		return ""
	}
	return filepath.Join(m.o.Sessions, "open", notPlain.ReplaceAllString(m.URL, "-")+".json")
}

// noteOpen records a window before it is opened. It returns an error if another window is known to be open. Before
// that, noteOpen closes an SGLang window if the stepscope process that opened the window was killed.
func (m *member) noteOpen(ctx context.Context) error {
	file := m.openFile()
	if file == "" {
		return nil
	}
	host, _ := os.Hostname()
	var was opened
	switch err := private.Read(file, &was); {
	case err == nil && was.Host == host && alive(was.PID):
		return fmt.Errorf("%s: stepscope process %d has had a window open there since %s: wait for it", m.URL, was.PID, was.At.Local().Format(time.DateTime))
	case err == nil && m.profile().Ends:
		if was.Host == host {
			m.o.Log(fmt.Sprintf("%s: a window that stepscope opened there at %s was not closed: closing it", m.URL, was.At.Local().Format(time.DateTime)))
			if _, err := m.stop(ctx); err != nil {
				if ctx.Err() != nil {
					return err
				}
				m.o.Log(err.Error()) // the following start shows whether the window is still open
			}
		}
	case err == nil:
		return fmt.Errorf("%s: a window that stepscope opened there at %s was not closed, and %s does not end windows by itself: close it with: stepscope profile stop --url %s, or, after profile start, with the command that it printed",
			m.URL, was.At.Local().Format(time.DateTime), m.kind, m.URL)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return private.Write(file, opened{m.URL, m.o.Now(), os.Getpid(), host})
}

// noteClosed removes the record that noteOpen wrote.
func (m *member) noteClosed() {
	if file := m.openFile(); file != "" {
		os.Remove(file)
	}
}

// alive reports whether a process of this machine is running.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, fs.ErrPermission)
}
