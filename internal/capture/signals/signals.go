// Package signals reads the live state of a server, without a trace: what each of its
// data-parallel ranks has under way, and how long its requests take. A [Reader] takes
// samples of counters and gauges as the server gives them; [Between] makes of two of them
// what went on from one to the other.
//
// Where it is read: /metrics of SGLang, stepscope and vLLM (the families of SGLang 0.5.11
// to 0.5.23), and /v1/loads or /get_load beside it, since gauges of /metrics are those of
// the last batch that a scheduler logged: of an idle rank they may be half a minute old.
package signals

import (
	"math"
	"slices"
	"time"
)

// Unknown is the value of what a server does not tell.
var Unknown = math.NaN()

// Known tells whether a server has told a value.
func Known(v float64) bool { return !math.IsNaN(v) }

// or is the first known value.
func or(values ...float64) float64 {
	for _, v := range values {
		if Known(v) {
			return v
		}
	}
	return Unknown
}

// Rank is what a data-parallel rank says of itself. What it does not say is Unknown. Times
// are seconds and count, as all totals do, since the server's start.
type Rank struct {
	DP int // its number; 0 of a server that has none

	Running float64 // requests in batches
	Queued  float64 // requests that wait
	Context float64 // tokens of the running sequences
	Usage   float64 // part of the KV cache in use, 0 to 1
	Rate    float64 // tokens generated a second, as the server computes it

	Generated float64 // total of tokens generated
	Computed  float64 // total of prompt tokens computed
	Passes    float64 // total of forward passes
	Busy      float64 // total time in which the scheduler's loop was not idle
	Device    float64 // total time of forward passes on the device
}

// fresh is a rank of which nothing is known.
func fresh(dp int) Rank {
	r := Rank{DP: dp}
	for _, v := range r.values() {
		*v = Unknown
	}
	return r
}

func (r *Rank) values() []*float64 {
	return []*float64{&r.Running, &r.Queued, &r.Context, &r.Usage, &r.Rate, &r.Generated, &r.Computed, &r.Passes, &r.Busy, &r.Device}
}

// totals are those values that only grow.
func (r *Rank) totals() []float64 {
	return []float64{r.Generated, r.Computed, r.Passes, r.Busy, r.Device}
}

// Sample is what a server said at one moment.
type Sample struct {
	At    time.Time // when it was asked
	Ranks []Rank    // by DP

	// Of all requests, s.
	TTFT, ITL, E2E Histogram

	Generated float64 // total of tokens generated, where only that of the server is known
	Aborted   float64 // total
	Started   float64 // when the process started, s since the epoch
}

// Live is what went on in a server between two samples. Rates are per second.
type Live struct {
	At    time.Time
	Over  time.Duration // between the samples
	Ranks []Flow        // by DP

	TTFT, ITL, E2E Histogram // of the observations in between, s

	Tokens    float64 // tokens generated a second, of all ranks
	Restarted bool    // the server did; nothing but gauges is known then, nor where the clock went back
}

// Flow is what went on in a rank.
type Flow struct {
	DP      int
	Running float64
	Queued  float64
	Load    float64 // requests running and queued
	Context float64 // tokens
	Usage   float64 // 0 to 1
	Tokens  float64 // generated a second
	Prefill float64 // prompt tokens computed a second
	Pace    float64 // s from a token of a running request to its next: requests running in between over Tokens
	Step    float64 // s of a forward pass: the time in which the scheduler was not idle, over passes
	Batch   float64 // tokens generated a pass
	Device  float64 // part of the time in forward passes on the device
}

// Between is what went on from sample a to a later one, b.
func Between(a, b *Sample) *Live {
	over := b.At.Sub(a.At)
	l := &Live{At: b.At, Over: over, Restarted: restarted(a, b)}
	seconds := over.Seconds()
	compares := !l.Restarted && seconds > 0 // else the clock went back, or the moment is the same
	rate := func(from, to float64) float64 {
		if !compares {
			return Unknown
		}
		return (to - from) / seconds // Unknown of an unknown
	}
	for i := range b.Ranks {
		now := &b.Ranks[i]
		was := fresh(now.DP)
		if at := slices.IndexFunc(a.Ranks, func(r Rank) bool { return r.DP == now.DP }); at >= 0 {
			was = a.Ranks[at]
		}
		l.Ranks = append(l.Ranks, flow(&was, now, rate))
	}
	l.Tokens = rate(a.Generated, b.Generated)
	if sum := total(l.Ranks, func(f *Flow) float64 { return f.Tokens }); Known(sum) {
		l.Tokens = sum
	}
	if compares {
		l.TTFT, l.ITL, l.E2E = b.TTFT.Since(&a.TTFT), b.ITL.Since(&a.ITL), b.E2E.Since(&a.E2E)
	}
	return l
}

