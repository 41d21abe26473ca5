package progress

import (
	"fmt"
	"strings"
	"time"
)

// Steps shows on a terminal how many of a few steps are done. A nil Steps shows nothing.
type Steps struct {
	c     *Console
	label string
	begun time.Time
}

// Steps returns a Steps that shows the steps of the work with the given label. It returns nil if there is no terminal.
func (c *Console) Steps(label string) *Steps {
	if !c.Terminal {
		return nil
	}
	return &Steps{c: c, label: label, begun: time.Now()}
}

// Done shows that n steps are done; of is the total number. When n equals of, it ends the line.
func (s *Steps) Done(n, of int) {
	if s == nil {
		return
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	const width = 30
	took := time.Since(s.begun)
	s.c.drawn = true
	fmt.Fprintf(s.c.W, "\r%s %3d%%|%-*s| %d/%d [%.1f s, %.2f it/s]", s.label, 100*n/of, width, strings.Repeat("#", width*n/of), n, of,
		took.Seconds(), float64(n)/took.Seconds())
	if n == of {
		s.c.endDrawn()
	}
}

// Close ends the line if the work stopped before its last step.
func (s *Steps) Close() {
	if s == nil {
		return
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.c.endDrawn()
}
