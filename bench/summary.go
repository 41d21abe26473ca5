package bench

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
)

// Summary holds the figures of a run. docs/formats/bench.md describes its JSON form, and docs/metrics.md has the
// formulas. Latencies are those of successful requests, in ns. A Summary is computed from records, never from other
// summaries.
type Summary struct {
	Format    int    `json:"format"` // 1
	Backend   string `json:"backend"`
	Embedding bool   `json:"embedding"`
	Requests  int    `json:"requests"`
	Completed int    `json:"completed"`
	NotSent   int    `json:"not_sent,omitempty"` // planned requests left unsent by an interrupt; not in Requests
	Duration  int64  `json:"duration_ns"`

	// The fields below are SGLang's figures, computed with SGLang's formulas.
	InputTokens   int     `json:"input_tokens"` // according to the data set's token counts
	TextTokens    int     `json:"text_tokens"`
	VisionTokens  int     `json:"vision_tokens"`
	OutputTokens  int     `json:"output_tokens"`
	Retokenized   int     `json:"output_tokens_retokenized"` // -1: no tokenizer
	RequestRate   float64 `json:"requests_per_s"`
	InputRate     float64 `json:"input_tokens_per_s"`
	OutputRate    float64 `json:"output_tokens_per_s"`
	TotalRate     float64 `json:"total_tokens_per_s"`
	Concurrency   float64 `json:"concurrency"` // sum of E2E divided by the duration
	MaxOutputRate float64 `json:"max_output_tokens_per_s"`
	MaxConcurrent int     `json:"max_concurrent_requests"`
	AcceptLength  float64 `json:"accept_length"` // 0: unknown
	E2E           Stats   `json:"e2e"`
	TTFT          Stats   `json:"ttft"`
	TPOT          Stats   `json:"tpot"`
	// ITL describes gaps between tokens for /generate, and gaps between events for other APIs. It covers all requests.
	ITL Stats `json:"itl"`

	// The fields below are times spent waiting in the client, and latencies that include this wait.
	Gate          Stats `json:"client_queue"` // released − scheduled: delay caused by --max-concurrency
	Late          Stats `json:"send_delay"`   // sent − released: delay in the client, including connecting
	TTFTScheduled Stats `json:"ttft_scheduled"`
	E2EScheduled  Stats `json:"e2e_scheduled"`

	// The fields below are times before, between and after the tokens.
	Headers     Stats `json:"headers"`      // sent to status line
	FirstEvent  Stats `json:"first_event"`  // sent to first event, even if it carries only a role
	TTFTVisible Stats `json:"ttft_visible"` // sent to first text that is not reasoning
	StreamClose Stats `json:"stream_close"` // last token to last byte
	ChunkGap    Stats `json:"chunk_gap"`    // between events with text, as received
	TokenGap    Stats `json:"token_gap"`    // ChunkGap divided evenly among the new tokens of the later event

	TokensPerEvent float64            `json:"tokens_per_event"` // 0: unknown
	UnknownEvents  int                `json:"unknown_events"`   // events with text whose number of tokens is unknown
	MergedEvents   int                `json:"merged_events"`    // events read together with the preceding event
	Events         int                `json:"events"`           // events with text
	Unseen         *Unseen            `json:"unseen,omitempty"`
	LengthFrom     map[OutputFrom]int `json:"output_length_from"`
	PeakRunning    int                `json:"peak_running"`             // maximum number of requests in progress
	PeakOutputRate float64            `json:"peak_output_tokens_per_s"` // maximum number of tokens in any one second

	Firsts  *Firsts  `json:"firsts,omitempty"`
	Pace    *Pace    `json:"pace,omitempty"`
	Steady  *Steady  `json:"steady,omitempty"`
	Goodput *Goodput `json:"goodput,omitempty"`
	Cache   *Cache   `json:"cache,omitempty"`
	// Speculative has the figures of speculative decoding from the server's metrics; nil: none.
	Speculative *Speculative `json:"speculative,omitempty"`
	Failures    []Failing    `json:"failures"`
	Health      Health       `json:"health"`
	// Window is nil if nothing was profiled. Otherwise times and rates exclude the time in Window.Spans, while counts
	// cover the whole run.
	Window *Window `json:"window,omitempty"`

	more []float64 // additional percentiles
}

// Failing counts the requests that failed for one reason.
type Failing struct {
	Reason  Failure `json:"reason"`
	Count   int     `json:"count"`
	Example string  `json:"example"` // error text of one of these requests
}

