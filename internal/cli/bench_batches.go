package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/measure/batch"
	"github.com/stepscope/stepscope/internal/measure/experiment"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/trace"
)

// How the benchmarks of batches keep their runs.

// batches begins the run of a benchmark.
func (f *storeFlags) batches(e *env, about runs.About) (*experiment.Batches, error) {
	about.Kind = "bench"
	about.Versions = map[string]string{"stepscope": release()}
	r, err := f.create(e, about)
	return &experiment.Batches{Store: r}, err
}

// kept ends the run, and says where it is if anything was measured.
func (e *env) kept(ctx context.Context, b *experiment.Batches, err error) error {
	run := b.Store
	if failed := b.Finish(ctx, err); failed != nil {
		err = errors.Join(err, fmt.Errorf("the run was not kept whole: %w", failed))
	}
	if run != nil && b.Kept() {
		e.Warn("run kept: %s", run.Dir())
	}
	return err
}

// windowName is the name of a window that a batch was recorded in, as SGLang names
// its files.
func windowName(c batch.Case) string {
	return fmt.Sprintf("batch%d_input%d_output%d", c.Batch, c.Input, c.Output)
}

// firstRank is a file of the first rank, in one stage of a batch.
func firstRank(stage string) runs.File {
	r := trace.NoRank
	r.TP = 0
	return runs.File{Rank: runs.At(r), Stage: api.StageName(stage)}
}

// batch is the result for a run. It has no batch size: the requests are of all
// lengths, and as many as ended.
func (r *offlineResult) batch(profiled bool) (b bench.Batch, err error) {
	b.Profiled = profiled
	b.Row, err = json.Marshal(r)
	b.Figures = append(b.Figures, bench.BatchFigure{Metric: "total_latency", Unit: bench.NS, Value: r.Latency * 1e9})
	for _, f := range []bench.BatchFigure{
		{Metric: "request_throughput", Value: r.RequestThroughput}, {Metric: "output_throughput", Value: r.OutputThroughput},
		{Metric: "input_throughput", Value: r.InputThroughput}, {Metric: "total_throughput", Value: r.TotalThroughput},
	} {
		f.Unit, f.Higher = bench.PerSecond, true
		b.Figures = append(b.Figures, f)
	}
	return b, err
}
