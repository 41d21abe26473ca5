package detect

import (
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/capture/signals"
)

type signal struct {
	name   string
	of     func(*signals.Flow) float64
	counts bool
}

// perRank lists the per-rank signals with their names in rules. The field counts marks signals that are numbers of
// requests. Numbers of requests vary by chance.
var perRank = []signal{
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

func signalOf(name string) *signal {
	return &perRank[slices.IndexFunc(perRank, func(x signal) bool { return x.name == name })]
}

// byChance is the accepted probability, per sample, that chance alone makes a rank an outlier. 1/byChance independent
// samples take several hours.
const byChance = 1e-4

// beyond returns a number of standard deviations from the mean. The probability that the largest of n ranks exceeds
// this number by chance is byChance.
func beyond(n float64) float64 { return math.Sqrt2 * math.Erfinv(1-2*byChance/n) }

// stands returns the number of standard deviations by which a rank's number of requests exceeds the mean of the other
// ranks. The standard deviation assumes that requests are distributed by chance alone. It uses Anscombe's
// transformation of the Poisson distribution (F. J. Anscombe, Biometrika 35, 1948); the transformed values have the
// variance 1/4.
func stands(requests, mean, others float64) float64 {
	return 2 * (math.Sqrt(requests+3./8) - math.Sqrt(math.Max(mean, 0)+3./8)) / math.Sqrt(1+1/others)
}

// spreadOver summarizes a signal over the ranks that report it.
type spreadOver struct {
	n, sum, squares, most float64
	who                   int // index of the rank with the largest value
	rest                  []float64
}

func (x *spreadOver) mean() float64   { return x.sum / x.n }
func (x *spreadOver) others() float64 { return (x.sum - x.most) / (x.n - 1) }

// variance returns the sample variance over ranks.
func (x *spreadOver) variance() float64 {
	return math.Max(x.squares-x.n*x.mean()*x.mean(), 0) / (x.n - 1)
}

func over(l *signals.Live, of func(*signals.Flow) float64) spreadOver {
	x := spreadOver{most: math.Inf(-1), who: -1}
	for i := range l.Ranks {
		v := of(&l.Ranks[i])
		if !signals.Known(v) {
			continue
		}
		x.n, x.sum, x.squares = x.n+1, x.sum+v, x.squares+v*v
		if v > x.most {
			if x.who >= 0 {
				x.rest = append(x.rest, x.most)
			}
			x.most, x.who = v, i
		} else {
			x.rest = append(x.rest, v)
		}
	}
	return x
}

// imbalance returns the imbalance of the rule's signal over ranks.
func (s *state) imbalance(l *signals.Live) (p point, ok bool) {
	signal := signalOf(s.rule.Signal)
	of := signal.of
	if !signal.counts {
		of = s.smooth(l, signal)
	}
	x := over(l, of)
	p = point{normal: 1, high: s.rule.Above, limit: s.rule.Above, who: x.who}
	if x.n < 2 || x.sum <= 0 {
		return p, false
	}
	if s.rule.Measure == Variation {
		p.normal = 0
	}
	p.v = x.ratio(s.rule.Measure)
	p.usually()
	switch {
	case l.Ranks[x.who].Load < s.rule.Least:
		return p.even(), true
	case signal.counts:
		return s.counted(l, p, &x), true
	}
	now := over(l, signal.of)
	return s.rated(l, p, &x, now.ratio(s.rule.Measure)), true
}

// ratio returns the imbalance according to the given measure.
func (x *spreadOver) ratio(measure string) float64 {
	switch measure {
	case MaxOverMean:
		return x.most / x.mean()
	case MaxOverRest:
		// Without this limit, the ratio would be infinite if the value of all other ranks is 0.
		return x.most / math.Max(metric.Median(x.rest), x.most/mostTimes)
	}
	return math.Sqrt(x.variance()*(x.n-1)/x.n) / x.mean()
}

// mostTimes is the upper limit of the reported ratio of one rank to the other ranks.
const mostTimes = 1000

// even returns p changed to a point of balanced ranks: v is normal and there is no outlier. The field usual is
// unchanged.
func (p point) even() point {
	p.v, p.who = p.normal, -1
	return p
}

// evenest is a lower bound for the ratio of the observed variance of request counts to the variance by chance.
const evenest = 0.05

// counted judges signals that are numbers of requests. A rank is an outlier if its count is explained neither by chance
// nor by the dispersion observed in normal operation.
func (s *state) counted(l *signals.Live, p point, x *spreadOver) point {
	past := s.history.known(l.At)
	s.history.offer(entry{at: l.At, v: p.v, beside: x.variance() / x.mean()})
	unlike := 1.0
	if len(past) >= some {
		middling, quarter := usual(past)
		p.usual = p.v <= middling+1.5*(quarter-middling)
		// The median of a chi-squared distribution with k degrees of freedom is about k·(1 − 2/9k)³ (E. B. Wilson and
		// M. M. Hilferty, Proceedings of the National Academy of Sciences 17, 1931).
		unlike = math.Max(middle(past, func(e entry) float64 { return e.beside })/math.Pow(1-2/(9*(x.n-1)), 3), evenest)
	}
	if stands(x.most, x.others(), x.n-1) < beyond(x.n)*math.Sqrt(unlike) {
		return p.even()
	}
	return p
}

const (
	// soon is the minimum number of points in a baseline of rates.
	soon = 12
	// spreads is the distance of the alarm level from the median of the baseline, as a multiple of the distance of the
	// upper quartile from the median. For a normal distribution, spreads corresponds to five standard deviations.
	spreads = 7.4
	// always is the minimum share of points in which the same rank must have the highest rate. If the share is reached,
	// the ranks count as uneven from the start.
	always = 0.9
)

// rated judges signals that are not request counts. A rank is an outlier if the imbalance exceeds the baseline by more
// than the usual variation. While there is no baseline, only an imbalance of the signal pace counts, and only if the
// numbers of requests do not explain the imbalance. The parameter now is the imbalance without smoothing.
func (s *state) rated(l *signals.Live, p point, x *spreadOver, now float64) point {
	if s.rule.Signal == "pace" && busy(l, x.who) {
		return p.even()
	}
	if s.fromStart {
		return p
	}
	past := s.history.known(l.At)
	s.history.offer(entry{at: l.At, v: p.v, beside: float64(l.Ranks[x.who].DP)})
	if len(past) < soon {
		f := &l.Ranks[x.who]
		if s.rule.Signal != "pace" || stands(f.Running, f.Tokens*x.others(), x.n-1) < beyond(x.n) {
			return p.even()
		}
		return p
	}
	if !s.knows {
		s.knows = true
		if s.fromStart = s.lopsided(past); s.fromStart {
			s.history = history{}
			return p
		}
	}
	middling, quarter := usual(past)
	p.usual = now <= middling+2*(quarter-middling) // unsmoothed, so that the onset is exact
	p.normal = math.Max(p.normal, middling)
	p.high = math.Max(p.high, middling+spreads*(quarter-middling))
	return p
}

// ahead is the minimum ratio of a busy rank's token rate to the token rate of the other ranks.
const ahead = 1.1

// busy reports whether a rank produces more tokens than the other ranks. Such a rank has longer inter-token times for
// this reason, and another rule detects it.
func busy(l *signals.Live, who int) bool {
	x := over(l, func(f *signals.Flow) float64 {
		if f.DP == l.Ranks[who].DP {
			return signals.Unknown
		}
		return f.Tokens
	})
	return x.n > 0 && l.Ranks[who].Tokens > ahead*metric.Median(append(x.rest, x.most))
}

// smoothed is the number of samples over which a rate is smoothed by their median. Smoothing is necessary because
// gauges are sometimes read between two requests, when nothing runs. For pace, running requests and tokens are smoothed
// separately. The reason is that a reading between two requests falsifies a single value of a gauge, but two increases
// of a counter: the increase up to that reading and the increase after that reading.
const smoothed = 5

// lately holds the values of one rank in the last samples.
type lately struct{ values, tokens []float64 }

// smooth returns a function that computes the signal of a rank, smoothed over the last samples.
func (s *state) smooth(l *signals.Live, signal *signal) func(*signals.Flow) float64 {
	if s.lately == nil {
		s.lately = map[int]*lately{}
	}
	pace := signal.name == "pace"
	keep := func(to []float64, v float64) []float64 {
		if !signals.Known(v) {
			return to
		}
		to = append(to, v)
		return to[max(len(to)-smoothed, 0):]
	}
	for i := range l.Ranks {
		f := &l.Ranks[i]
		of := s.lately[f.DP]
		if of == nil {
			of = &lately{}
			s.lately[f.DP] = of
		}
		if pace {
			of.values, of.tokens = keep(of.values, f.Running), keep(of.tokens, f.Tokens)
		} else {
			of.values = keep(of.values, signal.of(f))
		}
	}
	return func(f *signals.Flow) float64 {
		of := s.lately[f.DP]
		switch {
		case len(of.values) == 0 || pace && len(of.tokens) == 0 || !pace && !signals.Known(signal.of(f)):
			return signals.Unknown
		case pace:
			tokens := metric.Median(of.tokens)
			if slices.Contains(of.tokens, 0) { // steps take about as long as the sampling interval
				tokens = metric.Mean(of.tokens)
			}
			if v := metric.Median(of.values) / tokens; v > 0 && !math.IsInf(v, 0) {
				return v
			}
			return signals.Unknown
		}
		return metric.Median(of.values)
	}
}

// lopsided reports whether past is unusable as a baseline because one rank has the highest rate throughout, more often
// than by chance.
func (s *state) lopsided(past []entry) bool {
	of := map[float64]int{}
	most := 0
	for _, e := range past {
		of[e.beside]++
		most = max(most, of[e.beside])
	}
	return float64(most) >= always*float64(len(past)) && middle(past, func(e entry) float64 { return e.v }) >= s.rule.Above
}

// usual returns the median and the upper quartile of past.
func usual(past []entry) (middling, quarter float64) {
	values := make([]float64, len(past))
	for i, e := range past {
		values[i] = e.v
	}
	slices.Sort(values)
	return metric.Quantile(values, 0.5), metric.Quantile(values, 0.75)
}
