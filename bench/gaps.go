package bench

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
)

// DecodeGap is the time from one decode step to the next, measured between two tokens of a request that took part in
// both steps.
type DecodeGap struct {
	From, To int64
	Decoding int // requests between their first and their last token at From
}

// severalTokens is the maximum share of events with a token count other than one. Above this share, events cannot be
// matched to decode steps: a server with speculative decoding produces several tokens per step, and a server may send
// the tokens of several steps in one event.
const severalTokens = 0.25

// tokenAnEvent reports whether each event of a request without token counts is assumed to carry one token. This is
// assumed if the number of tokens differs from the number of events by at most a twentieth.
func (r *Record) tokenAnEvent() bool {
	off := len(r.Chunks) - r.OutputLen
	return r.OutputFrom == FromServer && 20*max(off, -off) <= r.OutputLen
}

// DecodeGaps returns, in order, the times between decode steps. It omits gaps that overlap any of the spans in outside.
// A step counts once, regardless of the number of requests that take part in it. A gap in which any request received
// its first token is omitted, because the gap includes that request's prefill. DecodeGaps returns nil if the steps
// cannot be derived from the tokens.
func DecodeGaps(records []Record, run *Run, outside []Span) []DecodeGap {
	if run.AcceptLength() > 0 || run.Embedding() {
		return nil
	}
	var all []DecodeGap
	var firsts, lasts []int64
	single, events := 0, 0
	for i := range records {
		r := &records[i]
		if !r.oneByOne() {
			continue
		}
		shared := map[*Chunk]bool{} // chunks that were read together with another chunk, so their own times are unknown
		for k := 1; k < len(r.Chunks); k++ {
			if r.Chunks[k].Merged {
				shared[&r.Chunks[k-1]], shared[&r.Chunks[k]] = true, true
			}
		}
		firsts, lasts = append(firsts, r.First), append(lasts, max(r.First, r.Last))
		r.gaps(func(from, to *Chunk, _ int64, tokens int) {
			events++
			if tokens != 1 && (tokens >= 0 || !r.tokenAnEvent()) {
				return
			}
			single++
			g := DecodeGap{From: from.At, To: to.At}
			if !shared[from] && !shared[to] && !slices.ContainsFunc(outside, func(s Span) bool { return g.From < s.To && s.From < g.To }) {
				all = append(all, g)
			}
		})
	}
	if float64(events-single) > severalTokens*float64(events) {
		return nil
	}
	slices.Sort(firsts)
	slices.Sort(lasts)
	until := func(sorted []int64, at int64) int { // number of values ≤ at
		n, _ := slices.BinarySearch(sorted, at+1)
		return n
	}
	sorts.By(all, func(a, b DecodeGap) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	out, end := all[:0], int64(Never)
	for _, g := range all {
		if g.From < end {
			continue
		}
		if end = g.To; until(firsts, g.From) == until(firsts, g.To) {
			g.Decoding = until(firsts, g.From) - until(lasts, g.From)
			out = append(out, g)
		}
	}
	return out
}
