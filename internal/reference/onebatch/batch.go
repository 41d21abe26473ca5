package onebatch

import (
	"encoding/json"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/measure/batch"
)

// This file converts a result to the form in which a run stores it. The figures of bench one-batch and bench
// one-batch-server have the same names but different formulas (sections 5.1 and 5.2 of SGLang's contract). Therefore
// runs of the two benchmarks are not compared with each other.

// Batch returns the result in the form in which a run stores it. profiled reports whether a profiler recorded the
// batch.
func (r *Result) Batch(profiled bool) (bench.Batch, error) {
	b := bench.Batch{BatchSize: r.BatchSize, InputLen: r.InputLen, OutputLen: r.OutputLen, Profiled: profiled}
	b.Figures = append(b.Figures, batch.Latency("prefill_latency", r.PrefillLatency), batch.Rate("prefill_throughput", r.PrefillThroughput))
	if len(r.Steps) > 0 {
		l, t := batch.Latency("decode_latency", *r.MedianDecodeLatency), batch.Rate("decode_throughput", *r.MedianDecodeThroughput)
		for _, s := range r.Steps {
			l.Samples, t.Samples = append(l.Samples, batch.NS(s)), append(t.Samples, float64(r.BatchSize)/s)
		}
		b.Figures = append(b.Figures, l, t)
	}
	b.Figures = append(b.Figures, batch.Latency("total_latency", r.TotalLatency), batch.Rate("overall_throughput", r.OverallThroughput))
	var err error
	b.Row, err = json.Marshal(r)
	return b, err
}
