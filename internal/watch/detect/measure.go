package detect

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/capture/signals"
)

// point is a rule's statistic for one sample.
type point struct {
	v, normal, high float64
	limit           float64 // limit of the rule; at most high
	who             int     // index of the outlier rank; -1: none
	usual           bool    // v is within its usual range
}

// quarter is used if no better estimate of the usual range exists. A statistic then counts as usual if it exceeds
// normal by at most this fraction of the distance from normal to high.
const quarter = 0.25

// usually sets p.usual according to the criterion described at quarter.
func (p *point) usually() { p.usual = p.v <= p.normal+quarter*(p.high-p.normal) }

// middle returns the median over all points of the value that is computed by the function of.
func middle(points []entry, of func(entry) float64) float64 {
	values := make([]float64, len(points))
	for i, e := range points {
		values[i] = of(e)
	}
	return metric.MedianInPlace(values)
}

// parseLatency parses the name of a latency signal, such as ttft.p95. p is the percentile as a share, or -1 for the
// mean.
func parseLatency(text string) (of func(*signals.Live) *signals.Histogram, p float64, err error) {
	name, figure, _ := strings.Cut(text, ".")
	switch name {
	case "ttft":
		of = func(l *signals.Live) *signals.Histogram { return &l.TTFT }
	case "itl":
		of = func(l *signals.Live) *signals.Histogram { return &l.ITL }
	case "e2e":
		of = func(l *signals.Live) *signals.Histogram { return &l.E2E }
	default:
		return nil, 0, fmt.Errorf("signal %q: give ttft, itl or e2e with a statistic, such as ttft.p95 or itl.mean", text)
	}
	if figure == "mean" {
		return of, -1, nil
	}
	percent, err := strconv.ParseFloat(strings.TrimPrefix(figure, "p"), 64)
	if err != nil || !strings.HasPrefix(figure, "p") || !(percent > 0 && percent < 100) {
		return nil, 0, fmt.Errorf("signal %q: give its mean or a percentile, such as %s.mean or %s.p95", text, name, name)
	}
	return of, percent / 100, nil
}

// patience is the maximum time for which observations are gathered for one point.
const patience = 10 * time.Second

// latency computes a latency figure of the requests since the previous point. A point needs at least rule.Least
// observations.
func (s *state) latency(l *signals.Live) (p point, ok bool) {
	of, share, _ := parseLatency(s.rule.Signal) // Check has validated the signal
	if l.Restarted {
		s.gathered, s.gatheredFor = signals.Histogram{}, 0
		return p, false
	}
	s.gathered = s.gathered.Add(of(l))
	s.gatheredFor += l.Over
	h := s.gathered
	if h.Count < s.rule.Least {
		if s.gatheredFor >= patience {
			s.gathered, s.gatheredFor = signals.Histogram{}, 0
		}
		return p, false
	}
	s.gathered, s.gatheredFor = signals.Histogram{}, 0
	p.who = -1
	if p.v = h.Mean(); share >= 0 {
		p.v = h.Quantile(share)
	}
	if s.rule.Above > 0 {
		p.normal, p.high = s.rule.Above/2, s.rule.Above
		p.usually()
		return p, signals.Known(p.v)
	}
	s.record(entry{at: l.At, v: p.v})
	base, known := s.history.median(l.At)
	s.history.offer(entry{at: l.At, v: p.v})
	if !known || base <= 0 {
		s.history.settle() // without a baseline, no value can be judged abnormal
		return p, false
	}
	p.v, p.normal, p.high = p.v/base, 1, s.rule.Factor
	p.usually()
	return p, true
}

// growth is the period over which the growth of a queue is measured.
const growth = 10 * time.Second

// queue returns the growth of the queues of all ranks together, in requests/s.
func (s *state) queue(l *signals.Live) (p point, ok bool) {
	queued := l.Sum(func(f *signals.Flow) float64 { return f.Queued })
	if !signals.Known(queued) {
		return p, false
	}
	p = point{normal: 0, high: s.rule.Above, who: -1}
	s.queues = append(s.queues, moment{l.At, queued})
	for len(s.queues) > 1 && l.At.Sub(s.queues[1].at) >= growth {
		s.queues = s.queues[1:]
	}
	first := s.queues[0]
	over := l.At.Sub(first.at)
	if over < growth/2 {
		return p, false
	}
	if queued >= s.rule.Least {
		p.v = (queued - first.v) / over.Seconds()
	}
	p.usually()
	return p, true
}

const (
	alike = 0.2 // relative difference up to which two loads count as equal
	some  = 30  // minimum number of points for a baseline
)

// throughput returns the ratio of the usual token rate to the current token rate. The usual token rate is taken from
// samples with a similar number of running requests.
func (s *state) throughput(l *signals.Live) (p point, ok bool) {
	running := l.Sum(func(f *signals.Flow) float64 { return f.Running })
	p = point{normal: 1, high: 1 / (1 - s.rule.Above), who: -1}
	if !signals.Known(running) || !signals.Known(l.Tokens) || running < s.rule.Least {
		return p, false
	}
	s.record(entry{at: l.At, v: -l.Tokens, beside: running})
	var before []float64
	for _, m := range s.history.known(l.At) {
		if math.Abs(m.beside-running) <= alike*running {
			before = append(before, m.v)
		}
	}
	s.history.offer(entry{l.At, l.Tokens, running})
	if len(before) < some {
		s.history.settle()
		return p, false
	}
	slices.Sort(before)
	if base := metric.Quantile(before, 0.5); l.Tokens < metric.Quantile(before, 0.1) {
		p.v = base / math.Max(l.Tokens, base/1e6)
		return p, true
	}
	p.v, p.usual = 1, true
	return p, true
}

// silent returns 1 if a rank has disappeared, or if a rank runs requests without producing tokens while other ranks
// produce tokens.
func (s *state) silent(l *signals.Live) (p point, ok bool) {
	p = point{normal: 0, high: 1, who: -1}
	for _, f := range l.Ranks {
		if s.seen == nil {
			s.seen = map[int]bool{}
		}
		s.seen[f.DP] = true
	}
	now := map[int]bool{}
	for _, f := range l.Ranks {
		now[f.DP] = true
	}
	for dp := range s.seen {
		if !now[dp] {
			p.v, s.gone = 1, dp
			return p, true
		}
	}
	moves := slices.ContainsFunc(l.Ranks, func(f signals.Flow) bool { return f.Tokens > 0 || f.Prefill > 0 })
	for i, f := range l.Ranks {
		if moves && f.Running >= s.rule.Least && f.Tokens == 0 && !(f.Prefill > 0) {
			p.v, p.who = 1, i
			return p, true
		}
	}
	return p, len(s.seen) > 0
}
