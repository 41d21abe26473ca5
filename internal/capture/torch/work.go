package torch

import (
	"context"
	"net/http"
	"time"

	"github.com/stepscope/stepscope/internal/api/servers"
	"github.com/stepscope/stepscope/internal/capture/signals"
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
	row, reader := m.kind.Row(), m.reader()
	metrics := &way{ask: m.metricsWork, gauges: true}
	if !row.Forwards {
		p.ways = []*way{metrics}
		return p
	}
	p.ways = []*way{{ask: func(ctx context.Context) (float64, bool, bool) { return m.requests(ctx, reader) }}}
	if !row.Quick {
		p.ways = append(p.ways, metrics)
	}
	p.ways = append(p.ways, &way{ask: m.forwardCount, last: !row.Quick})
	return p
}

// profile describes the server's profile routes.
func (m *member) profile() *servers.Profile { return &m.kind.Row().Profile }

// reader returns a new reader of the server's live state.
func (m *member) reader() *signals.Reader {
	return signals.ReaderOf(m.server("/metrics"))
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

// stepsRun returns the number of forward steps of a data-parallel rank, the mean over these ranks.
func (m *member) stepsRun(ctx context.Context) (n float64, ok bool) {
	n, _, ok = m.forwardCount(ctx)
	return n / float64(max(1, m.info.DP)), ok
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
	if m.o.Progress == nil || !m.profile().Files || m.w.ByStage || m.w.NumSteps == 0 {
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

// metricsWork returns a number of /metrics that grows with any work, and whether requests are running.
func (m *member) metricsWork(ctx context.Context) (n float64, busy, ok bool) {
	s := m.metrics(ctx)
	if s == nil {
		return 0, false, false
	}
	return s.Work()
}

// countedSteps returns the number of steps that the server's engines have run, if /metrics has it.
func (m *member) countedSteps(ctx context.Context) (n float64, ok bool) {
	if m.kind.Row().Forwards {
		return 0, false // the metric of such a server counts only steps with CUDA graphs
	}
	s := m.metrics(ctx)
	if s == nil {
		return 0, false
	}
	n = s.Sum(func(r *signals.Rank) float64 { return r.Passes })
	return n, signals.Known(n)
}

// metrics reads /metrics once. It returns nil if the server has none.
func (m *member) metrics(ctx context.Context) *signals.Sample {
	r, err := m.ask(ctx, http.MethodGet, "/metrics", nil, askPatience)
	if err != nil || r.Status != http.StatusOK {
		return nil
	}
	s, _ := signals.Parse(string(r.Body))
	return s
}

// requests returns the number of requests on a server.
func (m *member) requests(ctx context.Context, reader *signals.Reader) (n float64, busy, ok bool) {
	by, ok := m.loadBy(ctx, reader)
	for _, one := range by {
		n += one
	}
	return n, n > 0, ok
}

// loadBy returns the number of requests of each data-parallel replica.
func (m *member) loadBy(ctx context.Context, reader *signals.Reader) (by map[int]float64, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	list, err := reader.ReadLoads(ctx)
	if err != nil {
		return nil, false
	}
	m.used(list)
	by = map[int]float64{}
	for i, l := range list {
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
