package progress

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/stepscope/stepscope/internal/base/columns"
)

// Console is whom work tells, beside its result, what is worth knowing and how far it
// is: a person at a terminal, or a log. Any goroutine may call its methods.
type Console struct {
	W        io.Writer
	Terminal bool // W is one, so progress may be drawn on it

	mu         sync.Mutex
	drawn      bool // a line of Steps, which has not ended
	incomplete atomic.Bool
}

// Line prints a line, without what would move the cursor: it may name what comes from files.
func (c *Console) Line(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endDrawn()
	fmt.Fprintln(c.W, columns.Lines(text))
}

// endDrawn ends the line of Steps, if there is one. The caller holds mu.
func (c *Console) endDrawn() {
	if c.drawn {
		fmt.Fprintln(c.W)
		c.drawn = false
	}
}

// Warn prints a line for people, which says whose it is.
func (c *Console) Warn(format string, args ...any) {
	c.Line("stepscope: " + fmt.Sprintf(format, args...))
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

// Meter shows how far the work is, if there is a terminal; else it is nil, which
// counts nothing. Close it before anything is printed.
func (c *Console) Meter(label string, bytes int64) *Meter {
	if !c.Terminal {
		return nil
	}
	return New(c.W, label, bytes)
}