// leastPasses is how many forward passes it takes for figures of one: servers count these and
// the time that they took at different moments.
const leastPasses = 5

func flow(was, now *Rank, rate func(from, to float64) float64) Flow {
	f := Flow{DP: now.DP, Running: now.Running, Queued: now.Queued, Context: now.Context, Usage: now.Usage}
	f.Prefill, f.Device = rate(was.Computed, now.Computed), rate(was.Device, now.Device)
	f.Tokens = rate(was.Generated, now.Generated)
	if !Known(f.Tokens) {
		f.Tokens = now.Rate
		if now.Running == 0 { // what the server says is then of its last batch
			f.Tokens = 0
		}
	}
	f.Load = Load(f.Running, f.Queued)
	f.Pace = pace((or(was.Running, now.Running)+now.Running)/2, f.Tokens)
	f.Step, f.Batch = Unknown, Unknown
	if passes := rate(was.Passes, now.Passes); now.Passes-was.Passes >= leastPasses {
		f.Step, f.Batch = rate(was.Busy, now.Busy)/passes, rate(was.Generated, now.Generated)/passes
	}
	return f
}

// Load is what is under way.
func Load(running, queued float64) float64 {
	if sum := running + queued; Known(sum) {
		return sum
	}
	return or(running, queued)
}

// pace is how long a running request waits for a token, by Little's law.
func pace(running, tokens float64) float64 {
	if running > 0 && tokens > 0 {
		return running / tokens
	}
	return Unknown
}

// restarted tells that a total went down, or that the process is another one.
func restarted(a, b *Sample) bool {
	if a.Started > 0 && b.Started > 0 && a.Started != b.Started {
		return true
	}
	for i := range b.Ranks {
		at := slices.IndexFunc(a.Ranks, func(r Rank) bool { return r.DP == b.Ranks[i].DP })
		if at < 0 {
			continue
		}
		was := a.Ranks[at].totals()
		for k, v := range b.Ranks[i].totals() {
			if v < was[k] {
				return true
			}
		}
	}
	return b.Generated < a.Generated || b.TTFT.Count < a.TTFT.Count || b.ITL.Count < a.ITL.Count || b.E2E.Count < a.E2E.Count
}

// total is a sum over ranks; Unknown if it is of any.
func total(ranks []Flow, of func(*Flow) float64) float64 {
	if len(ranks) == 0 {
		return Unknown
	}
	sum := 0.0
	for i := range ranks {
		sum += of(&ranks[i])
	}
	return sum
}

// Sum is the total over ranks of what one of the signals says; Unknown if a rank does not say it.
func (l *Live) Sum(of func(*Flow) float64) float64 { return total(l.Ranks, of) }

// Whole is a server as one rank among servers, under a number.
func (l *Live) Whole(number int) Flow {
	f := Flow{
		DP: number, Running: l.Sum(func(f *Flow) float64 { return f.Running }), Queued: l.Sum(func(f *Flow) float64 { return f.Queued }),
		Context: l.Sum(func(f *Flow) float64 { return f.Context }),
		Usage:   l.mean(func(f *Flow) float64 { return f.Usage }), Tokens: l.Tokens, Prefill: l.Sum(func(f *Flow) float64 { return f.Prefill }),
		Step: l.mean(func(f *Flow) float64 { return f.Step }), Batch: l.Sum(func(f *Flow) float64 { return f.Batch }),
		Device: l.mean(func(f *Flow) float64 { return f.Device }),
	}
	f.Load, f.Pace = Load(f.Running, f.Queued), pace(f.Running, f.Tokens)
	return f
}

// mean is that over ranks which say it.
func (l *Live) mean(of func(*Flow) float64) float64 {
	sum, n := 0.0, 0.0
	for i := range l.Ranks {
		if v := of(&l.Ranks[i]); Known(v) {
			sum, n = sum+v, n+1
		}
	}
	return sum / n // Unknown of none
}
