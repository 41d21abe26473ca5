package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/measure/batch"
	"github.com/stepscope/stepscope/internal/measure/experiment"
	"github.com/stepscope/stepscope/internal/reference/embedded"
	"github.com/stepscope/stepscope/internal/reference/launch"
	"github.com/stepscope/stepscope/internal/runs"
)

// batchServerCmd is "bench one-batch-server", SGLang's bench_one_batch_server.
type batchServerCmd struct {
	launch.ModelArgs `group:"More model flags"`
	foreign
	caseFlags
	batchDataFlags    `group:"More batch flags"`
	batchProfileFlags `group:"More trace flags"`
	BaseURL           string `name:"url" aliases:"base-url" placeholder:"URL" help:"URL of a running server, overriding --host and --port; without it, a server starts in this process with the model flags."`
	Backend           string `name:"backend" enum:"sglang,vllm" default:"sglang" help:"API of the server: sglang or vllm."`
	APIKey            string `name:"api-key" env:"STEPSCOPE_API_KEY" placeholder:"KEY" help:"Key of the server; default: OPENAI_API_KEY or API_KEY."`
	APIKeyFile        string `name:"api-key-file" into:"api-key" placeholder:"FILE" help:"File that holds only the server's key, for --api-key."`

	RunName        string  `name:"run-name" default:"default" help:"Name written into each row of the results."`
	Temperature    float64 `name:"temperature" limits:"0.." default:"0" help:"0 is greedy."`
	ReturnLogprob  bool    `name:"return-logprob" help:"Ask for log probabilities."`
	StreamInterval int     `name:"client-stream-interval" limits:"1.." default:"1" help:"Tokens per chunk."`
	ParallelBatch  bool    `name:"parallel-batch" help:"Have the server take a batch in parallel."`
	FakePrefill    bool    `name:"fake-prefill" help:"The server only decodes (--disaggregation-transfer-backend fake)."`
	CacheHitRate   float64 `name:"cache-hit-rate" limits:"0..1" default:"0" help:"Share of each prompt to send beforehand, so that it is in the cache (0 to 1)."`
	MultiBatch     bool    `name:"enable-multi-batch" help:"Allow batches larger than the server runs at once; only the overall throughput is meaningful then."`
	SkipWarmup     bool    `name:"skip-warmup" help:"Skip the warm-up, which is a batch of each size."`
	AnyCapacity    bool    `name:"skip-token-capacity-check" help:"Also send batches with more tokens than the server reports room for."`
	StopAtEOS      bool    `name:"disable-ignore-eos" without:"backend=vllm|fake-prefill|client-stream-interval!=1: each sequence's tokens are counted as they come" help:"Let sequences end where the model ends them; use the steady-state figures then."`
	FlushStorage   bool    `name:"flush-hicache-storage" needs:"url: an SGLang server with such a cache" without:"backend=vllm: vLLM has no such cache" help:"Before each batch, also empty the storage tier of the server's hierarchical cache."`

	ResultFilename string   `name:"result-filename" placeholder:"FILE" help:"Append rows to this file; default: only the run keeps them (batches.jsonl)."`
	Pydantic       string   `name:"pydantic-result-filename" placeholder:"FILE" help:"Write all results as a JSON list, in the format that SGLang's nightly jobs read."`
	ServerArgs     []string `name:"server-args-for-metrics" sep:"none" placeholder:"ARG" help:"Launch arguments of the server, to record in that list."`
	ShowReport     bool     `name:"show-report" help:"Print a table for GitHub, with costs."`
	GPUCost        float64  `name:"gpu-hour-cost" limits:"0.." default:"2" help:"Dollars per GPU hour, for the table; SGLang uses 2 for an H100 and 4 for a B200."`
	NoSummary      bool     `name:"no-append-to-github-summary" help:"Do not append the table to GITHUB_STEP_SUMMARY (in CI: SGLANG_IS_IN_CI)."`

	storeFlags

	limited bool // whether --max-running-requests is given
}

