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

// Console is whom work tells, beside its result, what is worth knowing and how far it
// is: a person at a terminal, or a log. Any goroutine may call its methods.
type Console struct {
	W        io.Writer
	Terminal bool   // W is one, so progress may be drawn on it
	Quiet    bool   // only what went wrong, or is lacking, is said
	Unread   func() // called when nobody reads W any more, from any goroutine; nil: nobody is

	mu         sync.Mutex
	drawn      bool       // a line of Steps, which has not ended
	view       *live.View // of Show; nil: there is none
	incomplete atomic.Bool
}

// Line says how the work goes on.
func (c *Console) Line(text string) {
	if !c.Quiet {
		c.print(text)
	}
}

// print prints a line, without what would move the cursor: it may name what comes from files.
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

// Show draws a frame below all that is printed, if there is a terminal, until the function
// that it returns is called: do so before anything is printed to stdout. One is drawn at a
// time, the first.
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

// Clear takes away what is drawn.
func (c *Console) Clear() { c.clear(nil) }

// clear takes a view away if it is the one; nil: any.
func (c *Console) clear(view *live.View) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.view != nil && (view == nil || view == c.view) {
		c.view.Stop()
		c.view = nil
	}
}

// endDrawn ends the line of Steps, if there is one. The caller holds mu.
func (c *Console) endDrawn() {
	if c.drawn {
		fmt.Fprintln(c.W)
		c.drawn = false
	}
}

// Told says what was done, such as the name of a file, in a line that says whose it is.
func (c *Console) Told(format string, args ...any) {
	c.Line("stepscope: " + fmt.Sprintf(format, args...))
}

// Warn says what is wrong.
func (c *Console) Warn(format string, args ...any) {
	c.print("stepscope: " + fmt.Sprintf(format, args...))
}

// Lack warns of something that the result lacks.
func (c *Console) Lack(format string, args ...any) {
	c.Warn(format, args...)
	c.Incomplete()
}

// Incomplete marks the result as usable but not whole. What it lacks is said elsewhere.
func (c *Console) Incomplete() { c.incomplete.Store(true) }

// Lacks tells whether the result is not whole.
func (c *Console) Lacks() bool { return c.incomplete.Load() }
