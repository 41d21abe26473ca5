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

// What is left when stepscope is killed (kill -9, no memory) ends by itself where a server takes a number of steps: one
// that is told it closes its window after so many, whether anybody asks or not. A window of a time is told so many steps
// as the server cannot make in it.

// The shortest steps of a server of which nothing is known. A GPU takes more than a millisecond for a model worth serving.
const (
	shortStep     = time.Millisecond
	shortStepHere = 100 * time.Microsecond // stepscope serve has models of a few thousand weights
)

// spareSteps are room for short windows, and for steps that get shorter.
const spareSteps, spareFactor = 100, 4

// bound is the number of steps that the server is told; 0: none, the window ends when somebody stops it.
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

// sayUnbounded says beforehand that nobody but stepscope ends the window, where that is so.
func (m *member) sayUnbounded() {
	why := "a window without a number of steps has no end of its own"
	switch {
	case m.kind == VLLM:
		why = "vLLM ends no window by itself"
	case m.bound() > 0:
		return
	}
	m.o.Log(fmt.Sprintf("%s: %s: should stepscope be killed before it closes this one, end it with: stepscope profile stop --url %s", m.URL, why, m.URL))
}

// opened is a window that a server may be asked for twice: vLLM takes a second start for none, and SGLang 0.5.17 loses
// it, and both answer 200. So each is written down until it is closed.
type opened struct {
	URL  string    `json:"url"`
	At   time.Time `json:"at"`
	PID  int       `json:"pid"`
	Host string    `json:"host"`
}

// openFile is where that is written; "": it is not.
func (m *member) openFile() string {
	if m.kind == Stepscope || m.o.Sessions == "" {
		return ""
	}
	return filepath.Join(m.o.Sessions, "open", notPlain.ReplaceAllString(m.URL, "-")+".json")
}

// noteOpen writes down that a window is about to be opened. The error is that another one is open, as far as it is known
// here. One of SGLang whose stepscope was killed is closed first.
func (m *member) noteOpen(ctx context.Context) error {
	file := m.openFile()
	if file == "" {
		return nil
	}
	host, _ := os.Hostname()
	var was opened
	switch err := private.Read(file, &was); {
	case err == nil && was.Host == host && alive(was.PID):
		return fmt.Errorf("%s: process %d of stepscope has had a window open there since %s: wait for it", m.URL, was.PID, was.At.Local().Format(time.DateTime))
	case err == nil && m.kind != VLLM:
		if was.Host == host {
			m.o.Log(fmt.Sprintf("%s: a window that stepscope opened there at %s was not closed: closing it", m.URL, was.At.Local().Format(time.DateTime)))
			if _, err := m.stop(ctx); err != nil {
				if ctx.Err() != nil {
					return err
				}
				m.o.Log(err.Error()) // the start tells whether it is still open
			}
		}
	case err == nil:
		return fmt.Errorf("%s: a window that stepscope opened there at %s was not closed, and vLLM ends none by itself: end it with: stepscope profile stop --url %s, or, of profile start, with what that said",
			m.URL, was.At.Local().Format(time.DateTime), m.URL)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return private.Write(file, opened{m.URL, m.o.Now(), os.Getpid(), host})
}

// noteClosed takes back what noteOpen wrote.
func (m *member) noteClosed() {
	if file := m.openFile(); file != "" {
		os.Remove(file)
	}
}

// alive tells whether a process of this machine runs.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, fs.ErrPermission)
}
