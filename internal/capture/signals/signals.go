// Package signals reads the live state of a server without a trace: the work of each data-parallel rank, and the
// latencies of requests. A [Reader] samples the server's counters and gauges; [Between] computes the activity between
// two samples.
//
// The sources are /metrics, with the names of the table of servers, and also /v1/loads or /get_load. The load routes are needed because gauges in /metrics date from the last batch that a scheduler logged.
// For an idle rank, that batch may be half a minute old.
package signals

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/api/servers"
)

// Unknown is the value of data that a server does not provide.
var Unknown = math.NaN()

// Known reports whether a value is not Unknown.
func Known(v float64) bool { return !math.IsNaN(v) }

// or returns the first of values that is known.
func or(values ...float64) float64 {
	for _, v := range values {
		if Known(v) {
			return v
		}
	}
	return Unknown
}

// Rank holds the values that a data-parallel rank reports. A value that is not reported is Unknown. Times are in
// seconds. Times and totals count from the server's start.
type Rank struct {
	DP int // rank number; 0 if the server has none

	Running float64 // requests in batches
	Queued  float64 // waiting requests
	Context float64 // tokens of the running sequences
	Usage   float64 // share of the KV cache in use, 0 to 1
	Used    float64 // tokens in the KV cache
	Rate    float64 // tokens/s, as computed by the server

	Generated float64 // total tokens generated
	Computed  float64 // total prompt tokens computed
	Passes    float64 // total forward passes
	Busy      float64 // total time in which the scheduler's loop was not idle, s
	Device    float64 // total time of forward passes on the device, s
}

// fresh returns a rank with all values Unknown.
func fresh(dp int) Rank {
	r := Rank{DP: dp}
	for _, v := range r.values() {
		*v = Unknown
	}
	return r
}

func (r *Rank) values() []*float64 {
	return []*float64{&r.Running, &r.Queued, &r.Context, &r.Usage, &r.Rate, &r.Generated, &r.Computed, &r.Passes, &r.Busy, &r.Device, &r.Used}
}

// totals returns the values that never decrease.
func (r *Rank) totals() []float64 {
	return []float64{r.Generated, r.Computed, r.Passes, r.Busy, r.Device}
}

// Sample is the state of a server at one moment.
type Sample struct {
	At    time.Time // time of the request
	Ranks []Rank    // by DP

	// Latencies of all requests, s.
	TTFT, ITL, E2E Histogram

	Kind   servers.Kind // by the names of the metrics; "": no metrics
	Blocks Blocks
	Values map[string]float64 // the metrics of the table of servers; key: name and labels

	Generated float64 // total tokens generated
	Prompt    float64 // total prompt tokens looked up in the prefix cache
	Cached    float64 // total prompt tokens found in the prefix cache
	Received  float64 // total requests received
	Served    float64 // total requests that have ended
	Aborted   float64 // total requests aborted
	Retracted float64 // requests that lost their place in the KV cache
	Drafts    float64 // total drafts of speculative decoding; above 0: several tokens a step
	Drafted   float64 // total tokens in drafts
	Accepted  float64 // total tokens of drafts that were accepted
	Started   float64 // start of the server process, s since the epoch; 0: unknown
}

// Blocks is the KV cache of each rank, for servers that report its use by blocks.
type Blocks struct {
	Count, Size int    // blocks, and tokens of a block; 0: unknown
	DType       string // number format, or "auto"; "": unknown
}

// blank returns a sample with all values Unknown.
func blank() *Sample {
	s := &Sample{Values: map[string]float64{}}
	for _, at := range whole {
		*at(s) = Unknown
	}
	return s
}

// Sum returns the sum of a value over the ranks that report it, or Unknown if none does.
func (s *Sample) Sum(of func(*Rank) float64) float64 {
	sum := Unknown
	for i := range s.Ranks {
		if v := of(&s.Ranks[i]); Known(v) {
			add(&sum, v)
		}
	}
	return sum
}

// State is the load of a server at one moment, summed over its ranks.
type State struct {
	Running, Queued float64 // requests
	KV              float64 // share of the KV cache in use on the fullest rank; -1: unknown
}

// State returns the load of the server, or nil if neither running nor queued requests are known.
func (s *Sample) State() *State {
	running, queued := s.Sum(func(r *Rank) float64 { return r.Running }), s.Sum(func(r *Rank) float64 { return r.Queued })
	if !Known(running) && !Known(queued) {
		return nil
	}
	out := &State{Running: or(running, 0), Queued: or(queued, 0), KV: -1}
	for i := range s.Ranks {
		if v := s.Ranks[i].Usage; v > out.KV {
			out.KV = v
		}
	}
	return out
}

