// Package progress shows the progress of long work below the text on a terminal. If the output is not a terminal, it
// shows no progress.
package progress

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/stepscope/stepscope/internal/base/live"
	"github.com/stepscope/stepscope/internal/base/metric"
)

// Meter counts processed bytes of input. A nil Meter counts nothing.
type Meter struct {
	done atomic.Int64
	quit chan struct{}
	end  chan func()
}

// patience is the delay before a Meter is first drawn.
const patience = 500 * time.Millisecond

// Meter returns a Meter that shows the progress if there is a terminal, and nil otherwise. Close it before printing to
// stdout.
func (c *Console) Meter(label string, bytes int64) *Meter {
	if !c.Terminal {
		return nil
	}
	m := &Meter{quit: make(chan struct{}), end: make(chan func(), 1)}
	go func() {
		select {
		case <-m.quit:
			m.end <- func() {}
		case <-time.After(patience):
			m.end <- c.Show(func(columns, _ int) []string { return []string{m.line(label, bytes, columns)} })
		}
	}()
	return m
}

func (m *Meter) line(label string, bytes int64, columns int) string {
	done := min(m.done.Load(), bytes)
	share := float64(done) / float64(max(bytes, 1))
	return fmt.Sprintf("%s %s %s of %s, %.0f %%", label, live.Bar(share, min(columns/2, 40)), metric.Bytes(done), metric.Bytes(bytes), 100*share)
}

// Add counts n more bytes. It is safe for concurrent use.
func (m *Meter) Add(n int64) {
	if m != nil {
		m.done.Add(n)
	}
}

// Reach adds n − *seen bytes and sets *seen to n.
func (m *Meter) Reach(n int64, seen *int64) {
	m.Add(n - *seen)
	*seen = n
}

// Close removes the progress line.
func (m *Meter) Close() {
	if m == nil {
		return
	}
	close(m.quit)
	(<-m.end)()
}
