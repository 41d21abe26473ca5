package watch

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
)

// A server whose process is stopped and continued, or has used up its CPU quota, answers nothing for some time and then
// all at once, again and again. Its ranks are then late together, so neither signals nor kernels show the cause. Before a
// capture, the watch therefore sends some light requests in quick succession.
const (
	probes     = 60
	probeEvery = 25 * time.Millisecond
	probePath  = "/v1/models" // a reply of any status counts

	leastStall  = 20 * time.Millisecond // shorter delays are usual
	together    = 8 * time.Millisecond  // replies that a stall held back arrive within this time
	leastStalls = 5
	leastShare  = 0.15 // of the time of all requests
)

// reply is the time of a request and of the reply to it.
type reply struct{ sent, got time.Duration }

// Stalls describes the times in which a process answers nothing.
type Stalls struct {
	N      int     `json:"n"`
	Length float64 `json:"length_s"` // median
	Every  float64 `json:"every_s"`  // median time from the end of a stall to the end of the next stall
}

func (s *Stalls) says() string {
	return fmt.Sprintf("answers nothing for about %s of every %s (%d times in %s)",
		metric.Duration(s.Length*1e9), metric.Duration(s.Every*1e9), s.N, metric.Duration(float64(probes*probeEvery)))
}

// probe sends the requests over a client (nil: its own) and returns the stalls; nil: none.
func (f *follower) probe(ctx context.Context, over *http.Client) *Stalls {
	ctx, cancel := context.WithTimeout(ctx, probes*probeEvery+time.Second)
	defer cancel()
	client := http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: probes}}
	if over != nil {
		client = *over
	} else {
		defer client.CloseIdleConnections()
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the header has keys
	var mu sync.Mutex
	var replies []reply
	var all sync.WaitGroup
	began := time.Now()
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for range probes {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		all.Go(func() {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.server.Base+probePath, nil)
			if err != nil {
				return
			}
			r.Header = f.server.Header.Clone()
			sent := time.Since(began)
			resp, err := client.Do(r)
			if err != nil {
				return
			}
			resp.Body.Close()
			mu.Lock()
			replies = append(replies, reply{sent, time.Since(began)})
			mu.Unlock()
		})
	}
	all.Wait()
	return stallsOf(replies)
}

// stallsOf finds the stalls of a process that answers quickly between them; nil: none. They must be regular: a server
// that is merely busy is late at any time.
func stallsOf(replies []reply) *Stalls {
	sorts.By(replies, func(a, b reply) int { return int(a.got - b.got) })
	var stalls []reply // the longest delay of those that end together
	quick := 0
	var held time.Duration
	for _, r := range replies {
		switch n := len(stalls); {
		case r.got-r.sent < leastStall:
			quick++
		case n > 0 && r.got-stalls[n-1].got < together:
			stalls[n-1].sent = min(stalls[n-1].sent, r.sent)
		default:
			stalls = append(stalls, r)
		}
	}
	if len(stalls) < leastStalls || quick < leastStalls {
		return nil
	}
	var length, every []float64
	for i, s := range stalls {
		held += s.got - s.sent
		length = append(length, (s.got - s.sent).Seconds())
		if i > 0 {
			every = append(every, (s.got - stalls[i-1].got).Seconds())
		}
	}
	slices.Sort(every)
	slices.Sort(length)
	low, mid, high := metric.Quantile(every, 0.25), metric.Quantile(every, 0.5), metric.Quantile(every, 0.75)
	if held.Seconds() < leastShare*(probes*probeEvery).Seconds() || high-low > mid/3 {
		return nil
	}
	// The first request of a stall is sent half of probeEvery after its beginning, on the mean.
	return &Stalls{N: len(stalls), Length: min(metric.Quantile(length, 0.5)+probeEvery.Seconds()/2, mid), Every: mid}
}
