// Package detecttest simulates time series of servers. Data-parallel ranks serve requests that arrive at random. The
// ranks are sampled once a second. A fault can be injected, so that the test knows the fault and the start of the
// fault.
package detecttest

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/stepscope/stepscope/internal/capture/signals"
)

// Routing is the assignment of requests to ranks.
type Routing int

// Kinds of routing.
const (
	Random Routing = iota
	RoundRobin
	LeastLoaded
)

// Fleet is a simulated server. Each rank decodes all of its requests together, one token per step. A step takes Step·(1
// + requests/64). The prompt of a request is computed before the first token.
type Fleet struct {
	Seed    uint64
	Ranks   int
	Load    float64 // approximate number of requests in progress per rank
	Routing Routing
	Tokens  float64       // mean tokens of a reply, geometrically distributed
	Step    time.Duration // base time of a decode step
	Most    int           // limit on running requests per rank; all other requests queue

	// The following fields define the fault. The fault lasts from second From to second Until. If Until is 0, it lasts
	// until the end.
	From, Until float64
	Skew        float64 // factor on the requests of rank 1
	Slow        float64 // factor on the step time of rank 1
	AllSlow     float64 // factor on the step time of all ranks
	Surge       float64 // factor on the rate of requests
	Stall       float64 // pause of rank 1 at the beginning of each second, s

	// The following fields define disturbances that are not faults.
	Bursts  bool    // triple rate of requests in two seconds of each minute
	Ramp    float64 // factor by which the load grows over the series; 0: constant
	Restart float64 // second at which the server restarts; 0: never
	Missing float64 // share of samples that are lost
	Hole    float64 // second from which half a minute of samples is lost; 0: none
	Stale   bool    // update gauges as rarely as SGLang does: at each prefill, and otherwise every 40 steps
}

type request struct{ left float64 }

type rank struct {
	running []request
	queue   []float64 // arrival times
	made    float64   // tokens generated
	shown   float64   // running requests at the last gauge update
	steps   float64   // steps since the last gauge update
	before  float64   // value of shown at the previous sample
}

const (
	tick       = 0.05 // step of the simulation in s
	countEvery = 40   // steps between gauge updates, SGLang's --decode-log-interval
)

// Play simulates the server and calls sample for each second. For a lost sample it passes nil.
func (f *Fleet) Play(seconds int, sample func(second int, l *signals.Live)) {
	rng := rand.New(rand.NewPCG(f.Seed, 7))
	ranks := make([]rank, f.Ranks)
	next := 0
	start := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	var ttft, itl signals.Histogram
	last := -1
	restarted := false
	for s := range seconds {
		for k := range int(1 / tick) {
			now := float64(s) + float64(k)*tick
			wrong := f.From > 0 && now >= f.From && (f.Until == 0 || now < f.Until)
			if f.Restart > 0 && s == int(f.Restart) && k == 0 {
				ranks = make([]rank, f.Ranks)
				ttft, itl = signals.Histogram{}, signals.Histogram{}
				restarted = true
			}
			f.arrive(rng, ranks, &next, now, wrong, float64(seconds))
			for i := range ranks {
				still := 0.0
				if wrong && i == 1 {
					still = min(max(f.Stall-float64(k)*tick, 0), tick)
				}
				f.serve(rng, &ranks[i], now, f.step(i, len(ranks[i].running), wrong), still, &ttft, &itl)
				if still > 0 && k == 0 {
					observe(&itl, boundsITL, f.Stall+f.step(i, len(ranks[i].running), wrong), float64(len(ranks[i].running)))
				}
			}
		}
		if rng.Float64() < f.Missing || f.Hole > 0 && float64(s) >= f.Hole && float64(s) < f.Hole+30 {
			sample(s, nil)
			continue
		}
		over := float64(s - last)
		l := &signals.Live{At: start.Add(time.Duration(s+1) * time.Second), Over: time.Duration(over * 1e9), TTFT: ttft, ITL: itl, Restarted: restarted}
		for i := range ranks {
			r := &ranks[i]
			if !f.Stale {
				r.shown = float64(len(r.running))
			}
			flow := signals.Flow{
				DP: i, Running: r.shown, Queued: float64(len(r.queue)), Tokens: r.made / over,
				Context: signals.Unknown, Usage: signals.Unknown, Prefill: signals.Unknown, Step: signals.Unknown, Batch: signals.Unknown, Device: signals.Unknown,
			}
			if restarted {
				flow.Tokens = signals.Unknown
			}
			flow.Load, flow.Pace = flow.Running+flow.Queued, (r.before+r.shown)/2/flow.Tokens
			if !(flow.Running > 0 && flow.Tokens > 0) {
				flow.Pace = signals.Unknown
			}
			r.before = r.shown
			l.Tokens += flow.Tokens
			l.Ranks = append(l.Ranks, flow)
			r.made = 0
		}
		ttft, itl, last, restarted = signals.Histogram{}, signals.Histogram{}, s, false
		sample(s, l)
	}
}

