// Package progress says how far long work is: a line on a terminal, nothing
// elsewhere.
package progress

import (
	"io"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// Meter counts bytes of input done. A nil Meter counts nothing.
type Meter struct {
	done  atomic.Int64
	bars  *mpb.Progress
	bar   *mpb.Bar
	quit  chan struct{}
	ended chan struct{}
}

// New draws on w; total is the size of all input in bytes. Work that ends
// within a moment draws nothing.
func New(w io.Writer, label string, total int64) *Meter {
	m := &Meter{quit: make(chan struct{}), ended: make(chan struct{})}
	go m.run(w, label, total)
	return m
}

const (
	patience = 500 * time.Millisecond
	redraw   = 150 * time.Millisecond
)

func (m *Meter) run(w io.Writer, label string, total int64) {
	defer close(m.ended)
	wait := time.NewTimer(patience)
	defer wait.Stop()
	select {
	case <-m.quit:
		return
	case <-wait.C:
	}
	m.bars = mpb.New(mpb.WithOutput(w), mpb.WithRefreshRate(redraw), mpb.WithWidth(40))
	m.bar = m.bars.AddBar(total, mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(label+" ")),
		mpb.AppendDecorators(decor.CountersKiloByte("% .1f / % .1f "), decor.Percentage()))
	tick := time.NewTicker(redraw)
	defer tick.Stop()
	for {
		select {
		case <-m.quit:
			m.bar.Abort(true)
			m.bars.Wait()
			return
		case <-tick.C:
			m.bar.SetCurrent(min(m.done.Load(), total-1))
		}
	}
}

// Add counts n more bytes. It may be called from several goroutines.
func (m *Meter) Add(n int64) {
	if m != nil {
		m.done.Add(n)
	}
}

// Reach counts the bytes up to n, of which seen were counted before.
func (m *Meter) Reach(n int64, seen *int64) {
	m.Add(n - *seen)
	*seen = n
}

// Close removes the line.
func (m *Meter) Close() {
	if m == nil {
		return
	}
	close(m.quit)
	<-m.ended
}
