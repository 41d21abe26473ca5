// Package live draws a frame of a few lines below the text of a terminal, four times a second, and removes the frame at
// the end. The caller supplies the contents of the frame.
//
// The terminal's settings stay unchanged: the package reads no keys, sets no modes and leaves the cursor visible, so
// nothing has to be restored, regardless of how the program ends. Interrupts and stops work as usual.
package live

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/base/columns"
	"golang.org/x/term"
)

// Frame returns the lines to draw now on a terminal of the given size. Calls are never concurrent.
type Frame func(columns, rows int) []string

const (
	// every is the time between two frames.
	every = 250 * time.Millisecond
	// stale is the age of a frame from which it is left on the screen: the process was stopped, and others have printed.
	stale = 4 * every
)

// View is a live frame on a terminal.
type View struct {
	out   io.Writer
	frame Frame
	size  func() (columns, rows int) // of the terminal; 0 if unknown
	away  func() bool                // whether another program owns the terminal

	mu    sync.Mutex
	drawn []string  // the frame on the screen, above the line of the cursor
	at    time.Time // when it was drawn
	over  bool
	quit  chan struct{}
	ended sync.WaitGroup
}

// Start draws the frame on out until Stop is called.
func Start(out *os.File, frame Frame) *View {
	v := &View{
		out: out, frame: frame, quit: make(chan struct{}),
		size: func() (int, int) {
			columns, rows, _ := term.GetSize(int(out.Fd())) // 0 on an error
			return columns, rows
		},
		away: func() bool { return behind(out) },
	}
	heard := make(chan struct{})
	v.ended.Go(func() { v.attend(heard) })
	<-heard
	v.ended.Go(func() {
		for tick := time.NewTicker(every); ; {
			v.mu.Lock()
			if !v.over {
				v.draw()
			}
			v.mu.Unlock()
			select {
			case <-tick.C:
			case <-v.quit:
				tick.Stop()
				return
			}
		}
	})
	return v
}

// Stop removes the frame. It may be called more than once.
func (v *View) Stop() {
	v.mu.Lock()
	if v.over {
		v.mu.Unlock()
		return
	}
	v.over = true
	v.write(v.erase(), nil)
	close(v.quit)
	v.mu.Unlock()
	v.ended.Wait()
}

// Line prints a line above the frame.
func (v *View) Line(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.write(v.erase()+text+"\n", v.drawn)
}

// draw replaces the frame on the screen. The caller holds the lock.
func (v *View) draw() {
	wide, high := v.size()
	if v.away() {
		v.drawn = nil // other programs print over it
		return
	}
	if wide < 2 {
		return
	}
	wide-- // text in the last column would leave the cursor between two lines
	lines := slices.Clone(v.frame(wide, high))
	if most := max(high-1, 1); len(lines) > most {
		lines = lines[:most]
	}
	for i := range lines {
		lines[i] = columns.Short(blanks.Replace(lines[i]), wide)
	}
	v.write(v.erase(), lines)
}

// blanks replaces the characters that would move the cursor.
var blanks = strings.NewReplacer("\n", " ", "\t", " ", "\r", " ")

// erase returns the codes that remove the frame and leave the cursor where the frame began, even if typed text has
// moved the cursor in its line.
func (v *View) erase() string {
	if len(v.drawn) == 0 || time.Since(v.at) > stale {
		return ""
	}
	wide, _ := v.size()
	rows := len(v.drawn)
	for _, line := range v.drawn {
		if n := columns.Width(line); wide > 0 && n > wide {
			rows += (n - 1) / wide // a narrower terminal has broken the line
		}
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", rows)
}

// write writes a text and a frame below it at once, so that no state between them is seen.
func (v *View) write(text string, frame []string) {
	v.drawn, v.at = frame, time.Now()
	for _, line := range frame {
		text += line + "\n"
	}
	if text != "" {
		io.WriteString(v.out, strings.ReplaceAll(text, "\n", "\r\n"))
	}
}
