package load

import (
	"fmt"
	"time"

	"github.com/stepscope/stepscope/internal/base/progress"
)

// Show draws how a load of so many requests goes, on a terminal four times a second and
// in a log every ten seconds, until the function it returns is called.
func (live *Live) Show(say *progress.Console, total int) func() {
	every, end := 10*time.Second, "\n"
	if say.Terminal {
		every, end = 250*time.Millisecond, "\x1b[K\r"
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		begun := time.Now()
		var tokens, ended int64
		last := begun
		for {
			select {
			case <-stop:
				if say.Terminal {
					fmt.Fprint(say.W, "\x1b[K")
				}
				return
			case now := <-tick.C:
				t, d := max(live.Tokens.Load(), live.Chunks.Load()), live.Done.Load()+live.Failed.Load()
				since := now.Sub(last).Seconds()
				line := fmt.Sprintf("%4.0f s  %d of %d done, %d running", now.Sub(begun).Seconds(), d, total, live.Running())
				if f := live.Failed.Load(); f > 0 {
					line += fmt.Sprintf(", %d failed", f)
				}
				line += fmt.Sprintf("  %.1f req/s  %.0f tok/s", float64(d-ended)/since, float64(t-tokens)/since)
				if live.TTFT.N() > 0 {
					line += fmt.Sprintf("  TTFT p50 %.0f p99 %.0f ms", ms(live.TTFT.Quantile(0.5)), ms(live.TTFT.Quantile(0.99)))
				}
				if live.ITL.N() > 0 {
					line += fmt.Sprintf("  ITL p50 %.1f p99 %.1f ms", ms(live.ITL.Quantile(0.5)), ms(live.ITL.Quantile(0.99)))
				}
				fmt.Fprint(say.W, line+end)
				tokens, ended, last = t, d, now
			}
		}
	}()
	return func() {
		close(stop)
		<-done
	}
}

func ms(ns int64) float64 { return float64(ns) / 1e6 }