// batchDataFlags define the prompts.
type batchDataFlags struct {
	Dataset       string   `name:"dataset-name" enum:"random,random-ids,generated-shared-prefix,mmmu" default:"random" help:"random, random-ids or generated-shared-prefix."`
	DatasetPath   string   `name:"dataset-path" placeholder:"FILE" help:"ShareGPT file to sample from, for random; default: random tokens."`
	Seed          int64    `name:"seed" default:"42" help:"Seed of the prompts."`
	LenStep       float64  `name:"input-len-step-percentage" limits:"0.." default:"0" without:"fixed-prompt-file|dataset-name=generated-shared-prefix: it varies the lengths of the data sets random and random-ids" help:"Step from one prompt length of a batch to the next, as a share of --input-len."`
	Lens          []int    `name:"input-len-list" limits:"1..16777216" placeholder:"N,N" needs:"dataset-name=random|dataset-name=random-ids: it sets the lengths of their prompts" without:"fixed-prompt-file|input-len-step-percentage: both set the lengths of prompts" help:"Prompt lengths of a batch, used in turn, instead of --input-len (random, random-ids)."`
	PromptFile    string   `name:"fixed-prompt-file" placeholder:"FILE" help:"File whose text is the prompt of all sequences."`
	ChatTemplate  bool     `name:"apply-chat-template" needs:"fixed-prompt-file: the data sets generate token ids" help:"Apply the model's chat template to it."`
	TokenizerPath string   `name:"local-tokenizer-path" placeholder:"PATH" help:"Directory of a tokenizer.json; default: the one that the server names, else its /tokenize."`
	Groups        int      `name:"gsp-num-groups" default:"1" limits:"1.." help:"generated-shared-prefix: groups, each with its own prefix."`
	SystemLen     int      `name:"gsp-system-prompt-len" default:"2048" limits:"1.." help:"Tokens per prefix."`
	QuestionLen   int      `name:"gsp-question-len" default:"128" limits:"1.." help:"Tokens per question after the prefix."`
	GSPOutput     int      `name:"gsp-output-len" default:"256" limits:"1.." help:"Tokens to generate, instead of --output-len."`
	LoRAName      []string `name:"lora-name" placeholder:"NAME" help:"LoRA adapters to choose from."`
	LoRADist      string   `name:"lora-request-distribution" enum:"uniform,distinct,skewed" default:"uniform" help:"How adapters are chosen: uniform, distinct or skewed."`
	LoRAAlpha     float64  `name:"lora-zipf-alpha" default:"1.1" help:"skewed: how many times as often each adapter is chosen as the next."`
}

// BeforeReset makes --model-path optional if a server is given. It also records whether --max-running-requests is
// given: without the flag, a server that this verb starts can run the largest batch.
func (c *batchServerCmd) BeforeReset(k *kong.Context, e *env) error {
	c.limited = given(k, "max-running-requests")
	url, err := e.valueFor(k, k.Selected(), "url")
	for _, f := range k.Flags() {
		if f.Name == "model-path" && (given(k, "url") || url != "") {
			f.Required = false
		}
	}
	return err
}

// Help returns the end of the verb's help text.
func (c *batchServerCmd) Help() string {
	return `Sends a whole batch to a server in one request, and measures the time until the last sequence has its first token and until all are done.
The cache is flushed before each batch. With --profile, a second pass over all batches is recorded. Recording slows it down, so its rows
are not appended to the results, unlike in SGLang's tool; --append-profiled appends them.

Examples:
  stepscope bench one-batch-server --url http://localhost:30000 --batch-size 1 16 64 --input-len 1024 --output-len 8
  stepscope bench one-batch-server --model-path builtin:llama-tiny --tp-size 2 --batch-size 8 --show-report
  stepscope bench one-batch-server --url http://localhost:30000 --batch-size 16 --profile --profile-by-stage`
}

// Run measures the batches.
func (c *batchServerCmd) Run(ctx context.Context, e *env) error {
	c.sayForeign(e)
	if err := c.check(); err != nil {
		return err
	}
	if c.Pydantic != "" { // fail now, not after the batches
		if err := atomicfile.TryFile(c.Pydantic); err != nil {
			return fmt.Errorf("--pydantic-result-filename: nothing can be written there: %w", err)
		}
	}
	about := runs.About{Tool: "bench one-batch-server", Backend: c.Backend, URL: c.BaseURL, Model: c.ModelPath}
	return c.batches(ctx, e, about, c.ResultFilename, func(ctx context.Context, keep *experiment.Batches) error {
		asked, stop, err := c.server(ctx, e)
		if err != nil {
			return err
		}
		return errors.Join(c.remote(e, asked).Measure(ctx, keep), stop())
	})
}

