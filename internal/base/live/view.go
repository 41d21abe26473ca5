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
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/base/columns"
	"golang.org/x/term"
)

// Frame returns the lines to draw now on a terminal of the given size. Calls are never concurrent.
type Frame func(columns, rows int) []string

// every is the time between two frames.
const every = 250 * time.Millisecond

// View is a live frame on a terminal.
type View struct {
	out   io.Writer
	frame Frame
	size  func() (columns, rows int) // of the terminal; 0 if unknown
	away  func() bool                // whether another program owns the terminal

	mu    sync.Mutex
	drawn []string // the frame on the screen, above the line of the cursor
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
	if wide < 2 || v.away() {
		return
	}
	lines := v.frame(wide-1, high) // text in the last column would leave the cursor between two lines
	if most := max(high-1, 1); len(lines) > most {
		lines = lines[:most]
	}
	v.write(v.erase(), lines)
}

// erase returns the codes that remove the frame and leave the cursor where the frame began, even if typed text has
// moved the cursor in its line.
func (v *View) erase() string {
	if len(v.drawn) == 0 {
		return ""
	}
	wide, _ := v.size()
	rows := 0
	for _, line := range v.drawn {
		rows += max(1, (columns.Width(line)+wide-1)/max(wide, 1)) // a narrower terminal has broken the lines
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", rows)
}

// write writes a text and a frame below it at once, so that no state between them is seen.
func (v *View) write(text string, frame []string) {
	v.drawn = frame
	for _, line := range frame {
		text += line + "\n"
	}
	if text != "" {
		io.WriteString(v.out, strings.ReplaceAll(text, "\n", "\r\n"))
	}
}
