package torch

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
)

// pulse determines whether a server has work. It uses any available source: the number of requests, counters of
// /metrics, or the count of forward steps.
type pulse struct {
	m     *member
	ways  []*way
	began bool      // at least one source works
	moved bool      // there was work
	at    time.Time // time of the last sign of work, or of the first query
}

// way is one source.
type way struct {
	ask    func(context.Context) (n float64, busy, ok bool)
	gauges bool // busy may be out of date: use this source only if there is no better source
	last   bool // expensive: use this source only if no other source works
	dead   bool // the source does not work
	n      float64
	asked  bool
}

func (m *member) pulse() *pulse {
	p := &pulse{m: m, at: time.Now()}
	load, metrics, forward := &way{ask: m.load}, &way{ask: m.metricsWork, gauges: true}, &way{ask: m.forwardCount}
	switch m.kind {
	case Stepscope:
		p.ways = []*way{load, forward}
	case SGLang:
		forward.last = true
		p.ways = []*way{load, metrics, forward}
	default:
		p.ways = []*way{metrics}
	}
	return p
}

// look queries the sources once. The result busy reports whether the server has work. If no source shows this, known is
// false.
func (p *pulse) look(ctx context.Context) (busy, known bool) {
	for _, w := range p.ways {
		if w.dead || w.last && known {
			continue
		}
		n, has, ok := w.ask(ctx)
		if !ok {
			if ctx.Err() != nil {
				return busy, true
			}
			w.dead = !w.asked // if the source worked before, the failure counts as temporary
			continue
		}
		if has && !(w.gauges && known) || w.asked && n != w.n {
			busy = true
		}
		w.n, w.asked, known = n, true, true
	}
	p.began = p.began || known
	if busy {
		p.moved, p.at = true, time.Now()
	}
	return busy, known
}

// forwardCount returns the number of forward steps of all data-parallel ranks.
func (m *member) forwardCount(ctx context.Context) (n float64, busy, ok bool) {
	counts := m.forwardCounts(ctx)
	for _, c := range counts {
		n += c
	}
	return n, false, len(counts) > 0
}

// countFrom stores the number of forward steps before the window, to display progress. It does so only for stepscope's
// servers, because only these servers report the number without cost.
func (m *member) countFrom(ctx context.Context) {
	m.forwards = -1
	if m.o.Progress == nil || m.kind != Stepscope || m.w.ByStage || m.w.NumSteps == 0 {
		return
	}
	if m.w.StartStep > 0 {
		m.forwards = float64(m.w.StartStep)
	} else if n, _, ok := m.forwardCount(ctx); ok {
		m.forwards = n / float64(max(m.info.DP, 1))
	}
}

// countNow updates the displayed progress with the number of steps since countFrom.
func (m *member) countNow(ctx context.Context) {
	if m.o.Progress == nil || m.forwards < 0 {
		return
	}
	if n, _, ok := m.forwardCount(ctx); ok {
		m.made(n/float64(max(m.info.DP, 1)) - m.forwards)
	}
}

// forwardCounts returns the number of forward steps of each data-parallel rank. If the server does not report these
// numbers, it returns nil.
func (m *member) forwardCounts(ctx context.Context) (counts []float64) {
	var info struct {
		States []struct {
			Forward *float64 `json:"forward_ct"`
		} `json:"internal_states"`
	}
	if m.askFor(ctx, "/server_info", &info) {
		for _, s := range info.States {
			if s.Forward != nil {
				counts = append(counts, *s.Forward)
			}
		}
	}
	return counts
}

// metricsWork returns the sum of the work counters in /metrics. The result busy is true if gauges of running requests
// show that there is work.
func (m *member) metricsWork(ctx context.Context) (n float64, busy, ok bool) {
	return n, busy, m.metrics(ctx, func(name string, v float64) {
		switch name {
		case "prompt_tokens_total", "generation_tokens_total", "num_requests_total", "iteration_tokens_total_count":
			n += v
		case "num_running_reqs", "num_requests_running":
			busy = busy || v > 0
		default:
			return
		}
		ok = true
	}) && ok
}

// vllmSteps returns the number of steps that vLLM's engines have run: the count of a histogram with one value per step.
func (m *member) vllmSteps(ctx context.Context) (n float64, ok bool) {
	read := m.metrics(ctx, func(name string, v float64) {
		if name == "iteration_tokens_total_count" {
			n += v
			ok = true
		}
	})
	return n, ok && read
}

// metrics reads /metrics and calls each for every sample. The argument name is the metric's name without the engine's
// prefix and the colon.
func (m *member) metrics(ctx context.Context, each func(name string, v float64)) bool {
	r, err := m.ask(ctx, http.MethodGet, "/metrics", nil, askPatience)
	if err != nil || r.Status != http.StatusOK {
		return false
	}
	for one := range client.Metrics(string(r.Body)) {
		each(one.Name[strings.IndexByte(one.Name, ':')+1:], one.Value)
	}
	return true
}

// load returns the number of requests on a server. SGLang 0.5.11 has /v1/loads, but each request to this route fails
// and writes a page of log output. A failed route is therefore not requested again.
func (m *member) load(ctx context.Context) (n float64, busy, ok bool) {
	by, ok := m.loadBy(ctx)
	for _, one := range by {
		n += one
	}
	return n, n > 0, ok
}

// loadBy returns the number of requests of each data-parallel replica.
func (m *member) loadBy(ctx context.Context) (by map[int]float64, ok bool) {
	for i := m.loadRoute; i < len(client.LoadRoutes); i++ {
		r, err := m.ask(ctx, http.MethodGet, client.LoadRoutes[i], nil, askPatience)
		if err != nil {
			return nil, false
		}
		if by, ok := requestsOf(r); ok {
			m.loadRoute = i
			return by, true
		}
	}
	return nil, false
}

// requestsOf returns the number of requests of each replica in a reply.
func requestsOf(r *client.Reply) (by map[int]float64, ok bool) {
	by = map[int]float64{}
	for i, l := range r.Loads() {
		if l.DP != nil {
			i = *l.DP
		}
		for _, v := range []*float64{l.Requests, l.Total, l.Running, l.Waiting} {
			if v != nil {
				by[i] += *v
			}
		}
	}
	return by, len(by) > 0
}
