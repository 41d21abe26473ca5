package bench

import (
	"cmp"
	"slices"
)

// Summary is what a run comes to. Its JSON form is docs/formats/bench.md, its
// formulas stand in docs/metrics.md. Latencies are of successful requests, in ns.
// Summaries are made from records, never from other summaries.
type Summary struct {
	Format    int    `json:"format"` // 1
	Backend   string `json:"backend"`
	Embedding bool   `json:"embedding"`
	Requests  int    `json:"requests"`
	Completed int    `json:"completed"`
	Duration  int64  `json:"duration_ns"`

	// SGLang's figures, by its formulas.
	InputTokens   int     `json:"input_tokens"` // as the data set counts them
	TextTokens    int     `json:"text_tokens"`
	VisionTokens  int     `json:"vision_tokens"`
	OutputTokens  int     `json:"output_tokens"`
	Retokenized   int     `json:"output_tokens_retokenized"` // -1: no tokenizer
	RequestRate   float64 `json:"requests_per_s"`
	InputRate     float64 `json:"input_tokens_per_s"`
	OutputRate    float64 `json:"output_tokens_per_s"`
	TotalRate     float64 `json:"total_tokens_per_s"`
	Concurrency   float64 `json:"concurrency"` // sum of E2E over the duration
	MaxOutputRate float64 `json:"max_output_tokens_per_s"`
	MaxConcurrent int     `json:"max_concurrent_requests"`
	AcceptLength  float64 `json:"accept_length"` // 0: not known
	E2E           Stats   `json:"e2e"`
	TTFT          Stats   `json:"ttft"`
	TPOT          Stats   `json:"tpot"`
	ITL           Stats   `json:"itl"` // pooled: between tokens for /generate, between events for others

	// The client's own waiting, and latencies that include it.
	Gate          Stats `json:"client_queue"` // released − scheduled: what --max-concurrency held back
	Late          Stats `json:"send_delay"`   // sent − released: the client's delay, connecting included
	TTFTScheduled Stats `json:"ttft_scheduled"`
	E2EScheduled  Stats `json:"e2e_scheduled"`

	// Around the tokens.
	Headers     Stats `json:"headers"`      // sent until the status line
	FirstEvent  Stats `json:"first_event"`  // sent until any event, a role for one
	TTFTVisible Stats `json:"ttft_visible"` // sent until text that is no reasoning
	StreamClose Stats `json:"stream_close"` // last token until the last byte
	ChunkGap    Stats `json:"chunk_gap"`    // between events with text, as received
	TokenGap    Stats `json:"token_gap"`    // the same shared out over an event's new tokens: interpolated

	TokensPerEvent float64            `json:"tokens_per_event"` // 0: not known
	UnknownEvents  int                `json:"unknown_events"`   // with text, of unknown size
	MergedEvents   int                `json:"merged_events"`    // came in one read with the event before
	Events         int                `json:"events"`           // with text
	LengthFrom     map[OutputFrom]int `json:"output_length_from"`
	PeakRunning    int                `json:"peak_running"`             // requests under way at one moment
	PeakOutputRate float64            `json:"peak_output_tokens_per_s"` // tokens in any one second

	Steady   *Steady   `json:"steady,omitempty"`
	Goodput  *Goodput  `json:"goodput,omitempty"`
	Cache    *Cache    `json:"cache,omitempty"`
	Failures []Failing `json:"failures"`
	Health   Health    `json:"health"`
}

// Failing is one reason for failures.
type Failing struct {
	Reason  Failure `json:"reason"`
	Count   int     `json:"count"`
	Example string  `json:"example"` // the error text of one
}

// Options steer Summarize.
type Options struct {
	SLO SLO // nil: no goodput
}