// Options configure Summarize.
type Options struct {
	SLO         SLO       // nil: no goodput
	Percentiles []float64 // percentiles of all times to compute in addition, from 0 to 100
}

// Summarize computes all figures of a run. Only the figures in Window.Whole include the time touched by profiling
// windows. Window is nil if there were no profiling windows.
func Summarize(records []Record, run *Run, o Options) *Summary {
	all := len(records)
	records = slices.DeleteFunc(slices.Clone(records), func(r Record) bool { return r.Failure == NotSent })
	s := &Summary{
		Format: 1, Backend: run.Backend, Embedding: run.Embedding(), Requests: len(records), NotSent: all - len(records), Duration: run.Duration,
		AcceptLength: run.AcceptLength(), LengthFrom: map[OutputFrom]int{}, Health: run.Health, more: o.Percentiles,
	}
	ok, failures := successes(records, s.Embedding)
	s.Failures = failures
	s.Completed = len(ok)
	s.count(ok)
	s.Cache, s.Unseen = newCache(ok), unseen(ok)
	t := run.overlap()
	n := t.requests(records)
	if n == 0 { // the window began after the load, or fell into a pause of the load
		s.measure(records, ok, run, o, nil)
		return s
	}
	whole := *s
	whole.measure(records, ok, run, o, nil)
	untouched := s.measure(records, ok, run, o, t)
	s.without(&Window{Spans: t, Touched: n, Untouched: untouched, Lacks: []string{}, Whole: &whole})
	return s
}

// measure computes the times and rates over the untouched time, and returns the length of the untouched time.
func (s *Summary) measure(records []Record, ok []*Record, run *Run, o Options, t overlap) (untouched int64) {
	s.latencies(ok, t)
	s.gaps(ok, paced(ok), run, t)
	s.MaxOutputRate, s.MaxConcurrent = buckets(ok, tokenCount, t)
	if s.Embedding {
		s.MaxOutputRate = 0
	}
	spans, from, to := underWay(records)
	s.PeakRunning = peakOf(running(spans), t)
	s.PeakOutputRate = peakRate(ok, from, to, t)
	s.Firsts = firsts(ok, run, t)
	s.Pace = pace(records, ok, run, t)
	s.Steady = steady(ok, t)
	untouched = max(run.Duration-(to-from)+t.left(from, to), 0)
	seconds := float64(untouched) / 1e9
	s.rates(ok, seconds, t)
	s.Goodput = goodput(o.SLO, records, ok, seconds, t)
	return untouched
}

// underWay returns the span of each request, and the earliest start and the latest end of all spans.
func underWay(records []Record) (spans []Span, from, to int64) {
	for i := range records {
		if r := &records[i]; r.Sent != Never && r.Done >= r.Sent {
			if len(spans) == 0 {
				from = r.Sent
			}
			spans = append(spans, Span{r.Sent, r.Done})
			from, to = min(from, r.Sent), max(to, r.Done)
		}
	}
	return spans, from, to
}

// rates divides the counts of the untouched time by the length of that time. A request and its prompt tokens count at
// the end of the request. Output tokens count at their arrival.
func (s *Summary) rates(ok []*Record, seconds float64, t overlap) {
	if seconds <= 0 {
		return
	}
	ended, input, output, busy := s.Completed, float64(s.InputTokens), float64(s.OutputTokens), s.E2E.Mean*float64(s.E2E.N)
	if len(t) > 0 {
		ended, input, output, busy = 0, 0, 0, 0
		for _, r := range ok {
			if !t.over(r.Done, r.Done) {
				ended++
				input += float64(r.inputLen())
			}
			busy += float64(t.left(r.Sent, r.Done))
			eachToken(r, func(at int64, n float64) {
				if !t.over(at, at) {
					output += n
				}
			})
		}
	}
	s.RequestRate, s.InputRate, s.OutputRate, s.TotalRate = float64(ended)/seconds, input/seconds, output/seconds, (input+output)/seconds
	s.Concurrency = busy / 1e9 / seconds
}

