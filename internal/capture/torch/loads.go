package torch

import (
	"cmp"
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/trace"
)

// With disaggregated prefill and decode, the queues show whether prefill or decode limits the throughput. Traces do not
// show this, so the queues of such servers are sampled during the window.

// loadsEvery is the sampling interval. A sample costs a server almost nothing.
const loadsEvery = 200 * time.Millisecond

// sample samples the queues until ctx ends. If the server does not export its queues, sample stops.
func (m *member) sample(ctx context.Context) {
	if m.Role == "" {
		return
	}
	reader := m.reader()
	tick := time.NewTicker(loadsEvery)
	defer tick.Stop()
	for failed := 0; failed < badLists; {
		limited, cancel := context.WithTimeout(ctx, askPatience)
		list, err := reader.ReadLoads(limited)
		cancel()
		if l, ok := queuesOf(list); ok && err == nil {
			l.At = cmp.Or(l.At, time.Now().UnixNano())
			m.loads, failed = append(m.loads, l), 0
		} else {
			failed++
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// sampling runs sample and watchContexts in the background until stop is called.
func (m *member) sampling(ctx context.Context) (stop func()) {
	whole := ctx
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { m.sample(ctx) })
	wg.Go(func() { m.watchContexts(ctx) })
	return func() {
		cancel()
		wg.Wait()
		m.lookContexts(whole, m.reader())
	}
}

// queuesOf sums up the replicas of a server; ok is false if none reports the queues of prefill or decode. l.At is a time
// on the server's clock, like the times in the server's traces; 0: unknown.
func queuesOf(list []client.Load) (l trace.Load, ok bool) {
	if len(list) == 0 {
		return l, false
	}
	if at, err := strconv.ParseFloat(string(list[0].At), 64); err == nil && at > 0 && at < 1<<33 {
		l.At = int64(at*1e6) * 1000
	}
	number := func(v *float64) float64 {
		if v == nil {
			return 0
		}
		return *v
	}
	for _, r := range list {
		l.Running += int(number(r.Running))
		l.Waiting += int(number(r.Waiting))
		l.MostRunning += int(r.MostRunning)
		l.KVUsage = max(l.KVUsage, number(r.Usage))
		if d := r.Disagg; d != nil {
			ok = true
			l.Bootstrap += max(d.Bootstrap, d.PrefillPrealloc)
			l.Inflight += d.Inflight
			l.Prealloc += d.Prealloc
			l.Transfer += d.Transfer
			l.Retracted += d.Retracted
		}
	}
	return l, ok
}
