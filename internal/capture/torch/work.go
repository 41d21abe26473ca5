package torch

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
)

// A pulse tells whether a server has work, from whatever it shows: the requests that it
// has, counters of /metrics, or the count of its forward steps.
type pulse struct {
	m     *member
	ways  []*way
	began bool      // it shows something
	moved bool      // there was work
	at    time.Time // of the last sign of work, or of the beginning
}

// way is one of them.
type way struct {
	ask    func(context.Context) (n float64, busy, ok bool)
	gauges bool // busy may be out of date: only for who shows nothing better
	last   bool // costly: only where nothing else is known
	dead   bool // it does not work
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

// look asks once. known is false when the server shows nothing of its work.
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
			w.dead = !w.asked // else it is passing trouble
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

// forwardCount is the number of forward steps of all data-parallel ranks.
func (m *member) forwardCount(ctx context.Context) (n float64, busy, ok bool) {
	counts := m.forwardCounts(ctx)
	for _, c := range counts {
		n += c
	}
	return n, false, len(counts) > 0
}

// countFrom keeps how many forward steps were made before the window, for who looks on. Only
// our servers tell it at no cost.
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

// countNow tells how many it has made since.
func (m *member) countNow(ctx context.Context) {
	if m.o.Progress == nil || m.forwards < 0 {
		return
	}
	if n, _, ok := m.forwardCount(ctx); ok {
		m.made(n/float64(max(m.info.DP, 1)) - m.forwards)
	}
}

// forwardCounts are those of each data-parallel rank; none: the server does not say.
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

// metricsWork sums what counts work in Prometheus' text; gauges of running
// requests tell that there is some.
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

// vllmSteps is how many steps vLLM's engines have made: the count of a histogram
// with one value for each.
func (m *member) vllmSteps(ctx context.Context) (n float64, ok bool) {
	read := m.metrics(ctx, func(name string, v float64) {
		if name == "iteration_tokens_total_count" {
			n += v
			ok = true
		}
	})
	return n, ok && read
}

// metrics reads /metrics; names come without the engine's part before the colon.
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

// load asks for the requests that a server has. SGLang 0.5.11 knows /v1/loads and fails at
// it, with a page of its log, so a route that does not work is not asked again.
func (m *member) load(ctx context.Context) (n float64, busy, ok bool) {
	by, ok := m.loadBy(ctx)
	for _, one := range by {
		n += one
	}
	return n, n > 0, ok
}

// loadBy is load by data-parallel replica.
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

// requestsOf is the number of requests of each replica in a reply.
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
