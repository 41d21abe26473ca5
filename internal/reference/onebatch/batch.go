package onebatch

import (
	"encoding/json"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/measure/batch"
)

// A run's record of a batch. The figures of both benchmarks have the same names but not the same formulas (sections 5.1
// and 5.2 of SGLang's contract), so runs of one are not compared with runs of the other.

// Batch returns the result in the form that a run keeps. profiled says that a profiler recorded the batch.
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
