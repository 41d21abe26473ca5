package workload

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/stepscope/stepscope/internal/base/pyrand"
)

// Arrivals at a rate are generated in two steps. First, gaps with mean 1 are drawn: all 1 (constant), exponential
// (Poisson) or gamma (bursty). The partial sums of the gaps are values of R(t). R(t) is the integral of the rate, that
// is, the number of requests expected until time t. Second, R is inverted, which gives the arrival times. For a steady
// rate the inversion is a division. For a ramp the inversion gives the exact process, whereas gaps drawn at the current
// rate would lag behind the changing rate.

// Arrivals configures the arrival times of requests.
type Arrivals struct {
	Rate float64 // --request-rate, requests/s; +Inf: all at once; if Ramp is set, Ramp.To applies instead
	// Process is the kind of arrivals: Poisson ("", as in SGLang), Constant, Gamma, or Trace.
	Process    Process
	Burstiness float64 // Gamma: the shape, as in vLLM's --burstiness; 1 is Poisson, and smaller values are burstier
	Ramp       *Ramp   // nil: a steady rate

	Trace    []time.Duration // Trace: the arrival times; [Plan] sets them from the requests
	Slowdown float64         // Trace: factor by which all times are multiplied; 0 means 1
}

// Process is a kind of arrivals.
type Process string

// Processes.
const (
	Poisson  Process = "poisson"
	Constant Process = "constant"
	Gamma    Process = "gamma"
	Trace    Process = "trace"
)

// Ramp is a request rate that changes from From to To and then stays at To. The change takes the time Over. If Over is
// 0, the change takes the expected time of Requests requests.
type Ramp struct {
	From, To    float64 // requests/s
	Exponential bool    // the rate changes by equal factors in equal times; otherwise linearly
	Over        time.Duration
	Requests    int
}

// Schedule returns the send times of n requests, measured from the start, in non-decreasing order. It draws random
// numbers from np. The first request is sent at once, except in a trace.
func Schedule(n int, a Arrivals, np *pyrand.State) ([]time.Duration, error) {
	return a.schedule(n, np, func(int) {})
}

// schedule calls due with the index and the time of each request. It draws the next gap only after due has returned.
func (a *Arrivals) schedule(n int, np *pyrand.State, due func(i int)) ([]time.Duration, error) {
	out := make([]time.Duration, n)
	if a.Process == Trace || a.Ramp == nil && math.IsInf(a.Rate, 1) {
		for i := range n {
			due(i)
		}
		if a.Process == Trace {
			return a.trace(n)
		}
		return out, nil
	}
	expected, err := a.inverse()
	if err != nil {
		return nil, err
	}
	gap, err := a.gaps(np)
	if err != nil {
		return nil, err
	}
	sum := 0.0
	for i := range n {
		if i > 0 {
			sum += gap()
		}
		due(i)
		if i == 0 {
			continue
		}
		if out[i], err = duration(expected(sum)); err != nil {
			return nil, fmt.Errorf("request %d of %d: %w", i+1, n, err)
		}
	}
	return out, nil
}

// gaps draws times between requests at rate 1.
func (a *Arrivals) gaps(np *pyrand.State) (func() float64, error) {
	switch a.Process {
	case Poisson, "":
		return np.Exponential, nil
	case Constant:
		return func() float64 { return 1 }, nil
	case Gamma:
		if math.IsInf(a.Burstiness, 1) {
			return func() float64 { return 1 }, nil
		}
		if !(a.Burstiness > 0) {
			return nil, fmt.Errorf("--burstiness %g must be greater than 0", a.Burstiness)
		}
		return func() float64 { return np.Gamma(a.Burstiness) / a.Burstiness }, nil
	}
	return nil, fmt.Errorf("unknown arrivals %q: give poisson, constant, gamma or trace", a.Process)
}

// inverse returns the inverse of R: the time in seconds until which x requests are expected.
func (a *Arrivals) inverse() (func(x float64) float64, error) {
	rate := func(r float64, zero bool) bool { return r > 0 && !math.IsInf(r, 1) || zero && r == 0 }
	if a.Ramp == nil {
		if !rate(a.Rate, false) {
			return nil, fmt.Errorf("--request-rate %g must be greater than 0 (inf sends all at once)", a.Rate)
		}
		return func(x float64) float64 { return x / a.Rate }, nil
	}
	p := *a.Ramp
	if !rate(p.To, false) || !rate(p.From, !p.Exponential) {
		return nil, fmt.Errorf("a ramp from %g to %g requests/s: rates must be greater than 0 (a linear one may begin at 0)", p.From, p.To)
	}
	over := p.Over.Seconds()
	if p.Over == 0 {
		over = float64(p.Requests) / p.mean()
	}
	if !(over > 0) {
		return nil, fmt.Errorf("a ramp needs a duration or a number of requests greater than 0")
	}
	total, growth := p.mean()*over, math.Log(p.To/p.From)
	return func(x float64) float64 {
		switch {
		case x >= total:
			return over + (x-total)/p.To
		case p.From == p.To:
			return x / p.From
		case p.Exponential: // R(t) = From·over/growth·(e^(growth·t/over) − 1)
			return over / growth * math.Log1p(x*growth/(p.From*over))
		}
		// R(t) = From·t + slope/2·t², solved in the form that avoids cancellation
		slope := (p.To - p.From) / over
		return 2 * x / (p.From + math.Sqrt(math.Max(p.From*p.From+2*slope*x, 0)))
	}, nil
}

// mean returns the mean rate during the ramp.
func (p *Ramp) mean() float64 {
	if p.Exponential && p.From != p.To {
		return (p.To - p.From) / math.Log(p.To/p.From)
	}
	return (p.From + p.To) / 2
}

func (a *Arrivals) trace(n int) ([]time.Duration, error) {
	if len(a.Trace) != n {
		return nil, fmt.Errorf("the trace has %d times for %d requests", len(a.Trace), n)
	}
	slow := cmp.Or(a.Slowdown, 1)
	if !(slow > 0) || math.IsInf(slow, 1) {
		return nil, fmt.Errorf("--mooncake-slowdown-factor %g must be greater than 0", slow)
	}
	out := make([]time.Duration, n)
	for i, at := range a.Trace {
		var err error
		if out[i], err = duration(at.Seconds() * slow); err != nil {
			return nil, fmt.Errorf("request %d of %d: %w", i+1, n, err)
		}
		if at < 0 || i > 0 && at < a.Trace[i-1] {
			return nil, fmt.Errorf("request %d of %d: the times of the trace are not in order", i+1, n)
		}
	}
	return out, nil
}

// duration rejects times that a schedule cannot represent.
func duration(seconds float64) (time.Duration, error) {
	if !(seconds < float64(math.MaxInt64/time.Second)) {
		return 0, fmt.Errorf("it would be sent only after %g s: give a higher rate", seconds)
	}
	return time.Duration(math.Round(seconds * float64(time.Second))), nil
}
