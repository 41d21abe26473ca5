package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/measure/batch"
	"github.com/stepscope/stepscope/internal/measure/experiment"
	"github.com/stepscope/stepscope/internal/measure/workload"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/serve/launch"
	"github.com/stepscope/stepscope/trace"
)

// offlineCmd is "bench offline", SGLang's bench_offline_throughput.
type offlineCmd struct {
	launch.ModelArgs
	unused
	datasetFlags
	Backend        string `name:"backend" enum:"engine,runtime" default:"engine" help:"engine: requests go to the engine itself; runtime: over HTTP to a server of this process."`
	ResultFilename string `name:"result-filename" placeholder:"FILE" help:"A row is appended to it."`
	NoIgnoreEOS    bool   `name:"disable-ignore-eos" help:"Outputs end where the model ends them."`
	Extra          string `name:"extra-request-body" placeholder:"JSON" help:"Sampling parameters, over those of the data set."`
	ReturnLogprob  bool   `name:"return-logprob" help:"Ask for log probabilities."`
	LogprobStart   int    `name:"logprob-start-len" default:"-1" help:"First prompt token whose log probability is asked for; -1: of the output alone."`
	SkipWarmup     bool   `name:"skip-warmup" help:"No warm-up, which is up to 16 random prompts of 256 tokens."`
	Profile        bool   `name:"profile" help:"Record all ranks while it runs, all of it, into SGLANG_TORCH_PROFILER_DIR, which must be set. Take few prompts."`
	DoNotExit      bool   `name:"do-not-exit" help:"Wait for an interrupt when all is done."`

	storeFlags
}

// Help is the end of the verb's help text.
func (c *offlineCmd) Help() string {
	return `Gives all requests of a data set to the engine in this process at once, and measures how long it takes. Nothing is downloaded.

Examples:
  stepscope bench offline --model-path builtin:llama-tiny --dataset-name random --num-prompts 100 --random-input-len 256 --random-output-len 64
  stepscope bench offline --model-path builtin:llama-tiny --dataset-path ShareGPT_V3_unfiltered_cleaned_split.json --num-prompts 50`
}