// successes returns the successful requests, and the number of failures for each reason, the most frequent reason
// first.
func successes(records []Record, embedding bool) (ok []*Record, failures []Failing) {
	at := map[Failure]int{}
	failures = []Failing{}
	for i := range records {
		r := &records[i]
		why := r.failure(embedding)
		if why == "" && (r.Sent == Never || r.Done < r.Sent) {
			why = Malformed // a contradictory record is not a success
		}
		if why == "" {
			ok = append(ok, r)
			continue
		}
		k, seen := at[why]
		if !seen {
			k = len(failures)
			at[why] = k
			failures = append(failures, Failing{Reason: why})
		}
		f := &failures[k]
		f.Count++
		f.Example = cmp.Or(f.Example, r.Error)
	}
	sorts.Stable(failures, func(a, b Failing) int { return b.Count - a.Count })
	return ok, failures
}

func (s *Summary) count(ok []*Record) {
	s.Retokenized = -1
	for _, r := range ok {
		s.InputTokens += r.inputLen()
		s.VisionTokens += r.VisionLen
		s.OutputTokens += r.OutputLen
		if r.Retokenized >= 0 {
			s.Retokenized = max(s.Retokenized, 0) + r.Retokenized
		}
		if r.OutputFrom != "" {
			s.LengthFrom[r.OutputFrom]++
		}
	}
	s.TextTokens = s.InputTokens - s.VisionTokens
}

// times returns all latencies with their JSON names. The field of is unset for gaps, because gaps are pooled over
// requests and a request has no single value.
func (s *Summary) times() []struct {
	name string
	to   *Stats
	of   value
} {
	return []struct {
		name string
		to   *Stats
		of   value
	}{
		{"e2e", &s.E2E, e2e}, {"ttft", &s.TTFT, ttft}, {"tpot", &s.TPOT, tpot}, {"itl", &s.ITL, value{}}, {"client_queue", &s.Gate, gated},
		{"send_delay", &s.Late, late}, {"ttft_scheduled", &s.TTFTScheduled, ttftScheduled}, {"e2e_scheduled", &s.E2EScheduled, e2eScheduled},
		{"headers", &s.Headers, headers}, {"first_event", &s.FirstEvent, firstEvent}, {"ttft_visible", &s.TTFTVisible, ttftVisible},
		{"stream_close", &s.StreamClose, streamClose}, {"chunk_gap", &s.ChunkGap, value{}}, {"token_gap", &s.TokenGap, value{}},
	}
}

// latencies computes the latencies with one value per request.
func (s *Summary) latencies(ok []*Record, t overlap) {
	for _, f := range s.times() {
		if f.of.of != nil {
			*f.to = independent(f.of.values(ok, t), s.more...)
		}
	}
}

// gaps computes the gaps between events and between tokens, pooled over the paced requests. It counts the events of all
// successful requests.
func (s *Summary) gaps(ok, paced []*Record, run *Run, t overlap) {
	n := 0
	for _, r := range ok {
		n += len(r.Chunks)
	}
	chunk, token := make(sample, 0, n), make(sample, 0, n)
	known, single, tokens := 0, true, 0
	for _, r := range ok {
		for i := range r.Chunks {
			c := &r.Chunks[i]
			tokens += max(c.Tokens, 0)
			if !c.Text {
				single = single && c.Tokens == 0
				continue
			}
			s.Events++
			single = single && c.Tokens == 1
			if c.Merged {
				s.MergedEvents++
			}
			if c.Tokens < 0 {
				s.UnknownEvents++
			} else {
				known++
			}
		}
	}
	for _, r := range paced {
		r.gaps(func(a, b *Chunk, gap int64, _ int) {
			if !t.over(a.At, b.At) {
				chunk.add(float64(gap), 1)
			}
		})
	}
	each := func(from, to, n int64) {
		if !t.over(from, to) {
			token.add(float64(to-from)/float64(n), n)
		}
	}
	s.ChunkGap = chunk.stats(s.more...)
	if single { // one token per event: the gaps between tokens are the gaps between events
		s.TokenGap, s.ITL = s.ChunkGap, s.ChunkGap
	} else {
		for _, r := range paced {
			r.tokenGaps(0, each)
		}
		s.TokenGap, s.ITL = token.stats(s.more...), s.ChunkGap
	}
	if known > 0 {
		s.TokensPerEvent = float64(tokens) / float64(known)
	}
	if run.dividesGaps() {
		s.ITL = s.TokenGap
		if s.UnknownEvents > 0 { // SGLang counts such an event as one token
			token = token[:0]
			for _, r := range paced {
				r.tokenGaps(1, each)
			}
			s.ITL = token.stats(s.more...)
		}
	}
}
