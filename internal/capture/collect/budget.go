package collect

import (
	"errors"
	"io"
	"maps"
	"os"
	"sync"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// ErrBudget is wrapped by the error for files that exceed a [Budget].
var ErrBudget = errors.New("the files exceed the limit on disk space")

// Budget limits the total size of the files that a capture stores. Bytes count as they arrive. A nil Budget has no
// limit.
type Budget struct {
	most int64
	mu   sync.Mutex
	held map[string]int64 // bytes by path
}

// NewBudget returns a budget of most bytes.
func NewBudget(most int64) *Budget { return &Budget{most: most, held: map[string]int64{}} }

// Hold counts size bytes for the file at path, instead of its earlier size. If this exceeds the budget, Hold changes
// nothing and returns an error.
func (b *Budget) Hold(path string, size int64) error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if size > b.held[path] && size-b.held[path] > b.left() {
		return ErrBudget
	}
	b.held[path] = size
	return nil
}

// Left returns the number of bytes that may still be stored. It returns 0 if there is no limit.
func (b *Budget) Left() int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(b.left(), 1)
}

func (b *Budget) left() int64 {
	left := b.most
	for size := range maps.Values(b.held) {
		left -= size
	}
	return left
}

// Write is [atomicfile.Write] within the budget. While the file is written, an existing file at path counts, too.
func (b *Budget) Write(path string, fill func(io.Writer) error) error {
	unfinished := path + " (unfinished)"
	c := &counted{of: b, path: unfinished}
	err := atomicfile.Write(path, func(w io.Writer) error {
		c.w = w
		return fill(c)
	})
	if b == nil {
		return err
	}
	_ = b.Hold(unfinished, 0)
	switch {
	case c.over: // a command that fill runs may report another error
		return ErrBudget
	case err != nil:
		return err
	}
	return b.Hold(path, c.n)
}

// link makes a hard link within the budget.
func (b *Budget) link(from, to string, size int64) error {
	if err := b.Hold(to, size); err != nil {
		return err
	}
	err := os.Link(from, to)
	if err != nil {
		_ = b.Hold(to, 0)
	}
	return err
}

// counted is a writer that counts its bytes before it writes them.
type counted struct {
	of   *Budget
	path string
	w    io.Writer
	n    int64
	over bool // a write exceeded the budget
}

func (c *counted) Write(p []byte) (int, error) {
	if err := c.of.Hold(c.path, c.n+int64(len(p))); err != nil {
		c.over = true
		return 0, err
	}
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
