// Package batch measures one batch of sequences of equal lengths on a running server: the latency of its prefill and of
// its decode steps. A [Server] sends a batch in one request, as SGLang's bench_one_batch_server does; a [Remote] measures
// a [Grid] of batches.
//
// Printed lines, result keys and trace names match that tool (section 5.2 of SGLang's contract). Lengths are in tokens,
// latencies in seconds. Package reference/batch does the same on ranks of its own process.
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

// Name is the name of the batch's window, as SGLang names its files.
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

// Tokens is the number of tokens a batch has at its end.
func (c Case) Tokens() int { return c.Batch * (c.Input + c.Output) }

// Batch returns the result in the form that a run keeps. profiled says that a profiler recorded the batch. The decode
// latency is the mean of the steps as the client saw them: they arrive in bursts, which makes a median meaningless.
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

// NS returns seconds in nanoseconds, rounded.
func NS(seconds float64) float64 { return math.Round(seconds * 1e9) }

// Latency is a figure of a batch in nanoseconds.
func Latency(name string, seconds float64) bench.BatchFigure {
	return bench.BatchFigure{Metric: name, Unit: bench.NS, Value: NS(seconds)}
}

// Rate is a figure of a batch per second.
func Rate(name string, perSecond float64) bench.BatchFigure {
	return bench.BatchFigure{Metric: name, Unit: bench.PerSecond, Higher: true, Value: perSecond}
}
