package experiment

import (
	"context"
	"fmt"
	"math"

	"github.com/stepscope/stepscope/bench"
)

// Probe is the result of measuring one request rate.
type Probe struct {
	Rate   float64 `json:"rate"` // requests/s
	Good   float64 `json:"good"` // share of requests that met all objectives
	Holds  bool    `json:"holds"`
	Why    string  `json:"why,omitempty"`
	TTFT99 float64 `json:"ttft_p99_ns"`
	TPOT99 float64 `json:"tpot_p99_ns"`
	Served float64 `json:"served"` // completed requests/s
}

// Search is the result of a search for the highest rate. Best is the highest rate that holds, and Worst is the lowest
// rate that fails; 0: none.
type Search struct {
	Probes []Probe `json:"probes"`
	Best   float64 `json:"best"`
	Worst  float64 `json:"worst"`
}

// GoodShare is the minimum share of requests that must meet the objectives for a rate to hold.
const GoodShare = 0.99

// mostBehind is the maximum ratio of the duration of a run to the expected duration without a backlog. If a run exceeds
// this ratio, the server does not keep up with the rate.
const mostBehind = 1.25

// usualProbes is the number of rates that a search usually tests.
const usualProbes = 5

// precision is the ratio of the lowest failing rate to the highest holding rate at which a search ends.
const precision = 1.1

// FindMaxRate searches for the highest rate at which 99 % of the requests meet all objectives and the server keeps up.
// FindMaxRate first sends all requests at once to find the server's capacity. It then bisects, on a logarithmic scale,
// the interval between the highest rate that holds and the lowest rate that fails. Each rate is tested with a separate
// plan, which has as many requests as the plan of the run.
func (s *Serving) FindMaxRate(ctx context.Context) (*Search, error) {
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	if err := s.model(ctx); err != nil {
		return nil, err
	}
	if s.Log == nil {
		s.Log = func(string) {}
	}
	if s.Warn == nil {
		s.Warn = s.Log
	}
	all, err := s.probe(ctx, math.Inf(1), 0)
	if err != nil {
		return nil, err
	}
	ceiling := all.Served
	if ceiling <= 0 {
		return nil, fmt.Errorf("no request succeeded: %s", all.Why)
	}
	s.Log(fmt.Sprintf("With all requests at once, the server completes %.3g req/s; the search needs about %d more loads", ceiling, usualProbes))
	out := &Search{}
	rate := ceiling
	for n := range 14 {
		p, err := s.probe(ctx, rate, n+1)
		if err != nil {
			return out, err
		}
		out.Probes = append(out.Probes, *p)
		if p.Holds {
			out.Best = max(out.Best, rate)
		} else if out.Worst == 0 || rate < out.Worst {
			out.Worst = rate
		}
		switch {
		case out.Best == 0:
			rate = out.Worst / 2
		case out.Worst == 0:
			rate = out.Best * 1.3
		case out.Worst/out.Best < precision:
			return out, nil
		default:
			rate = math.Sqrt(out.Best * out.Worst)
		}
	}
	return out, nil
}

// probe tests one rate with the nth plan of the search.
func (s *Serving) probe(ctx context.Context, rate float64, n int) (*Probe, error) {
	s.Arrivals.Rate = rate
	plan, times, err := s.anew(ctx, n)
	if err != nil {
		return nil, err
	}
	if err := s.before(ctx, plan); err != nil {
		return nil, err
	}
	s.Run.Rate = rate
	if math.IsInf(rate, 1) {
		s.Run.Rate = 0
	}
	m, err := s.once(ctx, plan, times, &Outcome{}, n+1)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if g := m.Summary.Goodput; g != nil && !g.Measured() {
		return nil, fmt.Errorf("%s was not measured in %d of %d requests: %s", s.SLO, g.Unmeasured, g.Judged+g.Unmeasured, m.Summary.Unseen.Reason())
	}
	p := &Probe{
		Rate: rate, Good: m.Summary.Goodput.Share, TTFT99: m.Summary.TTFT.P99, TPOT99: m.Summary.TPOT.P99, Served: m.Summary.RequestRate,
	}
	p.Holds = p.Good >= GoodShare
	// Without backlog, the last request ends one mean latency after it was sent.
	inTime := float64(times[len(times)-1]) + m.Summary.E2E.Mean
	if p.Holds && !math.IsInf(rate, 1) && float64(m.Run.Duration) > mostBehind*inTime {
		p.Holds, p.Why = false, fmt.Sprintf("the server falls behind: it completes %.3g req/s", p.Served)
	} else if !p.Holds {
		p.Why = s.shortfall(m.Summary)
	}
	what := fmt.Sprintf("%.3g req/s", rate)
	if math.IsInf(rate, 1) {
		what = "All at once"
	}
	s.Log(fmt.Sprintf("%s: %.1f %% good, %.0f s", what, 100*p.Good, float64(m.Run.Duration)/1e9))
	return p, nil
}

// shortfall returns the reason why too few requests met all objectives.
func (s *Serving) shortfall(m *bench.Summary) string {
	if failed := m.Requests - m.Completed; failed > 0 {
		return fmt.Sprintf("%d requests failed", failed)
	}
	worst, at := 2.0, 0
	for i, share := range m.Goodput.Met {
		if share < worst {
			worst, at = share, i
		}
	}
	return fmt.Sprintf("only %.1[2]f %% of requests meet %[1]s", s.SLO[at].Key, 100*worst)
}