// Summarize computes all figures of a run.
func Summarize(records []Record, run *Run, o Options) *Summary {
	s := &Summary{
		Format: 1, Backend: run.Backend, Embedding: run.Embedding(), Requests: len(records), Duration: run.Duration,
		AcceptLength: run.AcceptLength(), LengthFrom: map[OutputFrom]int{}, Health: run.Health,
	}
	ok, failures := successes(records, s.Embedding)
	s.Failures = failures
	s.Completed = len(ok)
	s.count(ok)
	seconds := float64(run.Duration) / 1e9
	if seconds > 0 {
		s.RequestRate = float64(s.Completed) / seconds
		s.InputRate = float64(s.InputTokens) / seconds
		s.OutputRate = float64(s.OutputTokens) / seconds
		s.TotalRate = float64(s.InputTokens+s.OutputTokens) / seconds
	}
	s.latencies(ok)
	if seconds > 0 {
		s.Concurrency = s.E2E.Mean * float64(s.E2E.N) / 1e9 / seconds
	}
	s.gaps(ok, run)
	s.MaxOutputRate, s.MaxConcurrent = buckets(ok, run.native())
	if s.Embedding {
		s.MaxOutputRate = 0
	}

	var spans []Span
	from, to := int64(0), int64(0)
	for i := range records {
		if r := &records[i]; r.Sent != Never && r.Done >= r.Sent {
			if len(spans) == 0 {
				from = r.Sent
			}
			spans = append(spans, Span{r.Sent, r.Done})
			from, to = min(from, r.Sent), max(to, r.Done)
		}
	}
	s.PeakRunning = peakOf(running(spans))
	s.PeakOutputRate = peakRate(ok, from, to)
	s.Steady = steady(ok)
	s.Goodput = goodput(o.SLO, ok, s.Requests, seconds)
	s.Cache = newCache(ok)
	return s
}

// successes returns them, and the failures by reason, the most frequent first.
func successes(records []Record, embedding bool) (ok []*Record, failures []Failing) {
	at := map[Failure]int{}
	failures = []Failing{}
	for i := range records {
		r := &records[i]
		why := r.failure(embedding)
		if why == "" && (r.Sent == Never || r.Done < r.Sent) {
			why = Malformed // a record that contradicts itself is no success
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
	slices.SortStableFunc(failures, func(a, b Failing) int { return b.Count - a.Count })
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

// latencies that are one value a request.
func (s *Summary) latencies(ok []*Record) {
	for _, f := range []struct {
		to *Stats
		of value
	}{
		{&s.E2E, e2e}, {&s.TTFT, ttft}, {&s.TPOT, (*Record).TPOT}, {&s.Gate, gate}, {&s.Late, late},
		{&s.TTFTScheduled, ttftScheduled}, {&s.E2EScheduled, e2eScheduled}, {&s.Headers, headers},
		{&s.FirstEvent, firstEvent}, {&s.TTFTVisible, ttftVisible}, {&s.StreamClose, streamClose},
	} {
		*f.to = independent(values(ok, f.of))
	}
}

func values(records []*Record, of value) []float64 {
	out := make([]float64, 0, len(records))
	for _, r := range records {
		if v, ok := of(r); ok {
			out = append(out, v)
		}
	}
	return out
}

// gaps between events and between tokens, pooled over requests.
func (s *Summary) gaps(ok []*Record, run *Run) {
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
		r.gaps(func(_, _ *Chunk, gap int64, _ int) { chunk.add(float64(gap), 1) })
	}
	s.ChunkGap = chunk.stats()
	if single { // a token in each event: the two are one
		s.TokenGap, s.ITL = s.ChunkGap, s.ChunkGap
	} else {
		for _, r := range ok {
			r.tokenGaps(0, func(from, to, n int64) { token.add(float64(to-from)/float64(n), n) })
		}
		s.TokenGap, s.ITL = token.stats(), s.ChunkGap
	}
	if known > 0 {
		s.TokensPerEvent = float64(tokens) / float64(known)
	}
	if run.dividesGaps() {
		s.ITL = s.TokenGap
		if s.UnknownEvents > 0 { // it takes those for one token
			token = token[:0]
			for _, r := range ok {
				r.tokenGaps(1, func(from, to, n int64) { token.add(float64(to-from)/float64(n), n) })
			}
			s.ITL = token.stats()
		}
	}
}
