package bench

import (
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
)

// The methods below return latencies of one request, in ns. The second result is false if one of the moments that
// define the latency did not occur or was not seen. A request without a token, for example, has no TTFT, rather than a
// TTFT of 0.

func since(at, from int64) (ns int64, ok bool) {
	if at == Never || from == Never {
		return 0, false
	}
	return at - from, true
}

// TTFT is the time from sending to the first event with text, reasoning included. It is unknown if the first token was
// held back.
func (r *Record) TTFT() (int64, bool) {
	if !r.firstSeen() {
		return 0, false
	}
	return since(r.First, r.Sent)
}

// E2E is the time from sending to the last byte of the reply, as in SGLang's client. It includes the time after the
// last token; see Summary.StreamClose.
func (r *Record) E2E() (int64, bool) { return since(r.Done, r.Sent) }

// TPOT is the mean time per token after the first event with text: (Last − First) / (n − k), where k is the number of
// tokens in the first event, or 1 if this number is unknown. It is defined for replies whose tokens were seen one by
// one.
func (r *Record) TPOT() (float64, bool) {
	k := max(r.arrivals().first, 1)
	if r.OutputLen <= k || !r.oneByOne() {
		return 0, false
	}
	return float64(r.Last-r.First) / float64(r.OutputLen-k), true
}

// value is a latency that has one value per request: the time between two moments of the request.
type value struct {
	of       func(*Record) (float64, bool)
	to, from func(*Record) int64
	strict   bool // the latency is a small part of the time between the moments, so no part of that may be touched
}

func between(to, from func(*Record) int64) value {
	return value{func(r *Record) (float64, bool) {
		ns, ok := since(to(r), from(r))
		return float64(ns), ok
	}, to, from, false}
}

// first restricts a latency that ends with the first token to requests whose first token was seen.
func (v value) first() value {
	of := v.of
	v.of = func(r *Record) (float64, bool) {
		x, ok := of(r)
		return x, ok && r.firstSeen()
	}
	return v
}

// values returns the latency of each untouched request that has one, in the order of the requests. If these are fewer than
// half, slightly touched latencies count as well.
func (v value) values(records []*Record, t overlap) []float64 {
	untouched, slightly, all := make([]float64, 0, len(records)), []float64(nil), 0
	for _, r := range records {
		x, ok := v.of(r)
		if !ok {
			continue
		}
		all++
		if !t.over(v.from(r), v.to(r)) {
			untouched = append(untouched, x)
		}
		if len(t) > 0 && !t.touches(v.from(r), v.to(r)) {
			slightly = append(slightly, x)
		}
	}
	if enough(len(untouched), all) || v.strict {
		return untouched
	}
	return slightly
}

func scheduled(r *Record) int64 { return r.Scheduled }
func released(r *Record) int64  { return r.Released }
func sent(r *Record) int64      { return r.Sent }
func firstText(r *Record) int64 { return r.First }
func lastText(r *Record) int64  { return r.Last }
func visible(r *Record) int64   { return r.Visible }
func done(r *Record) int64      { return r.Done }

var (
	ttft          = between(firstText, sent).first()
	tpot          = value{(*Record).TPOT, lastText, firstText, false}
	ttftScheduled = between(firstText, scheduled).first()
	ttftVisible   = between(visible, sent).first()
	e2e           = between(done, sent)
	e2eScheduled  = between(done, scheduled)
	gated         = between(released, scheduled)
	late          = between(sent, released)
	streamClose   = between(done, lastText) // usage, [DONE], and the server's release of the stream
	headers       = between(func(r *Record) int64 { return r.Headers }, sent)
	firstEvent    = between(func(r *Record) int64 { return r.FirstAny }, sent)
)

var longestGap = value{func(r *Record) (float64, bool) {
	ns, ok := r.LongestGap()
	return float64(ns), ok
}, lastText, firstText, true}

// LongestGap is the longest time between two events with text, if the tokens were seen one by one.
func (r *Record) LongestGap() (int64, bool) {
	if !r.oneByOne() {
		return 0, false
	}
	longest, found := int64(0), false
	r.gaps(func(_, to *Chunk, gap int64, _ int) {
		longest, found = max(longest, gap), true
	})
	return longest, found
}

