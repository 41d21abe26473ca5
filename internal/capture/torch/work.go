package torch

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/stepscope/stepscope/internal/api/client"
)

// A pulse tells whether a server has work, from whatever it shows: the forward
// count of stepscope's servers, counters of /metrics, or the load.
type pulse struct {
	ways  []func(context.Context) (float64, bool, bool) // that may work yet, best first
	last  float64
	began bool
	moved bool
}

func (m *member) pulse() *pulse {
	p := &pulse{}
	if m.kind == Stepscope {
		p.ways = append(p.ways, m.forwardCount)
	}
	p.ways = append(p.ways, m.metricsWork)
	if m.kind == SGLang {
		p.ways = append(p.ways, m.load)
	}
	return p
}

// look asks once. known is false when the server shows nothing of its work.
func (p *pulse) look(ctx context.Context) (moved, known bool) {
	for len(p.ways) > 0 {
		n, busy, ok := p.ways[0](ctx)
		if !ok {
			if ctx.Err() != nil {
				return p.moved, true
			}
			p.ways = p.ways[1:]
			continue
		}
		p.moved = p.moved || busy || p.began && n != p.last
		p.last, p.began = n, true
		return p.moved, true
	}
	return p.moved, false
}

// forwardCount is the number of forward steps of all data-parallel ranks.
func (m *member) forwardCount(ctx context.Context) (n float64, busy, ok bool) {
	var info struct {
		States []struct {
			Forward *float64 `json:"forward_ct"`
		} `json:"internal_states"`
	}
	if !m.askFor(ctx, "/server_info", &info) {
		return 0, false, false
	}
	for _, s := range info.States {
		if s.Forward != nil {
			n += *s.Forward
			ok = true
		}
	}
	return n, false, ok
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

// load asks SGLang for the requests it has, by the present and the older route.
func (m *member) load(ctx context.Context) (n float64, busy, ok bool) {
	for _, route := range []string{"/v1/loads", "/get_load"} {
		r, err := m.ask(ctx, http.MethodGet, route, nil, askPatience)
		if err != nil || r.Status != http.StatusOK {
			continue
		}
		type rank struct {
			Requests *float64 `json:"num_reqs"`
			Running  *float64 `json:"num_running_reqs"`
		}
		var all struct{ Loads []rank }
		if json.Unmarshal(r.Body, &all) != nil && json.Unmarshal(r.Body, &all.Loads) != nil {
			continue
		}
		for _, l := range all.Loads {
			for _, v := range []*float64{l.Requests, l.Running} {
				if v != nil {
					n, ok = n+*v, true
				}
			}
		}
		if ok {
			return n, n > 0, true
		}
	}
	return 0, false, false
}
