package bench

import (
	"cmp"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
)

// Pace compares the completions of an open loop, in which requests are due at given times, with its arrivals.
type Pace struct {
	Verdict string  `json:"verdict"`       // KeepsUp, AtLimit or Overload
	Offered float64 `json:"offered_per_s"` // requests due per second
	// Sustained estimates the rate at which the server completes requests under this load. It is 0 if the server keeps
	// up, because the load then does not show the limit.
	Sustained float64 `json:"sustainable_per_s"`
	// Growth is the growth of the E2E from scheduled during the load, in seconds per second, at equal output lengths. It
	// equals the growth of the queue divided by the rate of completions.
	Growth float64 `json:"growth"`
	Most   int     `json:"most_in_flight"` // maximum number of requests that were due but not complete
	Drain  int64   `json:"drain_ns"`       // from the time when the last request was due to the end of the last request
}

// Verdicts of a Pace.
const (
	KeepsUp  = "keeps up"
	AtLimit  = "at its limit" // between 0.9 and 1.1 of the rate that the server sustains
	Overload = "overload"
)

// The limits below separate simulated servers at 0.5 to 0.9 of their capacity from servers at 1.1 to 2 times their
// capacity (TestPace).
const (
	limitGrowth    = 0.02 // minimum growth at the limit
	overGrowth     = 0.05 // minimum growth of an overload
	rateExcess     = 0.05 // minimum excess of the offered rate over the rate of completions, for both
	usualOverload  = 0.18 // the median request takes longer than the fastest ones by this share of the load
	queuedOverload = 0.35 // this share of the load is in flight at one moment, beyond the usual number
	sendsPerReply  = 1.5  // minimum length of sending, in times of a reply
)

// pace returns nil if the load has no rate of its own, if it is too small or too short for a verdict, or if more than a
// twentieth of its requests failed.
func pace(ok []*Record, requests int, run *Run, t overlap) *Pace {
	if run.Rate <= 0 && !run.Traced || len(ok) < fewestFirsts || 20*len(ok) < 19*requests || slices.ContainsFunc(ok, func(r *Record) bool { return r.Turn > 0 || r.Scheduled < 0 }) {
		return nil
	}
	ok = slices.Clone(ok)
	slices.SortStableFunc(ok, func(a, b *Record) int { return cmp.Compare(a.Scheduled, b.Scheduled) })
	n := len(ok)
	sending := float64(ok[n-1].Scheduled - ok[0].Scheduled)
	took, part, early := alike(ok), max(5, n/8), math.Inf(1)
	for i := 0; i+part <= n; i += part {
		early = min(early, metric.Median(took[i:i+part]))
	}
	late := metric.Median(took[n-part:])
	if sending <= 0 || sending < sendsPerReply*early {
		return nil
	}
	p := &Pace{Verdict: KeepsUp, Offered: run.Rate, Growth: (late - early) / sending}
	if run.Rate <= 0 {
		p.Offered = float64(n-1) / sending * 1e9
	}
	ended := make([]int64, n)
	spans := make([]Span, n)
	for i, r := range ok {
		ended[i], spans[i] = r.Done, Span{r.Scheduled, r.Done}
	}
	slices.Sort(ended)
	p.Drain = max(ended[n-1]-ok[n-1].Scheduled, 0)
	peak := int64(0)
	for _, c := range running(spans) {
		if c.running > p.Most {
			p.Most, peak = c.running, c.at
		}
	}
	// The first and the last completions depend on how the server fills and drains.
	from, to := 15*n/100, 90*n/100-1
	p.Sustained = float64(to-from) / float64(max(ended[to]-ended[from], 1)) * 1e9
	usual := slices.Sorted(slices.Values(took))
	waits := metric.Quantile(usual, 0.5) - metric.Quantile(usual, 0.05)
	backlog := float64(p.Most)*sending/float64(n-1) - metric.Quantile(usual, 0.25)
	exceeds := p.Offered >= (1+rateExcess)*p.Sustained
	switch {
	case waits >= usualOverload*sending, backlog >= queuedOverload*sending:
		p.Verdict = Overload
		// The server may have caught up later, so only the completions up to the peak count.
		if done, _ := slices.BinarySearch(ended, peak+1); done > 1 {
			p.Sustained = min(p.Sustained, float64(done-1)/float64(max(peak-ended[0], 1))*1e9)
		}
	case exceeds && p.Growth >= overGrowth:
		p.Verdict = Overload
	case exceeds && p.Growth >= limitGrowth:
		p.Verdict = AtLimit
	default:
		p.Sustained = 0
	}
	if len(t) > 0 && p.Verdict != KeepsUp {
		return nil // the queue may be due to the profiler
	}
	return p
}

// alike returns the E2E from scheduled of each request as if all requests had the mean output length.
func alike(ok []*Record) []float64 {
	var mean float64
	for _, r := range ok {
		mean += float64(r.OutputLen) / float64(len(ok))
	}
	out := make([]float64, len(ok))
	for i, r := range ok {
		out[i] = float64(r.Done - r.Scheduled)
		if tpot, timed := r.TPOT(); timed {
			out[i] = float64(r.First-r.Scheduled) + max(mean-1, 0)*tpot
		}
	}
	return out
}
