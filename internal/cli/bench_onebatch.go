package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/measure/batch"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/serve/launch"
)

// oneBatchCmd is "bench one-batch", SGLang's bench_one_batch.
type oneBatchCmd struct {
	launch.ModelArgs
	unused
	caseFlags
	RunName        string `name:"run-name" default:"default" help:"Is in each row of the results."`
	PromptFile     string `name:"prompt-filename" placeholder:"FILE" help:"A prompt a line, instead of random tokens: the first ones of it, or the last one again until the batch is full. --input-len does not count then."`
	ResultFilename string `name:"result-filename" default:"result.jsonl" help:"Rows are appended to it; empty: to none."`
	Correctness    bool   `name:"correctness-test" help:"Instead of measuring, hold three ways to the same tokens against each other: prompts computed in two pieces, at once, and together with their output."`
	CutLen         int    `name:"cut-len" default:"4" help:"Tokens of the first piece."`
	LogDecodeStep  int    `name:"log-decode-step" default:"0" help:"Print every Nth decode step, beside the first five."`

	Profile           bool     `name:"profile" help:"Record rank 0 and print its operators. Traces are below SGLANG_TORCH_PROFILER_DIR, else /tmp."`
	ProfileShapes     bool     `name:"profile-record-shapes" help:"With the shapes of inputs."`
	ProfileActivities []string `name:"profile-activities" default:"CPU,GPU" help:"CPU, GPU or both."`
	ProfileStage      string   `name:"profile-stage" enum:"all,prefill,decode" default:"all" help:"all, prefill or decode."`
	ProfilePrefix     string   `name:"profile-prefix" aliases:"profile-filename-prefix" default:"profile" help:"Begins the names of the traces."`
	ProfileStart      *int     `name:"profile-start-step" placeholder:"N" help:"First decode step to record, from 0; default: half of the output length."`
	ProfileSteps      *int     `name:"profile-steps" placeholder:"N" help:"Decode steps to record; default: 1."`

	storeFlags
}

// caseFlags are the lengths of batches.
type caseFlags struct {
	BatchSize []int `name:"batch-size" default:"1" help:"Sequences of a batch; several values make several batches."`
	InputLen  []int `name:"input-len" default:"1024" help:"Prompt tokens of a sequence."`
	OutputLen []int `name:"output-len" default:"16" help:"Tokens to generate."`
}

func (f *caseFlags) check() error {
	for _, l := range []struct {
		flag   string
		values []int
	}{{"--batch-size", f.BatchSize}, {"--input-len", f.InputLen}, {"--output-len", f.OutputLen}} {
		for _, v := range l.values {
			if v < 1 || v > 1<<24 {
				return usagef("%s %d: give 1 or more", l.flag, v)
			}
		}
	}
	return nil
}

// unused is what SGLang's command lines bring along and the embedded engine has no
// use for.
type unused struct {
	TrustRemoteCode  bool   `name:"trust-remote-code" hidden:""`
	DisableOverlap   bool   `name:"disable-overlap-schedule" hidden:""`
	Device           string `name:"device" hidden:""`
	AttentionBackend string `name:"attention-backend" hidden:""`
	LogLevel         string `name:"log-level" hidden:""`
	Host             string `name:"host" hidden:""`
	Port             int    `name:"port" hidden:""`
	EnableMetrics    bool   `name:"enable-metrics" hidden:""`
	LogInterval      int    `name:"decode-log-interval" hidden:""`
}

// Help is the end of the verb's help text.
func (c *oneBatchCmd) Help() string {
	return `Measures prefill and decode of single batches on the engine in this process, without server and scheduler: a warm-up, then all
combinations of the lengths. Batches that do not fit the KV cache are skipped (exit status 3).

Examples:
  stepscope bench one-batch --model-path builtin:llama-tiny --batch-size 1 16 64 --input-len 256 512 --output-len 32
  stepscope bench one-batch --model-path builtin:llama-tiny --tp-size 2 --profile --profile-steps 3
  stepscope bench one-batch --model-path builtin:llama-tiny --correctness-test`
}

