package experiment

import (
	"maps"
	"slices"
	"time"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/trace"
)

const (
	contextsEvery = int64(10 * time.Millisecond) // between samples of the contexts
	mostContexts  = 1000                         // samples of a window
	aheadSteps    = 2                            // steps by which a server is ahead of the tokens that arrived
)

// contexts returns the contexts of the load's requests in the windows, from their prompts and the tokens that had
// arrived. It returns nil if the tokens of a request have no times.
func contexts(records []bench.Record, run *bench.Run) (out []trace.ContextSample) {
	for _, w := range run.Profiled {
		var all []*inFlight
		for i := range records {
			r := &records[i]
			if r.Sent == bench.Never || r.Sent > w.To || r.Done < w.From {
				continue
			}
			if r.Held {
				return nil
			}
			all = append(all, &inFlight{r: r, untold: slices.ContainsFunc(r.Chunks, func(c bench.Chunk) bool { return c.Tokens < 0 })})
		}
		for at, every := w.From, max(contextsEvery, (w.To-w.From)/mostContexts); at <= w.To; at += every {
			out = append(out, contextsAt(all, at, run.StartWall)...)
		}
	}
	return out
}

// inFlight is a request, and the number of its events up to a moment.
type inFlight struct {
	r      *bench.Record
	untold bool // events do not tell their number of tokens
	events int
	tokens int // of these events, at least one an event
}

// at returns the bounds of the request's context. They differ if the events do not tell their number of tokens.
func (d *inFlight) at(now int64) (low, high int64) {
	for ; d.events < len(d.r.Chunks) && d.r.Chunks[d.events].At <= now; d.events++ {
		d.tokens += max(d.r.Chunks[d.events].Tokens, 1)
	}
	low, high = int64(d.r.PromptLen+d.tokens), int64(d.r.PromptLen+d.tokens)
	if d.untold {
		high = max(low, int64(d.r.PromptLen+d.r.OutputLen-(len(d.r.Chunks)-d.events)))
	}
	return low, high
}

// contextsAt returns the contexts of each data-parallel rank, or of all ranks together if requests do not tell theirs.
// The shortest and the longest context also count requests that wait for their first token.
func contextsAt(all []*inFlight, now, wall int64) []trace.ContextSample {
	by := map[int]*trace.ContextSample{}
	together := slices.ContainsFunc(all, func(d *inFlight) bool { return d.r.DPRank < 0 })
	for _, d := range all {
		r := d.r
		if now < r.Sent || now >= r.Done {
			continue
		}
		low, high := d.at(now)
		if high += aheadSteps; low < 1 {
			continue
		}
		dp := r.DPRank
		if together {
			dp = -1
		}
		s := by[dp]
		if s == nil {
			s = &trace.ContextSample{At: wall + now, From: trace.ContextsLoad, DP: dp, Least: low}
			by[dp] = s
		}
		s.Least, s.Most = min(s.Least, low), max(s.Most, high)
		if r.First != bench.Never && r.First <= now && now < r.Last {
			s.Running, s.Low, s.High = s.Running+1, s.Low+low, s.High+high
		}
	}
	var out []trace.ContextSample
	for _, dp := range slices.Sorted(maps.Keys(by)) {
		if by[dp].Running > 0 {
			out = append(out, *by[dp])
		}
	}
	return out
}
