package cli

import (
	"context"

	"github.com/stepscope/stepscope/internal/measure/experiment"
	"github.com/stepscope/stepscope/internal/runs"
)

// batches runs a benchmark of batches, stores it as a run, and appends the result rows to the results file.
func (f *storeFlags) batches(ctx context.Context, e *env, about runs.About, results string, measure func(context.Context, *experiment.Batches) error) error {
	rows, err := experiment.OpenRows("--result-filename", results)
	if err != nil {
		return err
	}
	defer rows.Close()
	about.Kind, about.Versions = "bench", map[string]string{"stepscope": release()}
	run, err := f.create(e, about)
	if err != nil {
		return err
	}
	keep := &experiment.Batches{Store: run, Rows: rows}
	return keep.End(ctx, e.Console, measure(ctx, keep))
}