// step returns the step time of a rank, in s.
func (f *Fleet) step(rank, batch int, wrong bool) float64 {
	took := f.Step.Seconds() * (1 + float64(batch)/64)
	if wrong && f.Slow > 0 && rank == 1 {
		took *= f.Slow
	}
	if wrong && f.AllSlow > 0 {
		took *= f.AllSlow
	}
	return took
}

// arrive assigns the requests that arrive in a tick to the ranks.
func (f *Fleet) arrive(rng *rand.Rand, ranks []rank, next *int, now float64, wrong bool, end float64) {
	life := f.Tokens * f.step(0, int(f.Load), false)
	rate := f.Load * float64(f.Ranks) / life
	if f.Ramp > 0 {
		rate *= 1 + (f.Ramp-1)*now/end
	}
	if f.Bursts && math.Mod(now, 60) >= 30 && math.Mod(now, 60) < 32 {
		rate *= 3
	}
	if wrong && f.Surge > 0 {
		rate *= f.Surge
	}
	extra := 0.0 // additional rate of requests to rank 1
	if wrong && f.Skew > 1 {
		// Rank 1 gets Skew times as many requests. The rate of the other ranks is unchanged.
		extra = rate / float64(f.Ranks) * (f.Skew - 1)
	}
	for range poisson(rng, rate*tick) {
		at := *next
		switch f.Routing {
		case RoundRobin:
			*next = (at + 1) % len(ranks)
		case Random:
			at = rng.IntN(len(ranks))
		case LeastLoaded:
			at = rng.IntN(len(ranks))
			for i := range ranks {
				if len(ranks[i].running)+len(ranks[i].queue) < len(ranks[at].running)+len(ranks[at].queue) {
					at = i
				}
			}
		}
		ranks[at].queue = append(ranks[at].queue, now)
	}
	for range poisson(rng, extra*tick) {
		ranks[1].queue = append(ranks[1].queue, now)
	}
}

// serve simulates a rank for one tick. The tick includes a pause of still seconds.
func (f *Fleet) serve(rng *rand.Rand, r *rank, now, step, still float64, ttft, itl *signals.Histogram) {
	came := false
	for ; len(r.queue) > 0 && len(r.running) < f.Most; came = true {
		// The first token takes as long as the next step plus a prefill of four steps.
		observe(ttft, boundsTTFT, now-r.queue[0]+5*step*(0.8+0.4*rng.Float64()), 1)
		r.queue = r.queue[1:]
		r.running = append(r.running, request{1 + math.Floor(rng.ExpFloat64()*(f.Tokens-1))})
	}
	steps := (tick - still) / step
	if r.steps += steps; came || r.steps >= countEvery || len(r.running) == 0 {
		r.shown, r.steps = float64(len(r.running)), 0
	}
	if n := float64(len(r.running)); n > 0 {
		observe(itl, boundsITL, step*(0.95+0.1*rng.Float64()), n*steps)
		r.made += n * steps
	}
	left := r.running[:0]
	for _, q := range r.running {
		if q.left -= steps; q.left > 0 {
			left = append(left, q)
		}
	}
	r.running = left
}

func poisson(rng *rand.Rand, mean float64) (n int) {
	for limit, p := math.Exp(-mean), rng.Float64(); p > limit; n++ {
		p *= rng.Float64()
	}
	return n
}

// Bounds of SGLang's histograms.
var (
	boundsTTFT = []float64{.1, .2, .4, .6, .8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400, math.Inf(1)}
	boundsITL  = []float64{.002, .004, .006, .008, .010, .015, .020, .025, .030, .035, .040, .060, .080, .1, .2, .4, .6, .8, 1, 2, 4, 6, 8, math.Inf(1)}
)

func observe(h *signals.Histogram, bounds []float64, v, n float64) {
	if h.Bounds == nil {
		h.Bounds, h.Counts = bounds, make([]float64, len(bounds))
	}
	for i, b := range bounds {
		if v <= b {
			h.Counts[i] += n
		}
	}
	h.Count += n
	h.Sum += n * v
}
