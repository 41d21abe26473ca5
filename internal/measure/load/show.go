package load

import (
	"fmt"
	"time"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/capture/signals"
)

// Shown is a run in progress to be displayed.
type Shown struct {
	Live  *Live
	Title string // name of the load
	Total int    // requests, counting each round of a conversation
	// Last is the time at which the last request is sent; 0: requests wait for other requests to end.
	Last   time.Duration
	More   func(width int) []string     // additional lines; may be nil
	Server func() (signals.State, bool) // last state of the server; false: unknown; nil: the server is not queried
}

// Show displays a load in progress on a terminal, or logs it every ten seconds, until the returned function is called.
func (s *Shown) Show(say *progress.Console) (end func()) {
	begun := time.Now()
	if say.Terminal {
		p := newPlot(s)
		return say.Show(func(width, rows int) []string { return p.frame(time.Since(begun), width, rows) })
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(10 * time.Second)
		defer tick.Stop()
		var tokens, ended int64
		last := begun
		for {
			select {
			case <-stop:
				return
			case now := <-tick.C:
				live := s.Live
				t, d := live.tokens(), live.ended()
				since := now.Sub(last).Seconds()
				line := fmt.Sprintf("%4.0f s  %s  %.1f req/s  %.0f tok/s", now.Sub(begun).Seconds(), s.count(), float64(d-ended)/since, float64(t-tokens)/since)
				if live.TTFT.N() > 0 {
					line += fmt.Sprintf("  TTFT p50 %.0f p99 %.0f ms", ms(live.TTFT.Quantile(0.5)), ms(live.TTFT.Quantile(0.99)))
				}
				if live.ITL.N() > 0 {
					line += fmt.Sprintf("  ITL p50 %.1f p99 %.1f ms", ms(live.ITL.Quantile(0.5)), ms(live.ITL.Quantile(0.99)))
				}
				say.Line(line)
				tokens, ended, last = t, d, now
			}
		}
	}()
	return func() {
		close(stop)
		<-done
	}
}

// count formats the number of requests that have ended and the number in flight.
func (s *Shown) count() string {
	text := fmt.Sprintf("%d of %d done, %d running", s.Live.ended(), s.Total, s.Live.Running())
	if f := s.Live.Failed.Load(); f > 0 {
		text += fmt.Sprintf(", %d failed", f)
	}
	return text
}

// ended returns the number of requests that have succeeded or failed.
func (l *Live) ended() int64 { return l.Done.Load() + l.Failed.Load() }

// tokens returns the larger of the server's token count and the number of events.
func (l *Live) tokens() int64 { return max(l.Tokens.Load(), l.Chunks.Load()) }

func ms(ns int64) float64 { return float64(ns) / 1e6 }
