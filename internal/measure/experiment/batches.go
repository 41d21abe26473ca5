package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/runs"
)

// Batches stores each result of a batch benchmark in a run immediately. A failed write does not end the benchmark; End
// reports the failure.
type Batches struct {
	Store   *runs.Run // nil: results are not stored
	Rows    *Rows     // the user's file of results
	kept    []bench.Batch
	windows map[string]int
	err     error
}

// failed keeps the first error, because later errors tend to be consequences of the first.
func (b *Batches) failed(err error) {
	if b.err == nil {
		b.err = err
	}
}

// Server stores a server's own description, or the arguments of an engine.
func (b *Batches) Server(info map[string]any) {
	if b.Store != nil && len(info) > 0 {
		b.failed(b.Store.WriteJSON(runs.File{Path: "server_args.json", Kind: runs.KindServerArgs}, wire.WithoutSecrets(info)))
	}
}

// About updates the manifest with data that were unknown when the run began.
func (b *Batches) About(change func(*runs.Manifest)) {
	if b.Store != nil {
		b.failed(b.Store.Update(change))
	}
}

// Note stores a line of text about data that are missing from the run.
func (b *Batches) Note(text string) {
	b.About(func(m *runs.Manifest) { m.Notes = append(m.Notes, text) })
}

// Add stores the result of a batch.
func (b *Batches) Add(x bench.Batch, err error) {
	if b.Store == nil {
		return
	}
	if err == nil {
		err = b.Store.AddBatch(&x)
	}
	if err != nil {
		b.failed(err)
		return
	}
	b.kept = append(b.kept, x)
}

// Trace links a trace of one rank into the run. The file name of the trace need not identify the rank.
func (b *Batches) Trace(window, path string, f runs.File) {
	if b.Store == nil {
		return
	}
	from, err := filepath.Abs(path)
	if err == nil {
		f.Window = b.window(window)
		f.Path = filepath.ToSlash(filepath.Join("traces", f.Window, filepath.Base(path)))
		f.Kind, f.Format, f.Source = runs.KindTrace, "kineto.json.gz", from
		err = b.Store.AddFile(f, from)
	}
	b.failed(err)
}

// Capture links the traces of a server's window into the run.
func (b *Batches) Capture(window string, c *torch.Result) {
	if b.Store != nil {
		b.failed(c.Keep(b.Store, b.window(window)))
	}
}

// window makes name unique among the names of the run's windows. It returns "" unchanged, because "" is the name of the
// only window of a run.
func (b *Batches) window(name string) string {
	if name == "" {
		return ""
	}
	if b.windows == nil {
		b.windows = map[string]int{}
	}
	b.windows[name]++
	if n := b.windows[name]; n > 1 {
		name = fmt.Sprintf("%s_%d", name, n)
	}
	return name
}

// End ends the run and stores err in it. If anything was measured, End prints the location of the run. End returns err
// joined with the errors of writing.
func (b *Batches) End(ctx context.Context, say *progress.Console, err error) error {
	run := b.Store
	if failed := b.finish(ctx, err); failed != nil {
		err = errors.Join(err, fmt.Errorf("the run was not kept completely: %w", failed))
	}
	if run != nil && len(b.kept) > 0 {
		say.Warn("run kept: %s", run.Dir())
	}
	return errors.Join(err, b.Rows.Close())
}

// finish ends the run and returns the first write error. Nothing is stored afterwards.
func (b *Batches) finish(ctx context.Context, cause error) error {
	if b.Store == nil {
		return nil
	}
	b.failed(b.Store.Update(func(m *runs.Manifest) { m.Numbers = b.numbers() }))
	status := runs.Complete
	switch {
	case cause != nil && ctx.Err() != nil:
		status, cause = runs.Interrupted, b.err
	case cause != nil || b.err != nil:
		status, cause = runs.Failed, errors.Join(cause, b.err)
	}
	b.failed(b.Store.Finish(status, cause))
	b.Store = nil
	return b.err
}

// numbers returns the figures of the batch with the highest throughput, rates first.
func (b *Batches) numbers() (out []runs.Number) {
	var best *bench.Batch
	n := 0
	fastest := func(profiled bool) {
		most := -1.0
		for i := range b.kept {
			x := &b.kept[i]
			last := len(x.Figures) - 1 // the last figure describes the whole batch
			if last < 0 || x.Profiled != profiled {
				continue
			}
			if n++; x.Figures[last].Value > most {
				best, most = x, x.Figures[last].Value
			}
		}
	}
	if fastest(false); best == nil {
		if fastest(true); best == nil {
			return nil
		}
	}
	var latencies []runs.Number
	for _, f := range best.Figures {
		n := runs.Number{Name: strings.ReplaceAll(f.Metric, "_", " "), Value: f.Value, Unit: "tok/s"}
		switch {
		case math.IsNaN(f.Value) || math.IsInf(f.Value, 0):
			continue
		case f.Unit == bench.NS:
			n.Value, n.Unit = f.Value/1e6, "ms"
			latencies = append(latencies, n)
			continue
		case f.Metric == "request_throughput":
			n.Unit = "req/s"
		}
		out = append(out, n)
	}
	if best.BatchSize > 0 {
		out = slices.Insert(out, min(2, len(out)), runs.Number{Name: "batch size", Value: float64(best.BatchSize)})
		latencies = append(latencies, runs.Number{Name: "batches", Value: float64(n)})
	}
	return append(out, latencies...)
}
