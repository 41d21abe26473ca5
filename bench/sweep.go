package bench

import (
	"math"
	"slices"
)

// This file computes figures over time: the number of running requests, the tokens received, and the steady part of the
// run.

// maxBuckets limits the cost of processing an invalid time. 10⁷ seconds are 115 days.
const maxBuckets = 10_000_000

// change holds a moment at which the number of requests in progress changes, and the new number of requests.
type change struct {
	at      int64
	running int
}

// running returns the number of spans in progress over time. At equal times, ends precede starts. All ends and starts
// at one time form a single change.
func running(spans []Span) []change {
	starts, ends := make([]int64, len(spans)), make([]int64, len(spans))
	for i, s := range spans {
		starts[i], ends[i] = s.From, s.To
	}
	slices.Sort(starts)
	slices.Sort(ends)
	out := make([]change, 0, 2*len(spans))
	n, i, j := 0, 0, 0
	for j < len(ends) {
		at := ends[j]
		if i < len(starts) {
			at = min(at, starts[i])
		}
		for ; j < len(ends) && ends[j] == at; j++ {
			n--
		}
		for ; i < len(starts) && starts[i] == at; i++ {
			n++
		}
		out = append(out, change{at, n})
	}
	return out
}

func peakOf(c []change, t overlap) int {
	most := 0
	for i, x := range c {
		if len(t) == 0 || i+1 < len(c) && t.left(x.at, c[i+1].at) > 0 {
			most = max(most, x.running)
		}
	}
	return most
}

// Steady is the part of a run at its full load level. Both ends of the run are trimmed at moments when tokens arrived,
// rather than by a number of requests.
//
// The level is the number of requests in decode (between their first and their last token) such that half of all decode
// time was spent at that number or below. The level is weighted by request-seconds, so a long final phase with few
// requests does not lower the level. The steady window runs from the first to the last moment at which the number of
// requests in decode is at least 90 % of the level. If all requests arrive at once, the steady window is the time of
// the full batch. In a closed loop it is the time at the concurrency limit. In an open loop it is the time between the
// ramps. If hardly any reply has two events, as without streaming or with embeddings, the level counts requests in
// progress instead of requests in decode.
type Steady struct {
	Span
	Level    int     `json:"level"`    // requests in decode
	Decode   bool    `json:"decode"`   // false: Level counts requests in progress
	Requests int     `json:"requests"` // requests that ended in the window
	Tokens   float64 `json:"tokens"`   // tokens received in the window

	RequestRate float64 `json:"requests_per_s"`
	OutputRate  float64 `json:"output_tokens_per_s"`
	Running     float64 `json:"running"` // mean number of requests in progress
	// TTFT covers the requests sent in the window. It therefore excludes the initial burst.
	TTFT Stats `json:"ttft"`
	TPOT Stats `json:"tpot"`
	E2E  Stats `json:"e2e"`
}

const steadyShare = 0.9

// steadyWindow returns the steady window and its level. If the level is 0, there is no steady window.
func steadyWindow(records []*Record, t overlap) (w Span, atLevel int, decode bool) {
	var spans []Span
	for _, r := range records {
		if r.First != Never && r.Last > r.First && r.oneByOne() {
			spans = append(spans, Span{r.First, r.Last})
		}
	}
	decode = 2*len(spans) >= len(records)
	if !decode {
		spans = spans[:0]
		for _, r := range records {
			if r.Sent != Never && r.Done > r.Sent {
				spans = append(spans, Span{r.Sent, r.Done})
			}
		}
	}
	changes := running(spans)
	byLevel := make([]float64, peakOf(changes, nil)+1) // request-ns spent at each number of requests
	var all float64
	for i := 1; i < len(changes); i++ {
		n := changes[i-1].running
		area := float64(n) * float64(t.left(changes[i-1].at, changes[i].at))
		byLevel[n] += area
		all += area
	}
	var sum float64
	for n, area := range byLevel {
		if sum += area; area > 0 && 2*sum >= all {
			atLevel = n
			break
		}
	}
	if atLevel == 0 {
		return Span{}, 0, decode
	}
	least := int(math.Ceil(steadyShare*float64(atLevel) - 1e-9))
	found := false
	for i := 0; i+1 < len(changes); i++ {
		if changes[i].running < least {
			continue
		}
		for _, s := range t.rest(changes[i].at, changes[i+1].at) {
			if !found {
				w.From, found = s.From, true
			}
			w.To = s.To
		}
	}
	return w, atLevel, decode
}

// steady measures the untouched part of the steady window. It returns nil if there is no steady window.
func steady(records []*Record, t overlap) *Steady {
	w, atLevel, decode := steadyWindow(records, t)
	if atLevel == 0 || w.To <= w.From {
		return nil
	}
	s := &Steady{Span: w, Level: atLevel, Decode: decode}
	in := func(at int64) bool { return w.From < at && at <= w.To && !t.over(at, at) }
	var inside []*Record
	var busy float64
	for _, r := range records {
		if in(r.Done) {
			s.Requests++
		}
		eachToken(r, func(at int64, n float64) {
			if in(at) {
				s.Tokens += n
			}
		})
		busy += float64(t.left(max(r.Sent, w.From), min(r.Done, w.To)))
		if w.From <= r.Sent && r.Sent <= w.To {
			inside = append(inside, r)
		}
	}
	length := float64(t.left(w.From, w.To))
	s.RequestRate, s.OutputRate = float64(s.Requests)/length*1e9, s.Tokens/length*1e9
	s.Running = busy / length
	s.TTFT, s.TPOT, s.E2E = independent(ttft.values(inside, t)), independent(tpot.values(inside, t)), independent(e2e.values(inside, t))
	return s
}

