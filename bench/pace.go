package bench

import (
	"cmp"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
)

// Pace compares the completions of an open loop, in which requests are due at given times, with its arrivals.
type Pace struct {
	Verdict string  `json:"verdict"`       // KeepsUp, AtLimit, Overload or ClientLimit
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
	// ClientLimit means that requests waited in the client, because of the limit of requests in flight. Whether the
	// server could complete more is not known.
	ClientLimit = "client limit"
)

// The limits below separate simulated servers at 0.5 to 0.9 of their capacity from servers at 1.1 to 2 times their
// capacity (TestPace).
const (
	limitGrowth    = 0.02 // minimum growth at the limit
	overGrowth     = 0.05 // minimum growth of an overload
	rateExcess     = 0.05 // minimum excess of the offered rate over the rate of completions, for both
	usualOverload  = 0.18 // the median request takes longer than the fastest ones by this share of the load
	queuedOverload = 0.35 // this share of the load is in flight at one moment, beyond the usual number
	slowAtPeak     = 1.5  // how many times as long requests take when most are in flight; otherwise they only came together
	refusing       = 3    // how many times as long as the fastest ones the last requests take if a full queue refuses requests
	sendsPerReply  = 1.5  // minimum length of sending, in times of a reply
)

// pace returns nil if the load has no rate of its own, if it is too small or too short for a verdict, if more than a
// twentieth of its requests failed other than by refusal (429, 503), or if E2E depends on unknown times of tokens. Requests that were ended with the load
// count as in flight until then; how long they would have taken is not known. If profiling windows touched the load, pace
// also takes off the time by which they delayed the server, and returns nil if that could explain the verdict.
func pace(records []Record, ok []*Record, run *Run, t overlap) *Pace {
	p := paceLess(records, ok, run, delay{})
	if p == nil || len(t) == 0 || p.Verdict == KeepsUp {
		return p
	}
	if first, last := ok[0].Sent, ok[len(ok)-1].Done; !enough(t.left(first, last), last-first) {
		return nil
	}
	less := paceLess(records, ok, run, delayOf(ok, t))
	if less == nil || less.Verdict != p.Verdict {
		return nil
	}
	return less
}

// delay is the time by which profiling windows delayed a server: a share of the time that they touched.
type delay struct {
	touched overlap
	share   float64
}

// delayOf measures the delay by the tokens that arrived: in the touched time, and per second of the other time from the
// first request to the last token. If no token was seen outside, the server is taken to have stood still.
func delayOf(ok []*Record, t overlap) delay {
	d := delay{t, 1}
	first, last := int64(math.MaxInt64), int64(0)
	in, out := 0.0, 0.0
	for _, r := range ok {
		first, last = min(first, r.Sent), max(last, r.Done)
		for _, c := range r.Chunks {
			if n := float64(max(c.Tokens, 1)); t.over(c.At, c.At+1) {
				in += n
			} else {
				out += n
			}
		}
	}
	outside := t.left(first, last)
	if touched := last - first - outside; touched > 0 && outside > 0 && out > 0 {
		d.share = max(0, 1-in/float64(touched)*float64(outside)/out)
	}
	return d
}

// left returns the length of a period without the delay in it.
func (d delay) left(from, to int64) int64 {
	return to - from - int64(d.share*float64(to-from-d.touched.left(from, to)))
}

