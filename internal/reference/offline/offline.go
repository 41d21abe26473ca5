// Package offline measures the throughput of an engine that gets all requests of a data set at once, like SGLang's
// bench_offline_throughput.
package offline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/measure/experiment"
	"github.com/stepscope/stepscope/internal/measure/workload"
	"github.com/stepscope/stepscope/internal/reference/embedded"
	"github.com/stepscope/stepscope/internal/reference/launch"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/trace"
)

// Benchmark is a throughput benchmark of the engine in this process.
type Benchmark struct {
	Model             launch.ModelArgs
	Backend           string // Engine or Runtime
	Spec              workload.Spec
	SkipWarmup        bool
	IgnoreEOS         bool
	Sampling          map[string]json.RawMessage // overrides parameters of each request
	Logprob           bool
	LogprobStart      int
	ProfileDir        string // directory for a recording of all ranks; "": none
	Activities        api.Activity
	NoStack, NoShapes bool // do not record stacks; do not record shapes

	Version string
	Out     io.Writer
	Say     *progress.Console

	engine *launch.Engine
	server *embedded.Server // nil: requests go directly to the engine
	failed map[string]int   // number of failed requests of the last run, by reason
}

// Backends. Requests are sent either directly to the engine or over HTTP to a server in this process.
const (
	Engine  = "engine"
	Runtime = "runtime"
)

// Result is one row of the results file.
type Result struct {
	Backend           string  `json:"backend"`
	Successful        int     `json:"successful_requests"`
	Latency           float64 `json:"total_latency"` // s
	InputTokens       int     `json:"total_input_tokens"`
	OutputTokens      int     `json:"total_output_tokens"`
	RequestThroughput float64 `json:"request_throughput"`
	InputThroughput   float64 `json:"input_throughput"`
	OutputThroughput  float64 `json:"output_throughput"`
	TotalThroughput   float64 `json:"total_throughput"`
	LastGenThroughput float64 `json:"last_gen_throughput"`
}

// rates computes the rates from the counts.
func (r *Result) rates(took time.Duration, lastGen float64) {
	r.Latency = took.Seconds()
	r.RequestThroughput = float64(r.Successful) / r.Latency
	r.InputThroughput = float64(r.InputTokens) / r.Latency
	r.OutputThroughput = float64(r.OutputTokens) / r.Latency
	r.TotalThroughput = float64(r.InputTokens+r.OutputTokens) / r.Latency
	if !math.IsNaN(lastGen) && !math.IsInf(lastGen, 0) {
		r.LastGenThroughput = lastGen
	}
}

func (r *Result) print(w io.Writer) error {
	const title = " Offline Throughput Benchmark Result "
	left := (50 - len(title)) / 2
	lines := []string{"", strings.Repeat("=", left) + title + strings.Repeat("=", 50-left-len(title))}
	row := func(name string, value any) {
		if f, ok := value.(float64); ok {
			value = fmt.Sprintf("%.2f", f)
		}
		lines = append(lines, fmt.Sprintf("%-40s %-10v", name, value))
	}
	row("Backend:", r.Backend)
	row("Successful requests:", r.Successful)
	row("Benchmark duration (s):", r.Latency)
	row("Total input tokens:", r.InputTokens)
	row("Total generated tokens:", r.OutputTokens)
	row("Last generation throughput (tok/s):", r.LastGenThroughput)
	row("Request throughput (req/s):", r.RequestThroughput)
	row("Input token throughput (tok/s):", r.InputThroughput)
	row("Output token throughput (tok/s):", r.OutputThroughput)
	row("Total token throughput (tok/s):", r.TotalThroughput)
	_, err := fmt.Fprintln(w, strings.Join(append(lines, strings.Repeat("=", 50)), "\n"))
	return err
}

