package progress

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Steps shows how many of a few steps are done, on a terminal. A nil one shows nothing.
type Steps struct {
	w     io.Writer
	label string
	begun time.Time
}

// Steps shows the steps of work that begins now, if there is a terminal.
func (c *Console) Steps(label string) *Steps {
	if !c.Terminal {
		return nil
	}
	return &Steps{w: c.W, label: label, begun: time.Now()}
}

// Done draws that so many of the steps are done; with the last the line ends.
func (s *Steps) Done(n, of int) {
	if s == nil {
		return
	}
	const width = 30
	took := time.Since(s.begun)
	fmt.Fprintf(s.w, "\r%s %3d%%|%-*s| %d/%d [%.1f s, %.2f it/s]", s.label, 100*n/of, width, strings.Repeat("#", width*n/of), n, of,
		took.Seconds(), float64(n)/took.Seconds())
	if n == of {
		fmt.Fprintln(s.w)
	}
}