// Run measures.
func (c *oneBatchCmd) Run(ctx context.Context, e *env) (err error) {
	profile, err := c.check()
	if err != nil {
		return err
	}
	texts, err := c.readPrompts()
	if err != nil {
		return err
	}
	if profile != nil {
		if err := profile.Check(); err != nil {
			return err
		}
	}
	if c.Correctness {
		return c.correct(ctx, e, texts)
	}
	out, err := openResults("--result-filename", c.ResultFilename)
	if err != nil {
		return err
	}
	defer out.Close()
	keep, err := c.batches(e, runs.About{Tool: "bench one-batch", Backend: "engine", Model: c.ModelPath})
	if err != nil {
		return err
	}
	defer func() { err = e.kept(ctx, keep, err) }()
	m, err := launch.Open(c.ModelArgs, e.Line)
	if err != nil {
		return err
	}
	defer m.Close()
	keep.Server(c.Map())
	prompts, err := encode(m, texts)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "max_total_num_tokens=%d\n", m.Capacity)
	cases, seqs, tokens := c.fitting(e, m, prompts, keep.Note)
	if len(cases) == 0 {
		return errors.New("no batch fits: give shorter ones, or --max-total-tokens")
	}
	ranks, err := m.Ranks(seqs, tokens)
	if err != nil {
		return err
	}
	defer ranks.Close()
	b := batch.Bench{Ranks: ranks, Vocab: m.Vocab, Seed: uint64(c.Seed), Out: e.stdout, Warn: e.Lack}
	fmt.Fprintln(e.stdout, "Warmup ...")
	warm := cases[0]
	warm.Output = min(32, warm.Output)
	if _, err := b.Run(ctx, "", warm, c.batch(e, prompts, warm.Batch, false)); err != nil {
		return err
	}
	b.LogDecodeStep, b.Profile = c.LogDecodeStep, profile
	b.Saved = func(bc batch.Case, stage, path string) {
		keep.Trace(windowName(bc)+"_"+stage, path, firstRank(stage))
	}
	fmt.Fprintln(e.stdout, "Benchmark ...")
	for _, bc := range cases {
		r, err := b.Run(ctx, c.RunName, bc, c.batch(e, prompts, bc.Batch, true))
		if err == nil {
			keep.Add(r.Batch(profile != nil))
			err = out.add(r)
		}
		if err != nil {
			return err
		}
	}
	return out.Close()
}

