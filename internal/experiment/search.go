package experiment

import (
	"context"
	"fmt"
	"math"

	"github.com/stepscope/stepscope/internal/workload"
)

// Probe is one rate that was tried.
type Probe struct {
	Rate   float64 `json:"rate"` // requests/s
	Good   float64 `json:"good"` // share of requests that met all objectives
	Holds  bool    `json:"holds"`
	Why    string  `json:"why,omitempty"`
	TTFT99 float64 `json:"ttft_p99_ns"`
	TPOT99 float64 `json:"tpot_p99_ns"`
	Served float64 `json:"served"` // requests/s that ended
}

// Search is what a search for the highest rate found: Best holds, Worst is the
// lowest that was seen to fail. 0: there was none.
type Search struct {
	Probes []Probe `json:"probes"`
	Best   float64 `json:"best"`
	Worst  float64 `json:"worst"`
}

// goodShare is the share of requests that must meet the objectives for a rate to
// hold.
const goodShare = 0.99

// precision ends a search: the rates that hold and that fail are so close.
const precision = 1.1

// FindMaxRate searches the highest rate at which 99 % of the requests meet all
// objectives. It first sends all at once, which tells what the server can take,
// then halves the gap between the highest rate that holds and the lowest that does
// not, on a logarithmic scale. Each rate is tried with the whole plan.
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
	s.Arrivals.Rate = math.Inf(1)
	plan, _, err := s.plan(ctx)
	if err != nil {
		return nil, err
	}
	out := &Search{}
	try := func(rate float64) (*Probe, error) {
		a := s.Arrivals
		a.Rate = rate
		times, err := workload.Schedule(len(plan), a)
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
		m, err := s.once(ctx, plan, times, &Outcome{}, false)
		if err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		p := Probe{
			Rate: rate, Good: m.Summary.Goodput.Share, TTFT99: m.Summary.TTFT.P99, TPOT99: m.Summary.TPOT.P99, Served: m.Summary.RequestRate,
		}
		if p.Holds = p.Good >= goodShare; !p.Holds {
			worst, at := 2.0, 0
			for i, share := range m.Summary.Goodput.Met {
				if share < worst {
					worst, at = share, i
				}
			}
			p.Why = fmt.Sprintf("%s is met by %.1f %%", s.SLO[at].Key, 100*worst)
			if failed := m.Summary.Requests - m.Summary.Completed; failed > 0 {
				p.Why = fmt.Sprintf("%d requests failed", failed)
			}
		}
		s.Log(fmt.Sprintf("%.3g req/s: %.1f %% good", rate, 100*p.Good))
		return &p, nil
	}
	all, err := try(math.Inf(1))
	if err != nil {
		return nil, err
	}
	ceiling := all.Served
	if ceiling <= 0 {
		return nil, fmt.Errorf("no request succeeded: %s", all.Why)
	}
	if all.Rate = ceiling; all.Holds {
		out.Probes, out.Best = append(out.Probes, *all), ceiling
		return out, nil
	}
	all.Why += " when all come at once"
	out.Probes, out.Worst = append(out.Probes, *all), ceiling*precision
	rate := ceiling / 2
	for range 12 {
		p, err := try(rate)
		if err != nil {
			return out, err
		}
		out.Probes = append(out.Probes, *p)
		if p.Holds {
			out.Best = max(out.Best, rate)
		} else {
			out.Worst = min(out.Worst, rate)
		}
		switch {
		case out.Best == 0:
			rate = out.Worst / 4
		case out.Worst/out.Best < precision:
			return out, nil
		default:
			rate = math.Sqrt(out.Best * out.Worst)
		}
	}
	return out, nil
}
