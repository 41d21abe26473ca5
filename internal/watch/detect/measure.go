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

// perRank are the signals of ranks, under the names that rules have for them. counts are
// numbers of requests, which chance makes uneven.
var perRank = []struct {
	name   string
	of     func(*signals.Flow) float64
	counts bool
}{
	{"load", func(f *signals.Flow) float64 { return f.Load }, true},
	{"running", func(f *signals.Flow) float64 { return f.Running }, true},
	{"queued", func(f *signals.Flow) float64 { return f.Queued }, true},
	{"context", func(f *signals.Flow) float64 { return f.Context }, false},
	{"usage", func(f *signals.Flow) float64 { return f.Usage }, false},
	{"tokens", func(f *signals.Flow) float64 { return f.Tokens }, false},
	{"prefill", func(f *signals.Flow) float64 { return f.Prefill }, false},
	{"pace", func(f *signals.Flow) float64 { return f.Pace }, false},
	{"step", func(f *signals.Flow) float64 { return f.Step }, false},
}

// point is what a rule makes of a sample.
type point struct {
	v, normal, high float64
	who             int // the rank that stands out, by its place; -1: none does
}

// beyondChance is by how many standard deviations a number of requests must lie above the mean of
// the other ranks to be more than chance, by Anscombe's transformation of Poisson's
// distribution (F. J. Anscombe, Biometrika 35, 1948): requests that are dealt out at random
// are uneven, too.
const beyondChance = 3

// imbalance is that of a signal over ranks.
func (s *state) imbalance(l *signals.Live) (p point, ok bool) {
	at := slices.IndexFunc(perRank, func(x struct {
		name   string
		of     func(*signals.Flow) float64
		counts bool
	}) bool {
		return x.name == s.rule.Signal
	})
	n, sum, squares, most, load := 0.0, 0.0, 0.0, math.Inf(-1), 0.0
	p.who = -1
	for i := range l.Ranks {
		v := perRank[at].of(&l.Ranks[i])
		if !signals.Known(v) {
			continue
		}
		n, sum, squares = n+1, sum+v, squares+v*v
		if v > most {
			most, p.who = v, i
		}
	}
	if n < 2 || sum <= 0 {
		return p, false
	}
	if load = l.Ranks[p.who].Load; load < s.rule.Least {
		return s.even(p), true
	}
	mean := sum / n
	p.v, p.normal, p.high = most/mean, 1, s.rule.Above
	if s.rule.Measure == Variation {
		p.v, p.normal = math.Sqrt(math.Max(squares/n-mean*mean, 0))/mean, 0
	}
	if others := (sum - most) / (n - 1); perRank[at].counts && 2*(math.Sqrt(most+3./8)-math.Sqrt(others+3./8)) < beyondChance {
		return s.even(p), true
	}
	return p, true
}

// even is a point at which nothing is uneven.
func (s *state) even(p point) point {
	p.normal, p.high = 1, s.rule.Above
	if s.rule.Measure == Variation {
		p.normal = 0
	}
	p.v, p.who = p.normal, -1
	return p
}

// parseLatency reads ttft.p95.
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
		return nil, 0, fmt.Errorf("signal %q: give ttft, itl or e2e, and which of it, as ttft.p95 or itl.mean", text)
	}
	if figure == "mean" {
		return of, -1, nil
	}
	percent, err := strconv.ParseFloat(strings.TrimPrefix(figure, "p"), 64)
	if err != nil || !strings.HasPrefix(figure, "p") || !(percent > 0 && percent < 100) {
		return nil, 0, fmt.Errorf("signal %q: give its mean or a percentile, as %s.mean or %s.p95", text, name, name)
	}
	return of, percent / 100, nil
}

// patience is how long observations are gathered for one point.
const patience = 10 * time.Second

// latency is a figure of the requests since the last point, for which it takes so many observations
// as the rule says.
func (s *state) latency(l *signals.Live) (p point, ok bool) {
	of, share, _ := parseLatency(s.rule.Signal) // Check has looked
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
		return p, signals.Known(p.v)
	}
	base, known := s.history.median(l.At)
	s.history.offer(l.At, p.v)
	if !known || base <= 0 {
		s.history.settle() // nobody can say that it is not normal
		return p, false
	}
	p.v, p.normal, p.high = p.v/base, 1, s.rule.Factor
	return p, true
}

// growth is the time over which a queue's growth is taken.
const growth = 10 * time.Second

// queue is how fast the queue of all ranks grows, in requests a second.
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
	return p, true
}

const (
	alike = 0.2 // loads that differ by no more are the same
	some  = 30  // points that a baseline takes
)

// throughput is how many times as fast tokens were made while as many requests ran.
func (s *state) throughput(l *signals.Live) (p point, ok bool) {
	running := l.Sum(func(f *signals.Flow) float64 { return f.Running })
	p = point{normal: 1, high: 1 / (1 - s.rule.Above), who: -1}
	if !signals.Known(running) || !signals.Known(l.Tokens) || running < s.rule.Least {
		return p, false
	}
	var before []float64
	for _, m := range s.history.known(l.At) {
		if math.Abs(m.load-running) <= alike*running {
			before = append(before, m.v)
		}
	}
	s.history.offerAt(l.At, l.Tokens, running)
	if len(before) < some {
		s.history.settle()
		return p, false
	}
	slices.Sort(before)
	if base := metric.Quantile(before, 0.5); l.Tokens < metric.Quantile(before, 0.1) {
		p.v = base / math.Max(l.Tokens, base/1e6)
		return p, true
	}
	p.v = 1
	return p, true
}

// silent is a rank that was there and is not any more, or runs requests and makes no token,
// while others make some.
func (s *state) silent(l *signals.Live) (p point, ok bool) {
	p = point{normal: 0, high: 1, who: -1}
	for _, f := range l.Ranks {
		if s.seen == nil {
			s.seen = map[int]bool{}
		}
		s.seen[f.DP] = true
	}
	for dp := range s.seen {
		if !slices.ContainsFunc(l.Ranks, func(f signals.Flow) bool { return f.DP == dp }) {
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