// paceLess is pace without the time of a delay.
func paceLess(records []Record, ok []*Record, run *Run, t delay) *Pace {
	due := slices.Clone(ok)
	refused := 0
	for i := range records {
		switch records[i].Failure {
		case Interrupted:
			due = append(due, &records[i])
		case "http_429", "http_503":
			refused++
		}
	}
	if run.Rate <= 0 && !run.Traced || len(ok) < fewestFirsts || 20*(len(due)+refused) < 19*len(records) || slices.ContainsFunc(due, func(r *Record) bool { return r.Turn > 0 || r.Scheduled < 0 }) {
		return nil
	}
	ok = slices.Clone(ok)
	for _, list := range [][]*Record{due, ok} {
		sorts.Stable(list, func(a, b *Record) int { return cmp.Compare(a.Scheduled, b.Scheduled) })
	}
	n, m := len(due), len(ok)
	sending := float64(ok[m-1].Scheduled - ok[0].Scheduled)
	took, part, early := alike(ok, t), max(5, m/8), math.Inf(1)
	if took == nil {
		return nil
	}
	for i := 0; i+part <= m; i += part {
		early = min(early, metric.Median(took[i:i+part]))
	}
	late := metric.Median(took[m-part:])
	stopped := float64(due[n-1].Done - due[0].Scheduled - t.left(due[0].Scheduled, due[n-1].Done)) // most that t adds to a wait
	if sending <= 0 || sending < sendsPerReply*early {
		return nil
	}
	p := &Pace{Verdict: KeepsUp, Offered: run.Rate, Growth: (late - early - stopped) / sending}
	if run.Rate <= 0 {
		p.Offered = float64(m-1+refused) / sending * 1e9
	}
	ended := make([]int64, m)
	for i, r := range ok {
		ended[i] = r.Done
	}
	slices.Sort(ended)
	spans := make([]Span, n)
	for i, r := range due {
		spans[i] = Span{r.Scheduled, r.Done}
		p.Drain = max(p.Drain, r.Done-due[n-1].Scheduled)
	}
	peak := int64(0)
	counts := running(spans)
	for _, c := range counts {
		if c.running > p.Most {
			p.Most, peak = c.running, c.at
		}
	}
	// The first and the last completions depend on how the server fills and drains.
	from, to := 15*m/100, 90*m/100-1
	p.Sustained = float64(to-from) / float64(max(t.left(ended[from], ended[to]), 1)) * 1e9
	usual := slices.Sorted(slices.Values(took))
	waits := metric.Quantile(usual, 0.5) - metric.Quantile(usual, 0.05) - stopped
	backlog := float64(p.Most)*sending/float64(m-1) - metric.Quantile(usual, 0.25) - stopped
	var crowd []float64 // times of the requests in flight at the peak
	for i, r := range ok {
		if r.Scheduled <= peak && r.Done > peak {
			crowd = append(crowd, took[i])
		}
	}
	crowded := len(crowd) > 0 && metric.Median(crowd) >= slowAtPeak*metric.Quantile(usual, 0.25)
	exceeds := p.Offered >= (1+rateExcess)*p.Sustained
	// A server that refuses requests may have a queue of limited length.
	refusals := 20*refused > len(records)
	full := refusals && exceeds && late-stopped >= refusing*metric.Quantile(usual, 0.01)
	switch {
	case waits >= usualOverload*sending, backlog >= queuedOverload*sending && crowded, full:
		p.Verdict = Overload
		from, to := crest(counts, p.Most)
		rate := func() float64 {
			first, _ := slices.BinarySearch(ended, from)
			last, _ := slices.BinarySearch(ended, to+1)
			return float64(last-first) / float64(max(t.left(from, to), 1)) * 1e9
		}
		p.Sustained = rate()
		if done, _ := slices.BinarySearch(ended, peak+1); p.Offered < (1+rateExcess)*p.Sustained && done > 2 { // the server caught up later: only the completions up to the peak count
			from, to = ended[0]+1, peak
			p.Sustained = rate()
		}
	case refusals:
		return nil // a limit of the rate
	case exceeds && p.Growth >= overGrowth:
		p.Verdict = Overload
	case exceeds && p.Growth >= limitGrowth:
		p.Verdict = AtLimit
	default:
		p.Sustained = 0
	}
	if p.Verdict != KeepsUp && waitsInClient(ok, took, part) {
		p.Verdict = ClientLimit
	}
	return p
}

// crest returns the period around the peak in which at least half as many requests as at the peak were in flight. In this
// time, an overloaded server completes as many requests as it can: it has filled its batch, and has not begun to drain.
func crest(counts []change, most int) (from, to int64) {
	peak := slices.IndexFunc(counts, func(c change) bool { return c.running == most })
	first, last := peak, peak
	for first > 0 && 2*counts[first-1].running >= most {
		first--
	}
	for last+1 < len(counts) && 2*counts[last+1].running >= most {
		last++
	}
	return counts[first].at, counts[last].at
}

// waitsInClient reports whether the last requests spent at least half of their time waiting in the client, and no more
// time in the server than the first requests did. part is the number of requests at either end.
func waitsInClient(ok []*Record, took []float64, part int) bool {
	var share, inServer []float64
	for i, r := range ok {
		gate := float64(r.Released - r.Scheduled)
		share, inServer = append(share, gate/max(took[i], 1)), append(inServer, took[i]-gate)
	}
	last := len(ok) - part
	return metric.Median(share[last:]) >= 0.5 && metric.Median(inServer[last:]) < slowAtPeak*metric.Median(inServer[:part])
}

// alike returns the E2E from scheduled of each request as if all requests had the mean output length. The time per token
// is without the delay. alike returns nil if lengths differ and the times of the tokens are not known.
func alike(ok []*Record, d delay) []float64 {
	var mean float64
	least, most, untimed := math.MaxInt, 0, 0
	for _, r := range ok {
		mean += float64(r.OutputLen) / float64(len(ok))
		least, most = min(least, r.OutputLen), max(most, r.OutputLen)
	}
	out := make([]float64, len(ok))
	for i, r := range ok {
		out[i] = float64(r.Done - r.Scheduled)
		if tpot, timed := r.TPOT(); timed {
			if r.Last > r.First {
				tpot *= float64(d.left(r.First, r.Last)) / float64(r.Last-r.First)
			}
			out[i] = float64(r.First-r.Scheduled) + max(mean-1, 0)*tpot
		} else if r.OutputLen > 1 {
			untimed++
		}
	}
	if 20*untimed > len(ok) && most > least {
		return nil
	}
	return out
}
