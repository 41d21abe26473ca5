package experiment

import (
	"maps"
	"slices"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/trace"
)

// Reference returns the decode step times outside the profiling window, computed from the token times of the load; nil:
// unknown.
func Reference(records []bench.Record, run *bench.Run) *trace.Reference {
	by := map[int][]int64{}
	for _, g := range bench.DecodeGaps(records, run, run.Profiled) {
		by[g.Decoding] = append(by[g.Decoding], g.To-g.From)
	}
	ref := &trace.Reference{From: trace.FromTokens, Batch: decoding(records, run.Profiled)}
	for _, batch := range slices.Sorted(maps.Keys(by)) {
		if p, ok := torch.NewStepTime(batch, by[batch]); ok && batch > 0 {
			ref.Paces = append(ref.Paces, p)
		}
	}
	if ref.Paces == nil {
		return nil
	}
	return ref
}

// decoding returns the median, over the windows, of the number of requests in decode at the middle of a window.
func decoding(records []bench.Record, windows []bench.Span) int {
	var all []int
	for _, w := range windows {
		n, at := 0, w.From+(w.To-w.From)/2
		for i := range records {
			if r := &records[i]; r.First != bench.Never && r.First <= at && at < r.Last {
				n++
			}
		}
		all = append(all, n)
	}
	if all == nil {
		return 0
	}
	return int(metric.MedianInPlace(all))
}

// refer writes the reference step times and the contexts of a run next to the traces of the server that generated the tokens. It does so
// only if exactly one server generated tokens. If the window affects the whole of the run in which it was captured, a
// later run provides the reference.
func (c *Captured) refer(records []bench.Record, run *bench.Run) {
	if c == nil || c.Result == nil {
		return
	}
	var decoders []*torch.ServerResult
	for i := range c.Servers {
		if r := &c.Servers[i]; r.Role != api.Prefill {
			decoders = append(decoders, r)
		}
	}
	if len(decoders) != 1 || len(decoders[0].Traces) == 0 {
		return
	}
	decoders[0].AddContexts(contexts(records, run))
	if decoders[0].Reference == nil {
		if ref := Reference(records, run); ref != nil {
			decoders[0].Refer(ref)
		}
	}
}
