// Package detect finds the time at which a server's ranks diverge or its requests become slow. Its input is a series of
// [signals.Live]. The package reads neither the clock nor files: all times come from the samples, so a recorded series
// gives the same results as a live series.
//
// Each rule reduces a sample to one statistic, such as the ratio of the busiest rank's load to the mean load. The rule
// accumulates the excess of the statistic over its normal value (cusum.go). docs/metrics.md has the formulas.
package detect

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind is the class of condition that a rule detects.
type Kind string

// Kinds of rules.
const (
	Imbalance  Kind = "imbalance"  // a signal differs between ranks
	Latency    Kind = "latency"    // slow requests
	Queue      Kind = "queue"      // a growing queue
	Throughput Kind = "throughput" // lower throughput than usual at the same load
	Silent     Kind = "silent"     // a rank has stopped reporting, or runs requests without producing tokens
)

// Kinds lists all rule kinds.
var Kinds = []Kind{Imbalance, Latency, Queue, Throughput, Silent}

// Measures of imbalance.
const (
	MaxOverMean = "max/mean"
	MaxOverRest = "max/others" // largest value of a rank, divided by the median of the other ranks
	Variation   = "cv"         // standard deviation divided by mean
)

// Rule is a condition that triggers the capture of a window.
type Rule struct {
	Name string
	Kind Kind

	Signal  string  // imbalance: one of SignalNames; latency: such as ttft.p95, itl.mean or e2e.p50
	Measure string  // imbalance only
	Above   float64 // ratio (imbalance), s (latency), requests/s (queue) or share lost (throughput); 0: use Factor
	Factor  float64 // latency, if Above is 0: multiple of the recent median of the signal
	Least   float64 // minimum requests (on the busiest rank, queued, or in total) for the rule to apply
	For     time.Duration
	Asked   bool // the user has given the rule; it is not a default rule
}

// SignalNames returns the names of the signals that imbalance rules accept.
func SignalNames() []string {
	var out []string
	for _, s := range perRank {
		out = append(out, s.name)
	}
	return out
}

// Names of the default rules.
const (
	UnevenLoad     = "uneven load"
	UnevenPace     = "uneven pace"
	SlowFirst      = "slow first tokens"
	SlowTokens     = "slow tokens"
	GrowingQueue   = "growing queue"
	LostThroughput = "lost throughput"
	SilentRank     = "silent rank"
)

// Defaults returns the rules that apply if the user gives none.
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

// Slowness reports whether the rule's signal measures speed rather than load.
func (r *Rule) Slowness() bool { return slices.Contains([]string{"pace", "step", "tokens"}, r.Signal) }

// Check returns an error if the rule is invalid.
func (r *Rule) Check() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("rule %q: %s", r.Name, fmt.Sprintf(format, args...))
	}
	switch {
	case r.For <= 0:
		return fail("for %v: give a time above 0, such as 5s", r.For)
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
			return fail("above %g: %s is 1 if all ranks are equal: give more, such as 1.5", r.Above, r.Measure)
		case r.Above <= 0:
			return fail("above %g: give more than 0, such as 0.5", r.Above)
		}
	case Latency:
		if _, _, err := parseLatency(r.Signal); err != nil {
			return fail("%v", err)
		}
		switch {
		case r.Above < 0 || r.Above == 0 && r.Factor <= 1:
			return fail("give above (a time) or factor (a multiple of the recent median, above 1)")
		case r.Above > 0 && r.Factor > 0:
			return fail("above and factor: give only one of them")
		}
	case Queue:
		if r.Above <= 0 {
			return fail("above %g: give the growth of the queue in requests per second, such as 1", r.Above)
		}
	case Throughput:
		if r.Above <= 0 || r.Above >= 1 {
			return fail("above %g: give the lost share of throughput, such as 0.3", r.Above)
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
