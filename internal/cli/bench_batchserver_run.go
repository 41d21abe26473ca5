package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/measure/batch"
	"github.com/stepscope/stepscope/internal/measure/experiment"
	"github.com/stepscope/stepscope/internal/runs"
)

// batchBench is a benchmark of batches under way.
type batchBench struct {
	cmd     *batchServerCmd
	env     *env
	out     *resultFile
	keep    *experiment.Batches
	server  *batch.Server
	data    *batch.Data
	how     batch.How
	results []*batch.Served
}

// run measures all batches, and tells of those that were when it is interrupted.
func (b *batchBench) run(ctx context.Context) error {
	c := b.cmd
	if err := b.server.Look(ctx); err != nil {
		return err
	}
	b.keep.Server(b.server.Told)
	b.keep.About(func(m *runs.Manifest) { m.Model = b.model() })
	if !b.server.VLLM {
		fmt.Fprintf(b.env.stdout, "max_running_requests_per_dp=%d\ndp_size=%d\nskip_max_running_requests_threshold=%d\nskip_token_capacity_threshold=%d\n",
			b.server.MaxRunning, b.server.DP, b.server.MaxRunning*b.server.DP, b.server.Capacity)
	}
	var err error
	if b.data, err = c.data(ctx, b.env, b.server); err != nil {
		return err
	}
	b.how = batch.How{
		Temperature: c.Temperature, ReturnLogprob: c.ReturnLogprob, StreamInterval: c.StreamInterval, ParallelBatch: c.ParallelBatch, FakePrefill: c.FakePrefill,
	}
	if !c.SkipWarmup {
		if err := b.warmUp(ctx); err != nil {
			return err
		}
	}
	b.how.CacheHitRate = c.CacheHitRate
	var cases []batch.Case
	for _, bc := range batch.Cases(c.BatchSize, c.InputLen, c.OutputLen) {
		if text := b.server.Skip(b.data.Lengths(bc), c.MultiBatch); text != "" {
			fmt.Fprintln(b.env.stdout, text)
			b.keep.Note(strings.Trim(text, "="))
			b.env.Incomplete()
			continue
		}
		cases = append(cases, bc)
	}
	if len(cases) == 0 {
		return errors.New("no batch fits the server: give shorter ones")
	}
	err = b.measure(ctx, cases)
	if err == nil && c.Profile {
		err = b.profile(ctx, cases)
	}
	return errors.Join(b.finish(), err)
}

// The warm-up is as long as SGLang's, if what is measured is no shorter.
const warmupInput, warmupOutput = 1024, 16

func (b *batchBench) warmUp(ctx context.Context) error {
	c := b.cmd
	sizes := slices.Clone(c.BatchSize)
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	fmt.Fprintf(b.env.stdout, "======== Warmup Begin ========\nWarmup with batch_size=%s\n", strings.ReplaceAll(fmt.Sprint(sizes), " ", ", "))
	for _, n := range sizes {
		bc := batch.Case{Batch: n, Input: min(warmupInput, slices.Max(c.InputLen)), Output: min(warmupOutput, slices.Max(c.OutputLen))}
		if b.server.Skip(b.data.Lengths(bc), c.MultiBatch) != "" {
			continue
		}
		p, err := b.data.Prompts(ctx, bc)
		if err != nil {
			return err
		}
		if _, err := b.server.Run(ctx, "", p, b.how, nil); err != nil {
			return fmt.Errorf("warm-up: %w", err)
		}
	}
	fmt.Fprintf(b.env.stdout, "======== Warmup End   ========\n\n")
	return nil
}

func (b *batchBench) measure(ctx context.Context, cases []batch.Case) error {
	for _, bc := range cases {
		p, err := b.data.Prompts(ctx, bc)
		if err != nil {
			return err
		}
		r, err := b.server.Run(ctx, b.cmd.RunName, p, b.how, nil)
		if err != nil {
			return err
		}
		b.results = append(b.results, r)
		b.keep.Add(r.Batch(false))
		if err := b.out.add(r); err != nil {
			return err
		}
		fmt.Fprintln(b.env.stdout)
	}
	return nil
}

// profile runs all batches again, with a window of the profiler open. What goes
// wrong with one leaves the others as they are.
func (b *batchBench) profile(ctx context.Context, cases []batch.Case) error {
	for i, bc := range cases {
		r, err := b.profileOne(ctx, bc)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			b.keep.Note(fmt.Sprintf("the traces of %s may be missing: %v", windowName(bc), err))
			b.env.Lack("batch size %d, input_len %d: Error profiling, some profile traces may not be dumped: %v", bc.Batch, bc.Input, err)
		}
		if r == nil {
			continue
		}
		b.results[i].ProfileDir = r.ProfileDir
		b.keep.Add(r.Batch(true))
		if b.cmd.AppendProfiled {
			if err := b.out.add(r); err != nil {
				return err
			}
		}
		fmt.Fprintln(b.env.stdout)
	}
	return nil
}

