package torch

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/pause"
	"github.com/stepscope/stepscope/trace"
)

// Decode step times without the profiler are measured from the counters of a server under external load. The histogram
// of inter-token latencies is read several times a second, before the profiler is armed. If that was inconclusive, the
// histogram is read again after the window. The growth of the histogram's sum divided by the growth of its count is the
// step time. The growth of the sum divided by the elapsed time is the number of requests in decode (Little's law).
const (
	counterLook  = 100 * time.Millisecond // interval between reads
	counterSteps = 8                      // minimum steps in a stretch
	counterMany  = 7                      // number of stretches without prefill that suffice
	// counterIdle is the number of reads after which measuring ends if the server generates no tokens.
	counterIdle = 3
)

// counterState is the result of one read of the counters.
type counterState struct {
	at                 time.Time
	sum, count, firsts float64 // sum (in s) and count of inter-token latencies; number of first tokens
}

// stretch is the time between two reads of the counters.
type stretch struct {
	batch float64 // requests in decode
	took  int64   // step time, ns
	pure  bool    // no prefill ran in the stretch
}

// counters reads the counters once; ok is false if the server has no inter-token latencies, or generates several tokens
// per step.
func (m *member) counters(ctx context.Context) (c counterState, ok bool) {
	c.at = time.Now()
	s := m.metrics(ctx)
	if s == nil {
		return c, false
	}
	c.sum, c.count, c.firsts = s.ITL.Sum, s.ITL.Count, s.TTFT.Count
	has := len(s.ITL.Bounds) > 0 || s.ITL.Count > 0
	return c, has && !(s.Drafts > 0)
}

// watchPace reads a server's counters until there are enough stretches, or for at most Options.Pace.
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

// enough reports whether there are enough stretches without prefill.
func enough(all []stretch) bool {
	pure := 0
	for _, s := range all {
		if s.pure {
			pure++
		}
	}
	return pure >= counterMany
}

// stretches returns the intervals between reads in which at least counterSteps steps ran. An interval counts as free of
// prefill if no first token occurred in the interval itself or in the preceding interval between two reads. A prefill
// in the preceding interval could have delayed a token of the interval.
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

// reference returns the step times from the stretches, or nil if there are too few.
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

// counterReference returns the step time of the stretches whose number of requests is close to the median number.
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
