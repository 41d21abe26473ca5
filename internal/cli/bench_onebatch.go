package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/httpguard"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/measure/batch"
	"github.com/stepscope/stepscope/internal/measure/workload"
	"github.com/stepscope/stepscope/internal/reference/launch"
	"github.com/stepscope/stepscope/internal/reference/onebatch"
	"github.com/stepscope/stepscope/internal/runs"
)

// oneBatchCmd is "bench one-batch", SGLang's bench_one_batch.
type oneBatchCmd struct {
	launch.ModelArgs `group:"More model flags"`
	foreign
	caseFlags
	RunName        string `name:"run-name" default:"default" help:"Name written into each row of the results."`
	PromptFile     string `name:"prompt-filename" placeholder:"FILE" help:"Prompts, one per line, instead of random tokens: the first ones, with the last one repeated until the batch is full. --input-len is then ignored."`
	ResultFilename string `name:"result-filename" placeholder:"FILE" help:"Append rows to this file; default: only the run keeps them (batches.jsonl)."`
	Correctness    bool   `name:"correctness-test" help:"Instead of measuring, compare three ways to compute the same tokens: prompts in two pieces, in one piece, and together with their output."`
	CutLen         int    `name:"cut-len" default:"4" limits:"0.." help:"Tokens of the first piece."`
	LogDecodeStep  int    `name:"log-decode-step" default:"0" limits:"0.." help:"Print every Nth decode step, in addition to the first five."`

	Profile           bool     `name:"profile" help:"Record rank 0 and print its operators. Traces go below SGLANG_TORCH_PROFILER_DIR, else /tmp."`
	ProfileShapes     bool     `name:"profile-record-shapes" help:"Record the shapes of inputs."`
	ProfileActivities []string `name:"profile-activities" default:"CPU,GPU" help:"CPU, GPU or both."`
	ProfileStage      string   `name:"profile-stage" enum:"all,prefill,decode" default:"all" help:"Stages to record: all, prefill or decode."`
	ProfilePrefix     string   `name:"profile-prefix" aliases:"profile-filename-prefix" default:"profile" help:"Prefix of the trace names."`
	ProfileStart      *int     `name:"profile-start-step" placeholder:"N" limits:"0.." help:"First decode step to record, from 0; default: half of the output length."`
	ProfileSteps      *int     `name:"profile-steps" placeholder:"N" limits:"1.." help:"Decode steps to record; default: 1."`

	storeFlags
}

// caseFlags define the sizes of batches.
type caseFlags struct {
	BatchSize []int `name:"batch-size" limits:"1..16777216" default:"1" help:"Sequences per batch; several values make several batches."`
	InputLen  []int `name:"input-len" limits:"1..16777216" default:"1024" help:"Prompt tokens per sequence."`
	OutputLen []int `name:"output-len" limits:"1..16777216" default:"16" help:"Tokens to generate per sequence."`
}

func (f *caseFlags) grid() batch.Grid {
	return batch.Grid{Batches: f.BatchSize, Inputs: f.InputLen, Outputs: f.OutputLen}
}

// Help returns the end of the verb's help text.
func (c *oneBatchCmd) Help() string {
	return `Measures prefill and decode of single batches on the engine in this process, without a server or scheduler: a warm-up, then all
combinations of the lengths. Batches that do not fit the KV cache are skipped (exit status 3).

Examples:
  stepscope bench one-batch --model-path builtin:llama-tiny --batch-size 1 16 64 --input-len 256 512 --output-len 32
  stepscope bench one-batch --model-path builtin:llama-tiny --tp-size 2 --profile --profile-steps 3
  stepscope bench one-batch --model-path builtin:llama-tiny --correctness-test`
}

// Run measures the batches.
func (c *oneBatchCmd) Run(ctx context.Context, e *env) error {
	c.sayForeign(e)
	profile, err := c.check()
	if err != nil {
		return err
	}
	l := &onebatch.Local{
		Model: c.ModelArgs, Grid: c.grid(), Name: c.RunName, LogDecodeStep: c.LogDecodeStep, Profile: profile, Out: e.stdout, Say: e.Console,
	}
	if l.Texts, err = c.readPrompts(); err != nil {
		return err
	}
	if profile != nil {
		if err := profile.Check(); err != nil {
			return err
		}
	}
	if c.Correctness {
		return l.Correct(ctx, c.CutLen)
	}
	return c.batches(ctx, e, runs.About{Tool: "bench one-batch", Backend: "engine", Model: c.ModelPath}, c.ResultFilename, l.Measure)
}

// inWindows reports whether windows include a kind of data, according to one of SGLang's environment variables. The
// default of the variable is true.
func inWindows(name string) bool { return httpguard.EnvBool(os.Getenv(name), true) }

// hostAndGPU validates --profile-activities for an engine that runs in this process.
func hostAndGPU(activities []string) error {
	for _, a := range activities {
		if a != "CPU" && a != "GPU" {
			return usagef("--profile-activities %s: the embedded engine records CPU and GPU", a)
		}
	}
	return nil
}

// check validates the flags.
func (c *oneBatchCmd) check() (*onebatch.Profile, error) {
	if err := c.Check(); err != nil {
		return nil, usagef("%v", err)
	}
	if c.DP > 1 {
		return nil, usagef("--dp-size %d: one batch runs on one replica; leave it out", c.DP)
	}
	p := &onebatch.Profile{
		Dir: torch.OutputDir(""), Prefix: c.ProfilePrefix, Stage: c.ProfileStage, Shapes: c.ProfileShapes && inWindows("SGLANG_PROFILE_RECORD_SHAPES"),
		NoStack: !inWindows("SGLANG_PROFILE_WITH_STACK"),
		CPU:     slices.Contains(c.ProfileActivities, "CPU"), GPU: slices.Contains(c.ProfileActivities, "GPU"), Start: -1, Steps: 1,
	}
	if err := hostAndGPU(c.ProfileActivities); err != nil {
		return nil, err
	}
	if c.ProfileStart != nil {
		p.Start = *c.ProfileStart
	}
	if c.ProfileSteps != nil {
		p.Steps = *c.ProfileSteps
	}
	if strings.ContainsAny(c.ProfilePrefix, `/\`) {
		return nil, usagef("--profile-prefix %q: it is part of a file name; the directory is SGLANG_TORCH_PROFILER_DIR", c.ProfilePrefix)
	}
	if !c.Profile {
		return nil, nil
	}
	return p, nil
}

func (c *oneBatchCmd) readPrompts() ([]string, error) {
	if c.PromptFile == "" {
		return nil, nil
	}
	out, err := workload.Prompts(c.PromptFile)
	if err != nil {
		return nil, fmt.Errorf("--prompt-filename: %w", err)
	}
	return out, nil
}
