package progress

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/live"
)

// Console shows messages and the progress of work on a terminal or in a log. The result of the work is written
// elsewhere. Its methods are safe for concurrent use.
type Console struct {
	W        io.Writer
	Terminal bool   // whether W is a terminal, so that progress may be drawn
	Quiet    bool   // whether to print only warnings
	Unread   func() // called from any goroutine when W no longer has a reader; may be nil

	mu         sync.Mutex
	drawn      bool       // whether a line of Steps is unfinished
	view       *live.View // the view that Show started; nil: none
	incomplete atomic.Bool
}

// Line prints a message unless Quiet is set.
func (c *Console) Line(text string) {
	if !c.Quiet {
		c.print(text)
	}
}

// print prints a line. It removes cursor movements, because the line may contain text from files.
func (c *Console) print(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text = columns.Lines(text)
	if c.view != nil {
		c.view.Line(text)
		return
	}
	c.endDrawn()
	if _, err := fmt.Fprintln(c.W, text); errors.Is(err, syscall.EPIPE) && c.Unread != nil {
		c.Unread()
	}
}

// Show draws a frame below all printed text, if W is a terminal, until end is called. Call end before printing to
// stdout. Only one frame is drawn at a time: while one is drawn, further calls draw nothing.
func (c *Console) Show(frame live.Frame) (end func()) {
	f, ok := c.W.(*os.File)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !ok || !c.Terminal || c.Quiet || c.view != nil {
		return func() {}
	}
	c.endDrawn()
	view := live.Start(f, func(width, rows int) []string {
		lines := frame(width, rows)
		for i := range lines {
			lines[i] = columns.Lines(lines[i])
		}
		return lines
	})
	c.view = view
	return func() { c.clear(view) }
}

// Clear removes the drawn frame.
func (c *Console) Clear() { c.clear(nil) }

// clear stops the current view if it is the given view. If view is nil, clear stops any view.
func (c *Console) clear(view *live.View) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.view != nil && (view == nil || view == c.view) {
		c.view.Stop()
		c.view = nil
	}
}

// endDrawn ends an unfinished line of Steps. The caller must hold mu.
func (c *Console) endDrawn() {
	if c.drawn {
		fmt.Fprintln(c.W)
		c.drawn = false
	}
}

// Told prints the program's name and a completed action, such as the writing of a file.
func (c *Console) Told(format string, args ...any) {
	c.Line("stepscope: " + fmt.Sprintf(format, args...))
}

// Warn prints a warning.
func (c *Console) Warn(format string, args ...any) {
	c.print("stepscope: " + fmt.Sprintf(format, args...))
}

// Lack warns that the result is incomplete.
func (c *Console) Lack(format string, args ...any) {
	c.Warn(format, args...)
	c.Incomplete()
}

// Incomplete marks the result as usable but incomplete. The caller reports the missing part.
func (c *Console) Incomplete() { c.incomplete.Store(true) }

// Lacks reports whether the result is incomplete.
func (c *Console) Lacks() bool { return c.incomplete.Load() }
