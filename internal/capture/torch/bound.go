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

// If stepscope is killed (kill -9, out of memory), a window still ends by itself if the server was given a number of
// steps. For a window of a fixed time, the server is given more steps than it can run in that time.

// Shortest steps assumed for an unknown server. A GPU takes more than a millisecond for a model worth serving.
const (
	shortStep     = time.Millisecond
	shortStepHere = 100 * time.Microsecond // stepscope serve has models with a few thousand weights
)

// spareSteps and spareFactor are margins for short windows, and for steps that become shorter.
const spareSteps, spareFactor = 100, 4

// bound returns the number of steps given to the server; 0: none, the window ends only when stopped.
func (m *member) bound() int {
	if n, _ := m.told(); n > 0 || m.w.For <= 0 {
		return n
	}
	step := int64(shortStep)
	if m.kind == Stepscope {
		step = int64(shortStepHere)
	}
	if len(m.stretches) > 0 {
		step = max(slices.MinFunc(m.stretches, func(a, b stretch) int { return int(a.took - b.took) }).took/spareFactor, 1)
	}
	return int(int64(m.w.For)/step) + spareSteps
}

// sayUnbounded warns beforehand if only stepscope can end the window.
func (m *member) sayUnbounded() {
	why := "a window without a number of steps does not end by itself"
	switch {
	case m.kind == VLLM:
		why = "vLLM does not end windows by itself"
	case m.bound() > 0:
		return
	}
	m.o.Log(fmt.Sprintf("%s: %s: if stepscope is killed before it closes this window, close it with: stepscope profile stop --url %s", m.URL, why, m.URL))
}

// opened records a window for which a second start would be accepted: vLLM ignores a second start, SGLang 0.5.17 loses
// the first window, and both answer 200. So each window is recorded in a file until it is closed.
type opened struct {
	URL  string    `json:"url"`
	At   time.Time `json:"at"`
	PID  int       `json:"pid"`
	Host string    `json:"host"`
}

// openFile returns the path of that file, or "" if none is written.
func (m *member) openFile() string {
	if m.kind == Stepscope || m.o.Sessions == "" {
		return ""
	}
	return filepath.Join(m.o.Sessions, "open", notPlain.ReplaceAllString(m.URL, "-")+".json")
}

// noteOpen records a window before it is opened. It returns an error if another window is known to be open. It first
// closes an SGLang window whose stepscope process was killed.
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
	case err == nil && m.kind != VLLM:
		if was.Host == host {
			m.o.Log(fmt.Sprintf("%s: a window that stepscope opened there at %s was not closed: closing it", m.URL, was.At.Local().Format(time.DateTime)))
			if _, err := m.stop(ctx); err != nil {
				if ctx.Err() != nil {
					return err
				}
				m.o.Log(err.Error()) // the start shows whether it is still open
			}
		}
	case err == nil:
		return fmt.Errorf("%s: a window that stepscope opened there at %s was not closed, and vLLM does not end windows by itself: close it with: stepscope profile stop --url %s, or, after profile start, with the command that it printed",
			m.URL, was.At.Local().Format(time.DateTime), m.URL)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return private.Write(file, opened{m.URL, m.o.Now(), os.Getpid(), host})
}

// noteClosed removes the record of noteOpen.
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