func (b *batchBench) profileOne(ctx context.Context, bc batch.Case) (*batch.Served, error) {
	p, err := b.data.Prompts(ctx, bc)
	if err != nil {
		return nil, err
	}
	w, err := b.cmd.window(bc)
	if err != nil {
		return nil, err
	}
	var session *torch.Session
	start := func() error {
		session, err = torch.Start(ctx, []torch.Target{{URL: b.server.URL, Header: b.server.Header}}, w, torch.Options{Now: b.env.now, Log: b.env.Line})
		if err == nil {
			fmt.Fprintf(b.env.stdout, "Dump profiling traces to %s\n", filepath.Join(w.OutputDir, session.ID))
		}
		return err
	}
	r, err := b.server.Run(ctx, b.cmd.RunName, p, b.how, start)
	if session == nil {
		return nil, err
	}
	dir := filepath.Join(w.OutputDir, session.ID)
	if ctx.Err() != nil {
		_, err := session.Collect(ctx, dir) // leaves no profiler on
		return nil, err
	}
	// A batch may have fewer steps than the window.
	if stopErr := session.Stop(ctx); err == nil {
		err = stopErr
	}
	if err != nil {
		return r, err
	}
	res, err := session.Collect(ctx, dir)
	if err != nil {
		return r, err
	}
	if res.Incomplete() {
		b.env.Incomplete()
	}
	for _, s := range res.Servers {
		fmt.Fprintf(b.env.stdout, "%s\n", strings.Join(s.Lines(), "\n"))
	}
	b.keep.Capture(windowName(bc), res)
	r.ProfileDir = res.Dir
	return r, nil
}

// finish tells what was measured.
func (b *batchBench) finish() error {
	c := b.cmd
	if err := b.out.Close(); err != nil {
		return err
	}
	if c.ResultFilename != "" && len(b.results) > 0 {
		fmt.Fprintf(b.env.stdout, "Results are saved to %s\n", c.ResultFilename)
	}
	if c.Pydantic != "" {
		if err := b.pydantic(); err != nil {
			return err
		}
	}
	if !c.ShowReport || len(b.results) == 0 {
		return nil
	}
	text := batch.Report{
		Inputs: c.InputLen, Outputs: c.OutputLen, CacheHitRate: c.CacheHitRate, HourlyCost: c.GPUCost * float64(b.server.TP), Profile: c.Profile,
	}.Text(b.results)
	if _, err := io.WriteString(b.env.stdout, text); err != nil {
		return err
	}
	return b.summary(text)
}

// summary appends the table to the page of a job of GitHub's.
func (b *batchBench) summary(text string) error {
	path := os.Getenv("GITHUB_STEP_SUMMARY")
	if b.cmd.NoSummary || path == "" || !slices.Contains([]string{"1", "true"}, strings.ToLower(os.Getenv("SGLANG_IS_IN_CI"))) {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("GITHUB_STEP_SUMMARY: %w", err)
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// nightly is a result as SGLang's nightly jobs read it.
type nightly struct {
	ModelPath         string   `json:"model_path"`
	RunName           string   `json:"run_name"`
	BatchSize         int      `json:"batch_size"`
	InputLen          int      `json:"input_len"`
	OutputLen         int      `json:"output_len"`
	Latency           float64  `json:"latency"`
	InputThroughput   float64  `json:"input_throughput"`
	OutputThroughput  float64  `json:"output_throughput"`
	OverallThroughput float64  `json:"overall_throughput"`
	LastTTFT          float64  `json:"last_ttft"`
	LastGenThroughput float64  `json:"last_gen_throughput"`
	AccLength         float64  `json:"acc_length"`
	ProfileExtend     *string  `json:"profile_link_extend"`
	ProfileDecode     *string  `json:"profile_link_decode"`
	ServerArgs        []string `json:"server_args"`
}

// model is its path, or the name that the server has for it.
func (b *batchBench) model() string {
	told, _ := b.server.Told["model_path"].(string)
	return cmp.Or(b.cmd.ModelPath, b.server.Model, told)
}

func (b *batchBench) pydantic() error {
	rows := []nightly{}
	for _, r := range b.results {
		row := nightly{
			b.model(), r.RunName, r.BatchSize, r.InputLen, r.OutputLen, r.Latency, r.InputThroughput, r.OutputThroughput,
			r.OverallThroughput, r.LastTTFT, r.LastGenThroughput, r.AccLength, nil, nil, b.cmd.ServerArgs,
		}
		if r.ProfileDir != "" {
			row.ProfileExtend, row.ProfileDecode = firstTrace(r.ProfileDir, "extend", "prefill"), firstTrace(r.ProfileDir, "decode")
		}
		rows = append(rows, row)
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	if err := enc.Encode(rows); err != nil {
		return err
	}
	return atomicfile.Named(b.cmd.Pydantic, atomicfile.Write(b.cmd.Pydantic, func(w io.Writer) error {
		_, err := w.Write(text.Bytes())
		return err
	}))
}

// firstTrace is the first rank's trace of a stage; nil: there is none.
func firstTrace(dir string, stages ...string) *string {
	files, _ := filepath.Glob(filepath.Join(dir, "*.trace.json*")) // sorted
	for _, f := range files {
		for _, stage := range stages {
			if base := strings.ToLower(filepath.Base(f)); strings.Contains(base, stage) && !strings.HasPrefix(base, "merged-") {
				return &f
			}
		}
	}
	return nil
}