// remote returns the benchmark to run on a server.
func (c *batchServerCmd) remote(e *env, asked *client.Server) *batch.Remote {
	r := &batch.Remote{
		Server: &batch.Server{Server: asked, VLLM: c.Backend == "vllm", Out: e.stdout}, Sessions: c.windows(),
		Data: batch.Data{
			Dataset: c.Dataset, Path: c.DatasetPath, Seed: c.batchDataFlags.Seed, Step: c.LenStep, Lens: c.Lens, Groups: c.Groups, SystemLen: c.SystemLen,
			QuestionLen: c.QuestionLen, OutputLen: c.GSPOutput, File: c.PromptFile, ChatTemplate: c.ChatTemplate,
			LoRANames: c.LoRAName, LoRADistribution: c.LoRADist, LoRAAlpha: c.LoRAAlpha,
		},
		How: batch.How{
			Temperature: c.Temperature, ReturnLogprob: c.ReturnLogprob, StreamInterval: c.StreamInterval, ParallelBatch: c.ParallelBatch,
			FakePrefill: c.FakePrefill, CacheHitRate: c.CacheHitRate, StopAtEOS: c.StopAtEOS, FlushStorage: c.FlushStorage,
		},
		Grid: c.grid(), Name: c.RunName, ModelPath: c.ModelPath, TokenizerPath: c.batchDataFlags.TokenizerPath, Several: c.MultiBatch,
		SkipWarmup: c.SkipWarmup, AnyCapacity: c.AnyCapacity, Profile: c.Profile, Window: c.window, AppendProfiled: c.AppendProfiled,
		ResultName: c.ResultFilename, Nightly: c.Pydantic, ServerArgs: c.ServerArgs,
		Summary: !c.NoSummary && slices.Contains([]string{"1", "true"}, strings.ToLower(os.Getenv("SGLANG_IS_IN_CI"))),
		Say:     e.Console,
	}
	if c.ShowReport {
		r.Report = &batch.Report{Inputs: c.InputLen, Outputs: c.OutputLen, CacheHitRate: c.CacheHitRate, HourlyCost: c.GPUCost, StopAtEOS: c.StopAtEOS, Profile: c.Profile}
	}
	return r
}

func (c *batchServerCmd) check() error {
	if c.BaseURL == "" {
		if c.Backend == "vllm" {
			return usagef("--backend vllm: give the server with --url")
		}
		if err := c.Check(); err != nil {
			return usagef("%v", err)
		}
	}
	if len(c.Lens) > 0 && len(c.InputLen) > 1 {
		return usagef("--input-len-list sets the lengths of prompts: give one --input-len")
	}
	return c.batchProfileFlags.check()
}

// server returns the server to measure. stop ends the server if this verb has started it.
func (c *batchServerCmd) server(ctx context.Context, e *env) (*client.Server, func() error, error) {
	if c.BaseURL != "" {
		s, err := client.New(c.BaseURL, client.KeyHeader(c.APIKey))
		if err != nil {
			return nil, nil, usagef("%v", err)
		}
		return s, func() error { return nil }, nil
	}
	most := slices.Max(c.BatchSize)
	if !c.limited {
		c.MaxRunningRequests = max(c.MaxRunningRequests, (most-1)/c.DP+1)
	}
	c.MaxQueuedRequests = max(c.MaxQueuedRequests, most)
	s, err := embedded.Start(ctx, c.ModelArgs, most, release(), e.Line)
	if err != nil {
		return nil, nil, err
	}
	return s.Server, s.Close, nil
}

// batchProfileFlags are the flags of the second pass, which is recorded.
type batchProfileFlags struct {
	Profile           bool     `name:"profile" help:"Measure, then record a second pass."`
	ProfileActivities []string `name:"profile-activities" default:"CPU,GPU" help:"Activities to record: CPU, GPU, XPU."`
	ProfileStart      int64    `name:"profile-start-step" placeholder:"N" help:"Forward count since the server's start at which recording begins."`
	ProfileSteps      int      `name:"profile-steps" limits:"1.." default:"5" help:"Steps to record, per stage with --profile-by-stage."`
	ProfileByStage    bool     `name:"profile-by-stage" help:"Record prefill and decode separately."`
	ProfilePrefix     string   `name:"profile-prefix" placeholder:"NAME" help:"Prefix of the trace names, before bs-<batch>-il-<input>."`
	ProfileOutputDir  string   `name:"profile-output-dir" placeholder:"DIR" help:"Directory on the server; default: SGLANG_TORCH_PROFILER_DIR here, else the server's, else /tmp."`
	AppendProfiled    bool     `name:"append-profiled" help:"Also append the rows of the recorded pass to the results."`
}

func (f *batchProfileFlags) window(c batch.Case) (torch.Window, error) {
	dir, err := profilesDir(f.ProfileOutputDir)
	return torch.Window{
		OutputDir: dir, Prefix: fmt.Sprintf("%sbs-%d-il-%d", f.ProfilePrefix, c.Batch, c.Input), StartStep: f.ProfileStart, NumSteps: f.ProfileSteps,
		Activities: f.ProfileActivities, ByStage: f.ProfileByStage,
	}, err
}

func (f *batchProfileFlags) check() error {
	w, err := f.window(batch.Case{})
	if err == nil {
		err = w.Check()
	}
	if err != nil {
		return usagef("%v", err)
	}
	return nil
}