// batch returns the result in the form in which a run stores it. The stored result has no batch size, because the
// requests have different lengths and some of them may not have finished.
func (r *Result) batch(profiled bool) (b bench.Batch, err error) {
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

// Measure runs a warm-up and then all requests, and stores the results in keep.
func (b *Benchmark) Measure(ctx context.Context, keep *experiment.Batches) error {
	requests, warmup, err := b.plan(ctx)
	if err != nil {
		return err
	}
	keep.Server(b.Model.Map())
	keep.About(func(m *runs.Manifest) { m.PlanHash = workload.Hash(requests, nil) })
	// The queue must have space for all requests, because all requests arrive at the same time.
	b.Model.MaxQueuedRequests = max(b.Model.MaxQueuedRequests, len(requests))
	if err := b.open(ctx, len(requests)); err != nil {
		return err
	}
	defer b.close()
	if len(warmup) > 0 {
		b.Say.Line("\nWarmup...")
		if _, err := b.run(ctx, warmup); err != nil {
			return err
		}
	}
	b.Say.Line("\nBenchmark...")
	id := ""
	if b.ProfileDir != "" {
		if id, err = b.startProfile(ctx); err != nil {
			return err
		}
	}
	res, runErr := b.run(ctx, requests)
	if b.ProfileDir != "" {
		err = b.stopProfile(id, keep)
		b.Say.Line("The whole run was recorded, which slows it down: for benchmark figures, run without --profile")
	}
	if res == nil {
		return errors.Join(runErr, err)
	}
	res.Backend = b.Backend
	keep.Add(res.batch(b.ProfileDir != ""))
	for _, reason := range slices.Sorted(maps.Keys(b.failed)) {
		text := fmt.Sprintf("%d requests failed: %s", b.failed[reason], reason)
		keep.Note(text)
		b.Say.Lack("%s", text)
	}
	if runErr == nil {
		err = errors.Join(err, keep.Rows.Add(res), keep.Rows.Close())
	}
	return errors.Join(res.print(b.Out), runErr, err)
}

// The warm-up has the same size as SGLang's warm-up, but its prompts are not read from a file.
const warmPrompts, warmInput, warmOutput = 16, 256, 16

// plan creates the requests. It is called before any ranks are loaded.
func (b *Benchmark) plan(ctx context.Context) (requests, warmup []workload.Request, err error) {
	m, err := launch.Open(b.Model, func(string) {})
	if err != nil {
		return nil, nil, err
	}
	defer m.Close()
	if m.PlainTokenizer() == nil {
		return nil, nil, errors.New("data sets need a tokenizer: omit --skip-tokenizer-init")
	}
	tok := workload.NewLocal(m.PlainTokenizer(), "the tokenizer of "+b.Model.ModelPath)
	b.Spec.Note = b.Say.Line
	if requests, err = workload.Build(ctx, b.Spec, tok); err != nil {
		return nil, nil, err
	}
	for i := range requests {
		if r := &requests[i]; r.Messages != nil || len(r.Images) > 0 || len(r.Rounds) > 1 {
			return nil, nil, fmt.Errorf("data set %s has more than prompts, and the engine accepts nothing else", b.Spec.Dataset)
		}
	}
	if b.SkipWarmup {
		return requests, nil, nil
	}
	s := workload.Default()
	s.Dataset, s.N, s.Seed, s.RangeRatio, s.TokenIDs = "random", min(warmPrompts, len(requests)), b.Spec.Seed, 1, true
	s.InputLen, s.OutputLen = min(warmInput, max(m.ContextLen-warmOutput, 1)), min(warmOutput, max(m.ContextLen-1, 1))
	warmup, err = workload.Build(ctx, s, tok)
	return requests, warmup, err
}

// startProfile starts recording.
func (b *Benchmark) startProfile(ctx context.Context) (id string, err error) {
	id = strconv.FormatFloat(float64(time.Now().UnixNano())/1e9, 'f', -1, 64)
	return id, b.engine.StartProfile(ctx, api.ProfileRequest{
		ID: id, OutputDir: b.ProfileDir, Activities: b.Activities, WithStack: !b.NoStack, RecordShapes: !b.NoShapes,
	})
}

// stopProfile ends the window and returns when its files are complete.
func (b *Benchmark) stopProfile(id string, keep *experiment.Batches) error {
	fmt.Fprintf(b.Out, "Monitoring %s for new trace files...\n", b.ProfileDir)
	res, err := b.engine.StopProfile(context.Background()) // not ctx, because an interrupt must not lose the files
	if err != nil {
		return fmt.Errorf("profile %s: %w", id, err)
	}
	for _, f := range res.Files {
		fmt.Fprintf(b.Out, "New file detected: %s\n", f)
		if name, ok := trace.ParseFileName(f); ok {
			keep.Trace("", filepath.Join(b.ProfileDir, f), runs.File{Rank: runs.At(name.Rank), Stage: name.Stage})
		}
	}
	if res.Message != "" {
		b.Say.Lack("%s: %s", filepath.Join(b.ProfileDir, id+"-*"), res.Message)
	}
	return nil
}
