// Package detect finds the moment at which the ranks of a server drift apart, or its requests
// become slow, in a series of [signals.Live]. It reads no clock and no file: time is that of
// the samples, so that recorded series give what live ones gave.
//
// Each rule makes one number of a sample, such as the load of the busiest rank over the mean,
// and sums up how far it is beyond what is normal (cusum.go). docs/metrics.md has the formulas.
package detect

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind is what a rule looks at.
type Kind string

// The kinds.
const (
	Imbalance  Kind = "imbalance"  // of a signal, over ranks
	Latency    Kind = "latency"    // of requests
	Queue      Kind = "queue"      // grows
	Throughput Kind = "throughput" // falls, at the same load
	Silent     Kind = "silent"     // a rank says nothing any more, or makes no token of the requests that it runs
)

// Kinds are all of them.
var Kinds = []Kind{Imbalance, Latency, Queue, Throughput, Silent}

// Measures of imbalance.
const (
	MaxOverMean = "max/mean"
	MaxOverRest = "max/others" // the largest over the median of the other ranks
	Variation   = "cv"         // standard deviation over mean
)

// Rule is a condition that has a window captured. Above is in the unit of what it looks at.
type Rule struct {
	Name string
	Kind Kind

	Signal  string  // of imbalance: one of Signals; of latency: ttft.p95, itl.mean, e2e.p50
	Measure string  // of imbalance
	Above   float64 // a ratio; s; requests a second; of throughput the share that is lost. 0: as Factor says
	Factor  float64 // of latency, instead of Above: times its own recent median
	Least   float64 // below so many requests (on the busiest rank, or queued, or in all) there is nothing to judge
	For     time.Duration
	Asked   bool // somebody wants this one, it is none of the defaults
}

// SignalNames are the signals of which there may be imbalance.
func SignalNames() []string {
	var out []string
	for _, s := range perRank {
		out = append(out, s.name)
	}
	return out
}

// Names of the rules that hold where none are given.
const (
	UnevenLoad     = "uneven load"
	UnevenPace     = "uneven pace"
	SlowFirst      = "slow first tokens"
	SlowTokens     = "slow tokens"
	GrowingQueue   = "growing queue"
	LostThroughput = "lost throughput"
	SilentRank     = "silent rank"
)

// Defaults are the rules that hold where none are given.
func Defaults() []Rule {
	return []Rule{
		{Name: UnevenLoad, Kind: Imbalance, Signal: "load", Measure: MaxOverMean, Above: 1.5, Least: 4, For: 5 * time.Second},
		{Name: UnevenPace, Kind: Imbalance, Signal: "pace", Measure: MaxOverRest, Above: 1.4, Least: 4, For: 5 * time.Second},
		{Name: SlowFirst, Kind: Latency, Signal: "ttft.p90", Factor: 2, Least: 10, For: 10 * time.Second},
		{Name: SlowTokens, Kind: Latency, Signal: "itl.mean", Factor: 1.5, Least: 20, For: 10 * time.Second},
		{Name: GrowingQueue, Kind: Queue, Above: 1, Least: 8, For: 10 * time.Second},
		{Name: LostThroughput, Kind: Throughput, Above: 0.3, Least: 4, For: 10 * time.Second},
		{Name: SilentRank, Kind: Silent, Least: 1, For: 10 * time.Second},
	}
}

// Slowness tells whether what a rule looks at, of ranks, is how fast they are, not how much they have to do.
func (r *Rule) Slowness() bool { return slices.Contains([]string{"pace", "step", "tokens"}, r.Signal) }

// Check says what is wrong with a rule.
func (r *Rule) Check() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("rule %q: %s", r.Name, fmt.Sprintf(format, args...))
	}
	switch {
	case r.For <= 0:
		return fail("for %v: give a time above 0, as 5s", r.For)
	case r.Least < 0:
		return fail("least %g: give a number of requests", r.Least)
	}
	switch r.Kind {
	case Imbalance:
		if !slices.Contains(SignalNames(), r.Signal) {
			return fail("signal %q: give one of %s", r.Signal, strings.Join(SignalNames(), ", "))
		}
		switch {
		case !slices.Contains([]string{MaxOverMean, MaxOverRest, Variation}, r.Measure):
			return fail("measure %q: give %s, %s or %s", r.Measure, MaxOverMean, MaxOverRest, Variation)
		case r.Measure != Variation && r.Above <= 1:
			return fail("above %g: %s is 1 where all are equal, give more, as 1.5", r.Above, r.Measure)
		case r.Above <= 0:
			return fail("above %g: give more than 0, as 0.5", r.Above)
		}
	case Latency:
		if _, _, err := parseLatency(r.Signal); err != nil {
			return fail("%v", err)
		}
		switch {
		case r.Above < 0 || r.Above == 0 && r.Factor <= 1:
			return fail("give above, a time, or factor, a number above 1 that says how many times its own recent median")
		case r.Above > 0 && r.Factor > 0:
			return fail("above and factor: leave one of them out")
		}
	case Queue:
		if r.Above <= 0 {
			return fail("above %g: give requests a second by which the queue grows, as 1", r.Above)
		}
	case Throughput:
		if r.Above <= 0 || r.Above >= 1 {
			return fail("above %g: give the share of throughput that is lost, as 0.3", r.Above)
		}
	case Silent:
	default:
		var all []string
		for _, k := range Kinds {
			all = append(all, string(k))
		}
		return fail("kind %q: give one of %s", r.Kind, strings.Join(all, ", "))
	}
	return nil
}
