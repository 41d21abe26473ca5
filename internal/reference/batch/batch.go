package batch

import (
	"encoding/json"
	"math"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/metric"
)

// A run's record of a batch. The figures of both benchmarks have the same names but not the same formulas (sections 5.1
// and 5.2 of SGLang's contract), so runs of one are not compared with runs of the other.

// Batch returns the result in the form that a run keeps. profiled says that a profiler recorded the batch.
func (r *Result) Batch(profiled bool) (bench.Batch, error) {
	b := bench.Batch{BatchSize: r.BatchSize, InputLen: r.InputLen, OutputLen: r.OutputLen, Profiled: profiled}
	b.Figures = append(b.Figures, latency("prefill_latency", r.PrefillLatency), rate("prefill_throughput", r.PrefillThroughput))
	if len(r.Steps) > 0 {
		l, t := latency("decode_latency", *r.MedianDecodeLatency), rate("decode_throughput", *r.MedianDecodeThroughput)
		for _, s := range r.Steps {
			l.Samples, t.Samples = append(l.Samples, ns(s)), append(t.Samples, float64(r.BatchSize)/s)
		}
		b.Figures = append(b.Figures, l, t)
	}
	b.Figures = append(b.Figures, latency("total_latency", r.TotalLatency), rate("overall_throughput", r.OverallThroughput))
	var err error
	b.Row, err = json.Marshal(r)
	return b, err
}

// Batch returns the result in the form that a run keeps. profiled says that a profiler recorded the batch. The decode
// latency is the mean of the steps as the client saw them: they arrive in bursts, which makes a median meaningless.
func (s *Served) Batch(profiled bool) (bench.Batch, error) {
	b := bench.Batch{BatchSize: s.BatchSize, InputLen: s.InputLen, OutputLen: s.OutputLen, Profiled: profiled}
	b.Figures = append(b.Figures, latency("prefill_latency", s.LastTTFT), rate("prefill_throughput", s.InputThroughput))
	if len(s.Steps) > 0 {
		l := latency("decode_latency", metric.Mean(s.Steps))
		for _, x := range s.Steps {
			l.Samples = append(l.Samples, ns(x))
		}
		b.Figures = append(b.Figures, l)
	}
	if s.OutputThroughput > 0 {
		b.Figures = append(b.Figures, rate("decode_throughput", s.OutputThroughput))
	}
	b.Figures = append(b.Figures, latency("total_latency", s.Latency), rate("overall_throughput", s.OverallThroughput))
	var err error
	b.Row, err = json.Marshal(s)
	return b, err
}

func ns(seconds float64) float64 { return math.Round(seconds * 1e9) }

func latency(name string, seconds float64) bench.BatchFigure {
	return bench.BatchFigure{Metric: name, Unit: bench.NS, Value: ns(seconds)}
}

func rate(name string, perSecond float64) bench.BatchFigure {
	return bench.BatchFigure{Metric: name, Unit: bench.PerSecond, Higher: true, Value: perSecond}
}
