package cli

import (
	"context"
	"encoding/json"
	"os"
	"slices"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/measure/workload"
	"github.com/stepscope/stepscope/internal/reference/launch"
	"github.com/stepscope/stepscope/internal/reference/offline"
	"github.com/stepscope/stepscope/internal/reference/onebatch"
	"github.com/stepscope/stepscope/internal/runs"
)

// offlineCmd is "bench offline", SGLang's bench_offline_throughput.
type offlineCmd struct {
	launch.ModelArgs `group:"More model flags"`
	foreign
	datasetFlags   `group:"More data set flags"`
	Backend        string   `name:"backend" enum:"engine,runtime" default:"engine" help:"engine: requests go directly to the engine; runtime: over HTTP to a server in this process."`
	ResultFilename string   `name:"result-filename" placeholder:"FILE" help:"Append a row to this file."`
	NoIgnoreEOS    bool     `name:"disable-ignore-eos" help:"Let outputs end where the model ends them."`
	Extra          string   `name:"extra-request-body" placeholder:"JSON" help:"Sampling parameters, which override those of the data set."`
	ReturnLogprob  bool     `name:"return-logprob" help:"Ask for log probabilities."`
	LogprobStart   int      `name:"logprob-start-len" limits:"-1.." default:"-1" help:"First prompt token to get log probabilities for; -1: output only."`
	SkipWarmup     bool     `name:"skip-warmup" help:"Skip the warm-up, which is up to 16 random prompts of 256 tokens."`
	Profile        bool     `name:"profile" help:"Record all ranks for the whole run into SGLANG_TORCH_PROFILER_DIR, which must be set. Use few prompts. SGLANG_PROFILE_WITH_STACK=false and SGLANG_PROFILE_RECORD_SHAPES=false leave out stacks and shapes."`
	Activities     []string `name:"profile-activities" default:"CPU,GPU" help:"CPU, GPU or both."`
	DoNotExit      bool     `name:"do-not-exit" help:"Wait for an interrupt after the benchmark."`

	storeFlags
}

// Help returns the end of the verb's help text.
func (c *offlineCmd) Help() string {
	return `Passes all requests of a data set to the engine in this process at once, and measures how long it takes. Nothing is downloaded.

Examples:
  stepscope bench offline --model-path builtin:llama-tiny --dataset-name random --num-prompts 100 --random-input-len 256 --random-output-len 64
  stepscope bench offline --model-path builtin:llama-tiny --dataset-path ShareGPT_V3_unfiltered_cleaned_split.json --num-prompts 50`
}

// Run measures the throughput.
func (c *offlineCmd) Run(ctx context.Context, e *env) error {
	c.sayForeign(e)
	sampling, dir, err := c.check()
	if err != nil {
		return err
	}
	b := &offline.Benchmark{
		Model: c.ModelArgs, Backend: c.Backend, Spec: c.spec("", c.prompts(0)), SkipWarmup: c.SkipWarmup, IgnoreEOS: !c.NoIgnoreEOS, Sampling: sampling,
		Logprob: c.ReturnLogprob, LogprobStart: c.LogprobStart, ProfileDir: dir, Activities: c.activities(), NoStack: !inWindows("SGLANG_PROFILE_WITH_STACK"), NoShapes: !inWindows("SGLANG_PROFILE_RECORD_SHAPES"),
		Version: release(), Out: e.stdout, Say: e.Console,
	}
	err = c.batches(ctx, e, runs.About{Tool: "bench offline", Backend: c.Backend, Model: c.ModelPath}, c.ResultFilename, b.Measure)
	if err == nil && c.DoNotExit {
		e.Line("done; waiting for an interrupt (--do-not-exit)")
		<-ctx.Done()
	}
	return err
}

// check validates the flags.
func (c *offlineCmd) check() (sampling map[string]json.RawMessage, profileDir string, err error) {
	if err := c.Check(); err != nil {
		return nil, "", usagef("%v", err)
	}
	if c.Extra != "" {
		if err := json.Unmarshal([]byte(c.Extra), &sampling); err != nil {
			return nil, "", usagef("--extra-request-body: no JSON object; give one such as '{\"top_p\": 0.9}'")
		}
	}
	if slices.Contains([]string{"image", "mmmu", "openai", "mooncake", workload.TimedTrace, "agentic-trace"}, c.DatasetName) {
		return nil, "", usagef("--dataset-name %s: it has more than text prompts; give sharegpt, random, generated-shared-prefix or another text data set", c.DatasetName)
	}
	if c.Profile {
		profileDir = os.Getenv("SGLANG_TORCH_PROFILER_DIR")
		if profileDir == "" {
			return nil, "", usagef("--profile: set SGLANG_TORCH_PROFILER_DIR to the directory for the traces")
		}
		if err := hostAndGPU(c.Activities); err != nil {
			return nil, "", err
		}
		p := onebatch.Profile{Dir: profileDir}
		err = p.Check()
	}
	return sampling, profileDir, err
}

func (c *offlineCmd) activities() (a api.Activity) {
	if slices.Contains(c.Activities, "CPU") {
		a |= api.ActivityCPU
	}
	if slices.Contains(c.Activities, "GPU") {
		a |= api.ActivityGPU
	}
	return a
}