// gaps calls f for each pair of neighbouring events with text. f also receives the time between the two events and the
// number of tokens received after the first event, or -1 if that number is unknown.
func (r *Record) gaps(f func(from, to *Chunk, gap int64, tokens int)) {
	var last *Chunk
	tokens := 0
	for i := range r.Chunks {
		c := &r.Chunks[i]
		if tokens >= 0 && c.Tokens >= 0 {
			tokens += c.Tokens
		} else {
			tokens = -1
		}
		if !c.Text {
			continue // the tokens of this event count towards the next event with text
		}
		if last != nil {
			f(last, c, c.At-last.At, tokens)
		}
		last, tokens = c, 0
	}
}

// tokenGaps calls f for each event with text after the first. The parameter to is the time of the event, n is its
// number of tokens, and from is the time of the preceding event with tokens. The n tokens are assumed to arrive at
// equal intervals between from and to. An event without new tokens is skipped, as in SGLang's client for /generate. An
// event with an unknown number of tokens counts as guess tokens. If guess is 0, such an event is omitted.
func (r *Record) tokenGaps(guess int, f func(from, to int64, n int64)) {
	var from int64
	have := false
	r.gaps(func(a, b *Chunk, _ int64, tokens int) {
		if !have {
			from, have = a.At, true
		}
		if tokens < 0 {
			if tokens = guess; guess == 0 {
				from = b.At
			}
		}
		if tokens == 0 {
			return
		}
		f(from, b.At, int64(tokens))
		from = b.At
	})
}

// itls returns the gaps that SGLang's client records for the request, in ns. For SGLang's own API these are gaps
// between tokens; for all other APIs they are gaps between events.
func (r *Record) itls(native bool) []float64 {
	out := []float64{}
	if !native {
		r.gaps(func(_, _ *Chunk, gap int64, _ int) { out = append(out, float64(gap)) })
		return out
	}
	r.tokenGaps(1, func(from, to, n int64) {
		for range min(n, 1<<16) { // a faulty server may claim more tokens in one event than any server sends
			out = append(out, float64(to-from)/float64(n))
		}
	})
	return out
}

// failure returns the reason that a request counts as failed. A reply without tokens is a failure whatever its HTTP
// status, unless the request is for an embedding.
func (r *Record) failure(embedding bool) Failure {
	if r.OK() && !embedding && r.First == Never {
		return Empty
	}
	return r.Failure
}

// inputLen returns the data set's count of prompt tokens, which SGLang's totals use. PromptLen, by contrast, is the
// server's count if known.
func (r *Record) inputLen() int {
	if n := r.TextLen + r.VisionLen; n > 0 {
		return n
	}
	return r.PromptLen
}

// Embedding reports whether the backend generates no tokens.
func (r *Run) Embedding() bool { return strings.HasSuffix(r.Backend, "-embedding") }

// native reports whether the run used SGLang's own API, in which events carry token counts.
func (r *Run) native() bool { return r.Backend == "sglang" || r.Backend == "sglang-native" }

// dividesGaps reports whether SGLang's client divides the time between two events among the tokens of the second event.
// SGLang's client does so for SGLang's own API. It also does so for the OpenAI API if the server uses speculative
// decoding.
func (r *Run) dividesGaps() bool {
	return r.native() || r.AcceptLength() > 0 && (r.Backend == "sglang-oai" || r.Backend == "sglang-oai-chat")
}

// AcceptLength is the mean number of tokens per speculative step, as reported by the server; 0: unknown. Only SGLang
// servers report it.
func (r *Run) AcceptLength() float64 {
	if !strings.Contains(r.Backend, "sglang") {
		return 0
	}
	info := r.ServerInfo
	if decode, ok := first(info["decode"]); ok { // the reply comes from a load balancer for PD disaggregation
		info = decode
	}
	state, _ := first(info["internal_states"])
	n, _ := state["avg_spec_accept_length"].(float64)
	return n
}

func first(v any) (map[string]any, bool) {
	list, _ := v.([]any)
	if len(list) == 0 {
		return nil, false
	}
	m, ok := list[0].(map[string]any)
	return m, ok
}

// RateText is the request rate as SGLang prints it: "inf", "trace" or a number.
func (r *Run) RateText() string {
	switch {
	case r.Traced:
		return "trace"
	case r.Rate <= 0:
		return "inf"
	}
	return metric.PythonFloat(r.Rate)
}
