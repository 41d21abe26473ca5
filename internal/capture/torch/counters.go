package torch

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/pause"
	"github.com/stepscope/stepscope/trace"
)

// What decode steps take that nothing records, by the counters of a server that serves
// somebody else's load: its histogram of times between tokens, looked at several times a
// second before the profiler is armed (or, if that told nothing, after the window). The
// growth of its sum over that of its count is the length of a step; over the time it is
// how many requests were in decode (Little).

const (
	counterLook  = 100 * time.Millisecond // between looks
	counterSteps = 8                      // steps in a stretch, at least
	counterMany  = 7                      // stretches that suffice
	counterIdle  = 3                      // looks at a server without tokens, after which there is no more to see
)

// counterState is one look.
type counterState struct {
	at                 time.Time
	sum, count, firsts float64 // of times between tokens, s; first tokens
}

// stretch is the time between two looks.
type stretch struct {
	batch float64 // requests in decode
	took  int64   // a step, ns
	pure  bool    // without prefill
}

// counters looks once; ok is false if the server does not count times between tokens, or
// makes several tokens a step.
func (m *member) counters(ctx context.Context) (c counterState, ok bool) {
	c.at = time.Now()
	several := false
	older := counterState{}
	read := m.metrics(ctx, func(name string, v float64) {
		switch {
		case name == "inter_token_latency_seconds_sum":
			c.sum += v
		case name == "inter_token_latency_seconds_count":
			c.count += v
			ok = true
		case name == "time_per_output_token_seconds_sum":
			older.sum += v
		case name == "time_per_output_token_seconds_count":
			older.count += v
		case name == "time_to_first_token_seconds_count":
			c.firsts += v
		case name == "spec_accept_length", strings.HasPrefix(name, "spec_decode_num_drafts"):
			several = several || v > 0
		}
	})
	if !ok && m.kind == VLLM { // in SGLang it has one value a request
		c.sum, c.count, ok = older.sum, older.count, older.count > 0
	}
	return c, read && ok && !several
}

// watchPace looks at a server's counters for a time, or until they tell enough.
func (m *member) watchPace(ctx context.Context) {
	if m.o.Pace <= 0 || m.Role == api.Prefill || enough(m.stretches) {
		return
	}
	if m.armed.IsZero() {
		m.doing(doingPace)
	}
	var looks []counterState
	idle := 0
	for begun := time.Now(); ; {
		c, ok := m.counters(ctx)
		if !ok {
			return
		}
		if n := len(looks); n > 0 && looks[n-1].count == c.count {
			idle++
		} else {
			idle = 0
		}
		looks = append(looks, c)
		all := slices.Concat(m.stretches, stretches(looks))
		if idle >= counterIdle || time.Since(begun) >= m.o.Pace || enough(all) || !pause.For(ctx, counterLook) {
			m.stretches = all
			return
		}
	}
}

// enough tells whether as many stretches without prefill are there as it takes.
func enough(all []stretch) bool {
	pure := 0
	for _, s := range all {
		if s.pure {
			pure++
		}
	}
	return pure >= counterMany
}

// stretches are those between looks in which several steps were made. One is without
// prefill if there was no first token in it, nor between the two looks before, from which
// a token may have waited for that prefill.
func stretches(looks []counterState) (out []stretch) {
	for i := 0; i < len(looks); {
		j := i + 1
		for ; j < len(looks); j++ {
			a, b := &looks[i], &looks[j]
			tokens, waited, passed := b.count-a.count, b.sum-a.sum, b.at.Sub(a.at).Seconds()
			if batch := waited / passed; tokens > 0 && batch > 0.5 && tokens/batch >= counterSteps {
				before := max(i-1, 0)
				out = append(out, stretch{batch: batch, took: int64(math.Round(waited / tokens * 1e9)), pure: i > 0 && looks[before].firsts == b.firsts})
				break
			}
		}
		i = j
	}
	return out
}

// reference is what the stretches tell; nil: too little.
func (m *member) reference() *trace.Reference {
	pure := slices.DeleteFunc(slices.Clone(m.stretches), func(s stretch) bool { return !s.pure })
	if ref := counterReference(pure); ref != nil {
		return ref
	}
	ref := counterReference(m.stretches)
	if ref != nil {
		ref.Upper = true
	}
	return ref
}

// counterReference is that of the stretches with about the usual number of requests.
func counterReference(list []stretch) *trace.Reference {
	var batches []float64
	for _, s := range list {
		batches = append(batches, s.batch)
	}
	if batches == nil {
		return nil
	}
	usual := metric.MedianInPlace(batches)
	var took []int64
	for _, s := range list {
		if math.Abs(s.batch-usual) <= max(1, usual/5) {
			took = append(took, s.took)
		}
	}
	batch := int(math.Round(usual))
	p, ok := NewStepTime(batch, took)
	if !ok {
		return nil
	}
	return &trace.Reference{From: trace.FromCounters, Batch: batch, Paces: []trace.StepTime{p}}
}
