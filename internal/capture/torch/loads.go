package torch

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

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
	tick := time.NewTicker(loadsEvery)
	defer tick.Stop()
	for failed := 0; failed < badLists; {
		r, err := m.ask(ctx, http.MethodGet, "/v1/loads", nil, askPatience)
		l, ok := trace.Load{}, false
		if err == nil && r.Status == http.StatusOK {
			l, ok = parseLoads(r.Body)
		}
		if ok {
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

// sampling runs sample in the background until stop is called.
func (m *member) sampling(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { m.sample(ctx) })
	return func() { cancel(); wg.Wait() }
}

// parseLoads parses a reply of /v1/loads from SGLang or stepscope. l.At is a time on the server's clock, like the times
// in the server's traces; 0: unknown.
func parseLoads(body []byte) (l trace.Load, ok bool) {
	var all struct {
		Loads []struct {
			At          json.RawMessage `json:"timestamp"` // s since the epoch
			Running     int             `json:"num_running_reqs"`
			Waiting     int             `json:"num_waiting_reqs"`
			MostRunning int             `json:"max_running_requests"`
			Usage       float64         `json:"token_usage"`
			Disagg      *struct {
				Bootstrap       int `json:"prefill_bootstrap_queue_reqs"`
				PrefillPrealloc int `json:"prefill_prealloc_queue_reqs"` // older name of the previous field
				Inflight        int `json:"prefill_inflight_queue_reqs"`
				Prealloc        int `json:"decode_prealloc_queue_reqs"`
				Transfer        int `json:"decode_transfer_queue_reqs"`
				Retracted       int `json:"decode_retracted_queue_reqs"`
			} `json:"disaggregation"`
		} `json:"loads"`
	}
	if json.Unmarshal(body, &all) != nil || len(all.Loads) == 0 {
		return l, false
	}
	if at, err := strconv.ParseFloat(string(all.Loads[0].At), 64); err == nil && at > 0 && at < 1<<33 {
		l.At = int64(at*1e6) * 1000
	}
	for _, r := range all.Loads {
		l.Running += r.Running
		l.Waiting += r.Waiting
		l.MostRunning += r.MostRunning
		l.KVUsage = max(l.KVUsage, r.Usage)
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