// eachToken calls f for each event with its number of tokens. If events carry no counts, the request's tokens are
// spread evenly over them. If there are no events, all tokens count as arriving with the last byte.
func eachToken(r *Record, f func(at int64, n float64)) {
	known := true
	for i := range r.Chunks {
		known = known && r.Chunks[i].Tokens >= 0
	}
	switch {
	case len(r.Chunks) == 0:
		if r.OutputLen > 0 && r.Done != Never {
			f(r.Done, float64(r.OutputLen))
		}
	case known:
		for i := range r.Chunks {
			f(r.Chunks[i].At, float64(r.Chunks[i].Tokens))
		}
	default:
		n := float64(r.OutputLen) / float64(len(r.Chunks))
		for i := range r.Chunks {
			f(r.Chunks[i].At, n)
		}
	}
}

// peakRate returns the maximum number of tokens in any one second. The seconds considered end at multiples of 10 ms
// after from.
func peakRate(records []*Record, from, to int64, t overlap) (most float64) {
	eachSecond(records, from, to, func(begin, end int64, tokens float64) {
		if !t.over(begin, end) {
			most = max(most, tokens)
		}
	})
	return most
}

// secondStep is the distance between successive sliding seconds, in ns.
const secondStep = int64(10_000_000)

// eachSecond calls f for each sliding second between from and to. Successive seconds are 10 ms apart. f receives the
// number of tokens received in the second.
func eachSecond(records []*Record, from, to int64, f func(begin, end int64, tokens float64)) {
	if to <= from || (to-from)/secondStep >= maxBuckets {
		return
	}
	bins := make([]float64, (to-from)/secondStep+1)
	for _, r := range records {
		eachToken(r, func(at int64, n float64) {
			if i := (at - from) / secondStep; at >= from && i < int64(len(bins)) {
				bins[i] += n
			}
		})
	}
	var sum float64
	for i := range bins {
		sum += bins[i]
		if i >= 100 {
			sum -= bins[i-100]
		}
		at := from + int64(i+1)*secondStep
		f(max(from, at-100*secondStep), at, sum)
	}
}

// counting is what the peak of a second counts.
type counting int

const (
	tokenCount   counting = iota
	nativeEvents          // as SGLang's client does for /generate: tokens, except that the first event is one token
	otherEvents           // as SGLang's client does for other APIs: events
)

// events returns SGLang's way of counting for the API of the run.
func (r *Run) events() counting {
	if r.native() {
		return nativeEvents
	}
	return otherEvents
}

// buckets returns SGLang's peaks: the maximum number of tokens, and of requests, in any one second. Seconds are counted
// from the first send and do not overlap. A request counts in every second that it overlaps, so the peak can exceed
// --max-concurrency. Touched seconds do not count.
func buckets(records []*Record, of counting, t overlap) (tokens float64, requests int) {
	from, to := int64(math.MaxInt64), int64(math.MinInt64)
	for _, r := range records {
		from, to = min(from, r.Sent), max(to, r.Done)
	}
	if len(records) == 0 || to < from || (to-from)/1e9 >= maxBuckets {
		return 0, 0
	}
	seconds := (to - from + 1e9 - 1) / 1e9
	perSecond, open := make([]float64, seconds+1), make([]int, seconds+2)
	add := func(at float64, n float64) {
		if i := int(math.Floor(at / 1e9)); i >= 0 && i < len(perSecond) {
			perSecond[i] += n
		}
	}
	for _, r := range records {
		open[(r.Sent-from)/1e9]++
		open[(r.Done-from)/1e9+1]--
		if of == tokenCount {
			eachToken(r, func(at int64, n float64) { add(float64(at-from), n) })
			continue
		}
		if r.First == Never { // a reply without a token
			add(float64(r.Sent-from), 1)
			continue
		}
		add(float64(r.First-from), 1)
		if of == otherEvents {
			r.gaps(func(_, c *Chunk, _ int64, _ int) { add(float64(c.At-from), 1) })
			continue
		}
		r.tokenGaps(1, func(a, b, n int64) {
			spread(float64(a-from)/1e9, float64(b-from)/1e9, n, func(second int, n float64) {
				if second >= 0 && second < len(perSecond) {
					perSecond[second] += n
				}
			})
		})
	}
	running := 0
	for i := range perSecond {
		running += open[i]
		if !t.over(from+int64(i)*1e9, from+int64(i+1)*1e9) {
			tokens = max(tokens, perSecond[i])
			requests = max(requests, running)
		}
	}
	return tokens, requests
}

// spread distributes n tokens over the seconds. The tokens follow time a at equal intervals; the last token is at time
// b.
func spread(a, b float64, n int64, add func(second int, n float64)) {
	first, last := int(math.Floor(a)), int(math.Floor(b))
	if first == last || b <= a {
		add(last, float64(n))
		return
	}
	var before float64
	for s := first; s < last; s++ {
		// Count the tokens before the end of second s: all tokens k with a + k·(b−a)/n < s + 1.
		upTo := math.Ceil((float64(s+1)-a)/(b-a)*float64(n)) - 1
		add(s, upTo-before)
		before = upTo
	}
	add(last, float64(n)-before)
}
