package experiment

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/capture/signals"
	"github.com/stepscope/stepscope/internal/runs"
)

// scrapeEvery is the interval at which /metrics is read during a load.
const scrapeEvery = time.Second

// prefixCache returns the use of the prefix cache during the samples, from the server's counters; nil: it has none.
// vLLM reports cached tokens in its replies only with --enable-prompt-tokens-details.
func prefixCache(samples []runs.Sample) *bench.Cache {
	if len(samples) < 2 {
		return nil
	}
	from, _ := signals.OfValues(samples[0].Values)
	to, _ := signals.OfValues(samples[len(samples)-1].Values)
	prompt, cached := to.Prompt-from.Prompt, to.Cached-from.Cached
	if !(prompt > 0) || !(cached >= 0) {
		return nil
	}
	return &bench.Cache{Prompt: int(prompt), Cached: int(cached), HitRate: cached / prompt}
}

// scraper reads the state of a server during a load.
type scraper struct {
	reader *signals.Reader
	last   atomic.Pointer[signals.State]
	stop   context.CancelFunc
	done   chan []runs.Sample
}

// scrape starts reading /metrics. If the server has no /metrics and asks is set, it reads the load routes instead, for
// display only.
func scrape(ctx context.Context, s *client.Server, asks bool) *scraper {
	c := &scraper{reader: signals.ReaderOf(s), done: make(chan []runs.Sample, 1)}
	c.reader.Loads = signals.Never
	if asks {
		c.reader.Loads = signals.WithoutMetrics
	}
	ctx, c.stop = context.WithCancel(ctx)
	go c.read(ctx)
	return c
}

// end stops reading and returns the samples, the last of them taken now. If the server has no /metrics, there are no
// samples.
func (c *scraper) end(ctx context.Context) []runs.Sample {
	c.stop()
	out := <-c.done
	if len(out) > 0 {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if s, err := c.reader.Read(ctx); err == nil && len(s.Values) > 0 {
			out = append(out, sampleOf(s))
		}
	}
	return out
}

func sampleOf(s *signals.Sample) runs.Sample {
	return runs.Sample{At: time.Now().UnixNano(), Values: s.Values}
}

// now returns the latest known state of the server.
func (c *scraper) now() (signals.State, bool) {
	if s := c.last.Load(); s != nil {
		return *s, true
	}
	return signals.State{}, false
}

func (c *scraper) read(ctx context.Context) {
	var out []runs.Sample
	defer func() { c.done <- out }()
	tick := time.NewTicker(scrapeEvery)
	defer tick.Stop()
	for {
		limited, end := context.WithTimeout(ctx, 5*time.Second)
		s, err := c.reader.Read(limited)
		end()
		switch {
		case err == nil:
			if len(s.Values) > 0 {
				out = append(out, sampleOf(s))
			}
			if state := s.State(); state != nil {
				c.last.Store(state)
			}
		case len(out) == 0 && signals.Answered(err):
			return // the server reports nothing
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// During its first requests and its first seconds, a server compiles kernels, loads modules and allocates memory.
const (
	fewRequests = 2 // number of requests that a server sends to itself at startup
	youngFor    = time.Minute
)

// young returns a warning if the server has only just started. Otherwise, or if the age of the server is unknown, it
// returns "". It reads /metrics after the warm-up and before the load.
func young(ctx context.Context, s *client.Server, warmup int) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	text, err := s.Text(ctx, http.MethodGet, "/metrics")
	if err != nil {
		return ""
	}
	return youngBy(text, warmup)
}

func youngBy(text string, warmup int) string {
	s, _ := signals.Parse(text)
	const what = ": the window may show its cold start (compilation, module loading, allocation) rather than its normal operation; warm it up first (--warmup-requests)"
	up := time.Since(time.Unix(int64(s.Started), 0))
	switch {
	case s.Started > 0 && up < youngFor:
		return fmt.Sprintf("The server started %.0f s ago%s", max(up.Seconds(), 0), what)
	case s.Served <= float64(warmup+fewRequests):
		return fmt.Sprintf("The server has served %.0f request(s) since it started, including this benchmark's warm-up%s", s.Served, what)
	}
	return ""
}

// Standing summarizes the samples in one line. It returns "" if there are no samples.
func Standing(samples []runs.Sample) string {
	if len(samples) == 0 {
		return ""
	}
	var running, queued, full, retracted figure
	for i := range samples {
		s, _ := signals.OfValues(samples[i].Values)
		running.add(s.Sum(func(r *signals.Rank) float64 { return r.Running }))
		queued.add(s.Sum(func(r *signals.Rank) float64 { return r.Queued }))
		for r := range s.Ranks {
			full.add(s.Ranks[r].Usage)
		}
		retracted.add(s.Retracted)
	}
	n := float64(len(samples))
	var parts []string
	if running.known {
		parts = append(parts, fmt.Sprintf("%.1f requests running on average, at most %.0f", running.sum/n, running.most))
	}
	if queued.known {
		parts = append(parts, fmt.Sprintf("%.1f queued, at most %.0f", queued.sum/n, queued.most))
	}
	if full.known {
		parts = append(parts, fmt.Sprintf("KV cache at most %.0f %% full", 100*full.most))
	}
	if retracted.most > 0 {
		parts = append(parts, fmt.Sprintf("%.0f requests retracted at once", retracted.most))
	}
	return fmt.Sprintf("%s (%d samples of /metrics)", strings.Join(parts, "; "), len(samples))
}

// figure sums up a value over samples.
type figure struct {
	sum, most float64
	known     bool
}

func (f *figure) add(v float64) {
	if signals.Known(v) {
		f.sum, f.most, f.known = f.sum+v, max(f.most, v), true
	}
}
