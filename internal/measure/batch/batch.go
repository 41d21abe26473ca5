// Package batch measures the prefill latency and the decode step latency of one batch of sequences on a running server.
// The sequences have equal lengths. Like SGLang's bench_one_batch_server, a [Server] sends a batch in one request. A
// [Remote] measures a [Grid] of batches.
//
// Printed lines, result keys and trace names match those of bench_one_batch_server (section 5.2 of SGLang's contract).
// Lengths are in tokens, latencies in seconds. Package reference/batch makes the same measurement on ranks in its own
// process.
package batch

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/metric"
)

// Case is one batch.
type Case struct{ Batch, Input, Output int }

// Name returns the name of the batch's profiling window. SGLang names its trace files in the same way.
func (c Case) Name() string {
	return fmt.Sprintf("batch%d_input%d_output%d", c.Batch, c.Input, c.Output)
}

// Grid lists the lengths of the batches to run.
type Grid struct{ Batches, Inputs, Outputs []int }

// Cases returns all combinations, in the order of SGLang's tools.
func (g Grid) Cases() []Case {
	var out []Case
	for _, b := range g.Batches {
		for _, i := range g.Inputs {
			for _, o := range g.Outputs {
				out = append(out, Case{b, i, o})
			}
		}
	}
	return out
}

// Tokens returns the number of tokens that all sequences of the batch have together when the batch ends.
func (c Case) Tokens() int { return c.Batch * (c.Input + c.Output) }

// Batch returns the result in the form in which a run stores it. The argument profiled reports whether a profiler
// recorded the batch. The decode latency is the mean of the step times that the client saw. The median of the step
// times would be meaningless, because tokens arrive in bursts.
func (s *Served) Batch(profiled bool) (bench.Batch, error) {
	b := bench.Batch{BatchSize: s.BatchSize, InputLen: s.InputLen, OutputLen: s.OutputLen, Profiled: profiled}
	b.Figures = append(b.Figures, Latency("prefill_latency", s.LastTTFT), Rate("prefill_throughput", s.InputThroughput))
	if len(s.Steps) > 0 {
		l := Latency("decode_latency", metric.Mean(s.Steps))
		for _, x := range s.Steps {
			l.Samples = append(l.Samples, NS(x))
		}
		b.Figures = append(b.Figures, l)
	}
	if s.OutputThroughput > 0 {
		b.Figures = append(b.Figures, Rate("decode_throughput", s.OutputThroughput))
	}
	b.Figures = append(b.Figures, Latency("total_latency", s.Latency), Rate("overall_throughput", s.OverallThroughput))
	var err error
	b.Row, err = json.Marshal(s)
	return b, err
}

// NS converts seconds to whole nanoseconds.
func NS(seconds float64) float64 { return math.Round(seconds * 1e9) }

// Latency returns a figure of a batch in nanoseconds.
func Latency(name string, seconds float64) bench.BatchFigure {
	return bench.BatchFigure{Metric: name, Unit: bench.NS, Value: NS(seconds)}
}

// Rate returns a figure of a batch with the unit "per second".
func Rate(name string, perSecond float64) bench.BatchFigure {
	return bench.BatchFigure{Metric: name, Unit: bench.PerSecond, Higher: true, Value: perSecond}
}