// check looks at the values.
func (c *oneBatchCmd) check() (*batch.Profile, error) {
	if err := c.Check(); err != nil {
		return nil, usagef("%v", err)
	}
	if err := c.caseFlags.check(); err != nil {
		return nil, err
	}
	if c.DP > 1 {
		return nil, usagef("--dp-size %d: one batch runs on one replica; leave it out", c.DP)
	}
	if c.CutLen < 0 || c.LogDecodeStep < 0 {
		return nil, usagef("--cut-len %d, --log-decode-step %d: they cannot be negative", c.CutLen, c.LogDecodeStep)
	}
	p := &batch.Profile{
		Dir: cmp.Or(os.Getenv("SGLANG_TORCH_PROFILER_DIR"), "/tmp"), Prefix: c.ProfilePrefix, Stage: c.ProfileStage, Shapes: c.ProfileShapes,
		CPU: slices.Contains(c.ProfileActivities, "CPU"), GPU: slices.Contains(c.ProfileActivities, "GPU"), Start: -1, Steps: 1,
	}
	for _, a := range c.ProfileActivities {
		if a != "CPU" && a != "GPU" {
			return nil, usagef("--profile-activities %s: the embedded engine records CPU and GPU", a)
		}
	}
	if c.ProfileStart != nil {
		p.Start = *c.ProfileStart
	}
	if c.ProfileSteps != nil {
		p.Steps = *c.ProfileSteps
	}
	switch {
	case c.ProfileStart != nil && p.Start < 0, p.Steps < 1:
		return nil, usagef("--profile-start-step is 0 or more, --profile-steps 1 or more")
	case strings.ContainsAny(c.ProfilePrefix, `/\`):
		return nil, usagef("--profile-prefix %q: it is part of a file name; the directory is SGLANG_TORCH_PROFILER_DIR", c.ProfilePrefix)
	case !c.Profile:
		return nil, nil
	}
	return p, nil
}

// fitting are the cases that can run, and what the largest of them need. note is
// told of the others.
func (c *oneBatchCmd) fitting(e *env, m *launch.Model, prompts [][]int32, note func(string)) (fit []batch.Case, seqs, tokens int) {
	inputs := c.InputLen
	if len(prompts) > 0 {
		inputs = []int{longest(prompts)}
	}
	room := batch.Room{Capacity: m.Capacity, ContextLen: m.ContextLen}
	for _, bc := range batch.Cases(c.BatchSize, inputs, c.OutputLen) {
		if why := room.Skip(bc); why != "" {
			fmt.Fprintln(e.stdout, why)
			note(why)
			e.Incomplete()
			continue
		}
		fit = append(fit, bc)
		seqs, tokens = max(seqs, bc.Batch), max(tokens, bc.Batch*bc.Input)
	}
	return fit, seqs, tokens
}

func longest(prompts [][]int32) int {
	most := 0
	for _, p := range prompts {
		most = max(most, len(p))
	}
	return most
}

// batch makes the prompts of a file fill a batch; nil: there is no file.
func (c *oneBatchCmd) batch(e *env, prompts [][]int32, n int, say bool) [][]int32 {
	have := len(prompts)
	if have == 0 {
		return nil
	}
	switch {
	case !say || have == n:
	case have > n:
		fmt.Fprintf(e.stdout, "Custom input size (%d) is larger than batch_size (%d). Using the first %d prompts.\n", have, n, n)
	default:
		fmt.Fprintf(e.stdout, "Custom input size (%d) is smaller than batch_size (%d). Pad to the desired batch_size with the last prompt.\n", have, n)
	}
	out := make([][]int32, n)
	for i := range out {
		out[i] = prompts[min(i, have-1)]
	}
	return out
}

func (c *oneBatchCmd) readPrompts() ([]string, error) {
	if c.PromptFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(c.PromptFile)
	if err != nil {
		return nil, fmt.Errorf("--prompt-filename: %w", err)
	}
	var out []string
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			out = append(out, string(line))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("--prompt-filename %s: there is no prompt in it", c.PromptFile)
	}
	return out, nil
}

func encode(m *launch.Model, texts []string) ([][]int32, error) {
	tok := m.PlainTokenizer()
	if tok == nil && len(texts) > 0 {
		return nil, errors.New("prompts need a tokenizer: leave out --skip-tokenizer-init")
	}
	var out [][]int32
	for _, t := range texts {
		out = append(out, tok.Encode(t, true))
	}
	return out, nil
}

// correct is --correctness-test; its prompts are SGLang's.
func (c *oneBatchCmd) correct(ctx context.Context, e *env, texts []string) error {
	if texts == nil {
		texts = []string{"The capital of France is", "The capital of the United Kindom is", "Today is a sunny day and I like"}
	} else if n := c.BatchSize[0]; len(texts) > n {
		e.Warn("Custom input size (%d) is larger than batch_size (%d). Using the first %d prompts.", len(texts), n, n)
		texts = texts[:n]
	}
	m, err := launch.Open(c.ModelArgs, e.Line)
	if err != nil {
		return err
	}
	defer m.Close()
	prompts, err := encode(m, texts)
	if err != nil {
		return err
	}
	bc := batch.Case{Batch: len(prompts), Input: longest(prompts), Output: c.OutputLen[0]}
	if why := (batch.Room{Capacity: m.Capacity, ContextLen: m.ContextLen}).Skip(bc); why != "" {
		return errors.New(why)
	}
	fmt.Fprintf(e.stdout, "max_total_num_tokens=%d\n", m.Capacity)
	ranks, err := m.Ranks(bc.Batch, bc.Tokens())
	if err != nil {
		return err
	}
	defer ranks.Close()
	b := batch.Bench{Ranks: ranks, Vocab: m.Vocab, Out: e.stdout, Warn: e.Lack}
	tok := m.PlainTokenizer()
	return b.Check(ctx, batch.Correct{
		Prompts: prompts, CutLen: c.CutLen, Output: bc.Output, Text: func(ids []int32) string { return tok.Decode(ids, false) },
	})
}