// Work returns a number that grows with any work of the server, and whether requests are running; ok is false if the
// sample shows neither.
func (s *Sample) Work() (n float64, busy, ok bool) {
	computed, passes := s.Sum(func(r *Rank) float64 { return r.Computed }), s.Sum(func(r *Rank) float64 { return r.Passes })
	for _, v := range []float64{s.Prompt, s.Generated, s.Received, s.Served, computed, passes} {
		if Known(v) {
			n, ok = n+v, true
		}
	}
	running := s.Sum(func(r *Rank) float64 { return r.Running })
	return n, running > 0, ok || Known(running)
}

// Live is the activity of a server between two samples. Rates are per second.
type Live struct {
	At    time.Time
	Over  time.Duration // time between the samples
	Ranks []Flow        // by DP

	TTFT, ITL, E2E Histogram // observations between the samples, s

	Tokens    float64 // tokens/s, all ranks
	Restarted bool    // the server restarted, or its clock was set back: only gauges are known
}

// Flow is the activity of a rank.
type Flow struct {
	DP      int
	Running float64
	Queued  float64
	Load    float64 // running and queued requests
	Context float64 // tokens of the running sequences
	Usage   float64 // share of the KV cache in use, 0 to 1
	Tokens  float64 // generated tokens/s
	Prefill float64 // computed prompt tokens/s
	Pace    float64 // s from one token of a running request to its next token: number of running requests / Tokens
	Step    float64 // s per forward pass: non-idle time of the scheduler / number of passes
	Batch   float64 // tokens generated per pass
	Device  float64 // share of the time that the device spends in forward passes
}

// Between returns the activity from sample a to a later sample b.
func Between(a, b *Sample) *Live {
	over := b.At.Sub(a.At)
	l := &Live{At: b.At, Over: over, Restarted: restarted(a, b)}
	seconds := over.Seconds()
	// The samples cannot be compared if the server restarted, the clock was set back, or both samples have the same
	// time.
	compares := !l.Restarted && seconds > 0
	rate := func(from, to float64) float64 {
		if !compares {
			return Unknown
		}
		return (to - from) / seconds // Unknown if from or to is Unknown
	}
	for i := range b.Ranks {
		now := &b.Ranks[i]
		was := fresh(now.DP)
		if r := a.of(now.DP); r != nil {
			was = *r
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

// of returns the state of a DP rank, or nil.
func (s *Sample) of(dp int) *Rank {
	at, found := slices.BinarySearchFunc(s.Ranks, dp, func(r Rank, dp int) int { return cmp.Compare(r.DP, dp) })
	if !found {
		return nil
	}
	return &s.Ranks[at]
}

// leastPasses is the minimum number of forward passes for per-pass figures. Servers update the count of passes and the
// time of passes at different moments, so figures from fewer passes would be wrong.
const leastPasses = 5

func flow(was, now *Rank, rate func(from, to float64) float64) Flow {
	f := Flow{DP: now.DP, Running: now.Running, Queued: now.Queued, Context: now.Context, Usage: now.Usage}
	f.Prefill, f.Device = rate(was.Computed, now.Computed), rate(was.Device, now.Device)
	f.Tokens = rate(was.Generated, now.Generated)
	if !Known(f.Tokens) {
		f.Tokens = now.Rate
		if now.Running == 0 { // the rate that the server reports is then still the rate of the last batch
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

// Load returns the number of running and queued requests.
func Load(running, queued float64) float64 {
	if sum := running + queued; Known(sum) {
		return sum
	}
	return or(running, queued)
}

// pace returns the time between two tokens of a running request, by Little's law.
func pace(running, tokens float64) float64 {
	if running > 0 && tokens > 0 {
		return running / tokens
	}
	return Unknown
}

// restarted reports whether the server restarted between a and b: a total decreased, or the process start changed.
func restarted(a, b *Sample) bool {
	if a.Started > 0 && b.Started > 0 && a.Started != b.Started {
		return true
	}
	for i := range b.Ranks {
		r := a.of(b.Ranks[i].DP)
		if r == nil {
			continue
		}
		was := r.totals()
		for k, v := range b.Ranks[i].totals() {
			if v < was[k] {
				return true
			}
		}
	}
	return b.Generated < a.Generated || b.TTFT.Count < a.TTFT.Count || b.ITL.Count < a.ITL.Count || b.E2E.Count < a.E2E.Count
}

// total returns the sum of a value over ranks. The sum is Unknown if the value of any rank is Unknown.
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

// Sum returns the sum of a signal over all ranks. The sum is Unknown if a rank does not report the signal.
func (l *Live) Sum(of func(*Flow) float64) float64 { return total(l.Ranks, of) }

// Whole combines the ranks of a server into one Flow, for a group of servers. The Flow gets the rank number given by
// number.
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

// mean returns the mean over the ranks that report a value.
func (l *Live) mean(of func(*Flow) float64) float64 {
	sum, n := 0.0, 0.0
	for i := range l.Ranks {
		if v := of(&l.Ranks[i]); Known(v) {
			sum, n = sum+v, n+1
		}
	}
	return sum / n // Unknown if no rank reports the value
}