// offlineResult is a row of the results file.
type offlineResult struct {
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

// rates fills in what follows from the counts.
func (r *offlineResult) rates(took time.Duration, lastGen float64) {
	r.Latency = took.Seconds()
	r.RequestThroughput = float64(r.Successful) / r.Latency
	r.InputThroughput = float64(r.InputTokens) / r.Latency
	r.OutputThroughput = float64(r.OutputTokens) / r.Latency
	r.TotalThroughput = float64(r.InputTokens+r.OutputTokens) / r.Latency
	if !math.IsNaN(lastGen) && !math.IsInf(lastGen, 0) {
		r.LastGenThroughput = lastGen
	}
}

func (r *offlineResult) print(w io.Writer) error {
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

// Run measures.
func (c *offlineCmd) Run(ctx context.Context, e *env) (err error) {
	sampling, dir, err := c.check()
	if err != nil {
		return err
	}
	out, err := openResults("--result-filename", c.ResultFilename)
	if err != nil {
		return err
	}
	defer out.Close()
	keep, err := c.batches(e, runs.About{Tool: "bench offline", Backend: c.Backend, Model: c.ModelPath})
	if err != nil {
		return err
	}
	defer func() { err = e.kept(ctx, keep, err) }()
	requests, warmup, err := c.plan(ctx, e)
	if err != nil {
		return err
	}
	keep.Server(c.Map())
	keep.About(func(m *runs.Manifest) { m.PlanHash = workload.Hash(requests, nil) })
	// All requests come at once.
	c.MaxQueuedRequests = max(c.MaxQueuedRequests, len(requests))
	b, err := c.open(ctx, e, len(requests))
	if err != nil {
		return err
	}
	defer b.Close()
	g := generation{backend: b, ignoreEOS: !c.NoIgnoreEOS, sampling: sampling, logprob: c.ReturnLogprob, logprobStart: c.LogprobStart}
	if len(warmup) > 0 {
		fmt.Fprintln(e.stderr, "\nWarmup...")
		if _, err := g.run(ctx, warmup); err != nil {
			return err
		}
	}
	fmt.Fprintln(e.stderr, "\nBenchmark...")
	id := ""
	if c.Profile {
		if id, err = startOffline(ctx, b.engine, dir, e.now()); err != nil {
			return err
		}
	}
	res, runErr := g.run(ctx, requests)
	if c.Profile {
		err = stopOffline(e, b.engine, dir, id, keep)
	}
	if res == nil {
		return errors.Join(runErr, err)
	}
	res.Backend = c.Backend
	keep.Add(res.batch(c.Profile))
	for _, reason := range slices.Sorted(maps.Keys(g.failed)) {
		keep.Note(fmt.Sprintf("%d requests failed: %s", g.failed[reason], reason))
		e.Lack("%d requests failed: %s", g.failed[reason], reason)
	}
	if runErr == nil {
		err = errors.Join(err, out.add(res), out.Close())
	}
	if err := errors.Join(res.print(e.stdout), runErr, err); err != nil {
		return err
	}
	if c.DoNotExit {
		if err := e.kept(ctx, keep, nil); err != nil {
			return err
		}
		fmt.Fprintln(e.stderr, "done; waiting for an interrupt (--do-not-exit)")
		<-ctx.Done()
	}
	return nil
}

// check looks at the values.
func (c *offlineCmd) check() (sampling map[string]json.RawMessage, profileDir string, err error) {
	if err := c.Check(); err != nil {
		return nil, "", usagef("%v", err)
	}
	if c.Extra != "" {
		if err := json.Unmarshal([]byte(c.Extra), &sampling); err != nil {
			return nil, "", usagef("--extra-request-body: no JSON object; give one such as '{\"top_p\": 0.9}'")
		}
	}
	if slices.Contains([]string{"image", "mmmu", "openai", "mooncake", "agentic-trace"}, c.DatasetName) {
		return nil, "", usagef("--dataset-name %s: it has more than prompts; give sharegpt, random, generated-shared-prefix or another of texts", c.DatasetName)
	}
	if c.LogprobStart < -1 {
		return nil, "", usagef("--logprob-start-len %d: give -1 or more", c.LogprobStart)
	}
	if c.Profile {
		profileDir = os.Getenv("SGLANG_TORCH_PROFILER_DIR")
		if profileDir == "" {
			return nil, "", usagef("--profile: set SGLANG_TORCH_PROFILER_DIR to the directory for the traces")
		}
		p := batch.Profile{Dir: profileDir}
		err = p.Check()
	}
	return sampling, profileDir, err
}

// The warm-up is SGLang's, but its prompts come from no file.
const warmPrompts, warmInput, warmOutput = 16, 256, 16

// plan makes the requests, before ranks are loaded for nothing.
func (c *offlineCmd) plan(ctx context.Context, e *env) (requests, warmup []workload.Request, err error) {
	m, err := launch.Open(c.ModelArgs, func(string) {})
	if err != nil {
		return nil, nil, err
	}
	defer m.Close()
	if m.PlainTokenizer() == nil {
		return nil, nil, errors.New("data sets need a tokenizer: leave out --skip-tokenizer-init")
	}
	tok := workload.NewLocal(m.PlainTokenizer(), "the tokenizer of "+c.ModelPath)
	spec := c.spec("")
	spec.Note = e.Line
	if requests, err = workload.Build(ctx, spec, tok); err != nil {
		return nil, nil, err
	}
	for i := range requests {
		if r := &requests[i]; r.Messages != nil || len(r.Images) > 0 || len(r.Rounds) > 1 {
			return nil, nil, fmt.Errorf("data set %s: it has more than prompts, and the engine takes nothing else", c.DatasetName)
		}
	}
	if c.SkipWarmup {
		return requests, nil, nil
	}
	s := workload.Default()
	s.Dataset, s.N, s.Seed, s.RangeRatio, s.TokenIDs = "random", min(warmPrompts, len(requests)), c.datasetFlags.Seed, 1, true
	s.InputLen, s.OutputLen = min(warmInput, max(m.ContextLen-warmOutput, 1)), min(warmOutput, max(m.ContextLen-1, 1))
	warmup, err = workload.Build(ctx, s, tok)
	return requests, warmup, err
}

// startOffline records from here on.
func startOffline(ctx context.Context, e *launch.Engine, dir string, now time.Time) (id string, err error) {
	id = strconv.FormatFloat(float64(now.UnixNano())/1e9, 'f', -1, 64)
	return id, e.StartProfile(ctx, api.ProfileRequest{
		ID: id, OutputDir: dir, Activities: api.ActivityCPU | api.ActivityGPU, WithStack: true, RecordShapes: true,
	})
}

// stopOffline ends the window and returns when its files are whole.
func stopOffline(e *env, en *launch.Engine, dir, id string, keep *experiment.Batches) error {
	fmt.Fprintf(e.stdout, "Monitoring %s for new trace files...\n", dir)
	res, err := en.StopProfile(context.Background()) // an interrupt does not lose them
	if err != nil {
		return fmt.Errorf("profile %s: %w", id, err)
	}
	for _, f := range res.Files {
		fmt.Fprintf(e.stdout, "New file detected: %s\n", f)
		if name, ok := trace.ParseFileName(f); ok {
			keep.Trace("", filepath.Join(dir, f), runs.File{Rank: runs.At(name.Rank), Stage: name.Stage})
		}
	}
	if res.Message != "" {
		e.Lack("%s: %s", filepath.Join(dir, id+"-*"), res.Message)
	}
	return nil
}
