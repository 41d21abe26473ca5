package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/measure/imageload"
	"github.com/stepscope/stepscope/internal/runs"
)

// benchDiffusionCmd is "bench diffusion", the counterpart of bench_serving in SGLang's multimodal_gen.
type benchDiffusionCmd struct {
	serverFlags
	Model       string `name:"model" default:"default" placeholder:"NAME" help:"Name of the model, if the server does not report it."`
	Task        string `name:"task" placeholder:"TASK" help:"Default: as the model or the server reports. Only text-to-image is measured."`
	Dataset     string `name:"dataset" enum:"vbench,random" default:"vbench" help:"vbench: prompts of --dataset-path, or one fixed prompt; random: numbered prompts."`
	DatasetPath string `name:"dataset-path" placeholder:"FILE" help:"One prompt a line; nothing is downloaded."`
	NumPrompts  int    `name:"num-prompts" limits:"1.." default:"10" help:"Number of requests."`
	Outputs     int    `name:"num-outputs-per-prompt" limits:"1..10" default:"1" help:"Pictures per request."`
	Concurrency int    `name:"max-concurrency" limits:"0.." default:"1" help:"Maximum number of requests in flight; 0: no limit."`
	RequestRate rate   `name:"request-rate" default:"inf" help:"Requests per second; inf: all at once."`
	Width       int    `name:"width" limits:"0.." placeholder:"PIXELS" help:"Width; default: the model's."`
	Height      int    `name:"height" limits:"0.." placeholder:"PIXELS" help:"Height."`
	Steps       *int   `name:"num-inference-steps" limits:"1.." placeholder:"N" help:"Denoising steps; default: the model's."`

	RandomConfig   string        `name:"random-request-config" placeholder:"JSON" help:"With --dataset random: a list of profiles with weight, width, height, num_inference_steps, num_outputs_per_prompt."`
	RandomSeed     int64         `name:"random-request-seed" limits:"0.." default:"42" help:"Seed that assigns profiles to requests, as in SGLang, and sets the arrival times."`
	SLO            bool          `name:"slo" help:"Report how many requests met the time expected for their size and steps, based on the warm-ups."`
	SLOScale       float64       `name:"slo-scale" default:"3" help:"How many times the expected time a request may take."`
	Warmups        int           `name:"warmup-requests" limits:"0.." default:"1" help:"Uncounted requests before the load."`
	WarmupSteps    int           `name:"warmup-inference-steps" limits:"1.." default:"1" help:"Denoising steps of the warm-up requests."`
	Extra          string        `name:"extra-body" placeholder:"JSON" help:"Extra keys for each request's body, such as '{\"seed\": 1}'."`
	RequestTimeout time.Duration `name:"request-timeout" default:"6h" help:"A request that takes longer counts as failed, even if data still arrives; SGLang's client waits 6 h."`
	OutputFile     string        `name:"output-file" placeholder:"FILE" help:"Write the figures as JSON."`

	storeFlags

	Frames      int    `name:"num-frames" hidden:""`
	FPS         int    `name:"fps" hidden:""`
	Backend     string `name:"backend" hidden:""` // ignored, as in SGLang 0.5.11
	DisableTQDM bool   `name:"disable-tqdm" hidden:""`
	LogLevel    string `name:"log-level" hidden:""`
}

// Help returns the end of the verb's help text.
func (c *benchDiffusionCmd) Help() string {
	return `Flags, requests and figures are those of python3 -m sglang.multimodal_gen.benchmarks.bench_serving.

Examples:
  stepscope bench diffusion --dataset random --num-prompts 4 --width 64 --height 64 --num-inference-steps 4
  stepscope bench diffusion --url http://gpu1:30000 --dataset-path prompts.txt --max-concurrency 4 --output-file c4.json
  stepscope bench diffusion --dataset random --slo --random-request-config '[{"weight": 3, "width": 64, "height": 64}, {"weight": 1, "width": 128, "height": 128}]'`
}

// keepPictures stores the figures of an image load in the run and completes the run.
func keepPictures(store *runs.Run, r *imageload.Result) error {
	if err := store.Write(runs.File{Path: "figures.json", Kind: runs.KindFigures, Format: "json"}, r.Write); err != nil {
		return err
	}
	err := store.Update(func(m *runs.Manifest) {
		m.Model = r.Model
		m.Numbers = append(m.Numbers,
			runs.Number{Name: "request throughput", Value: r.Throughput, Unit: "req/s"}, runs.Number{Name: "failed", Value: float64(r.Failed), Unit: "req"},
			runs.Number{Name: "latency p50", Value: r.P50, Unit: "s"}, runs.Number{Name: "latency p99", Value: r.P99, Unit: "s"})
	})
	if err != nil {
		return err
	}
	return store.Finish(runs.Complete, nil)
}

// readyTime is the longest time to wait until the server is ready. The value is that of SGLang's benchmark.
const readyTime = 20 * time.Minute

// Run sends a load to the server and measures the latencies.
func (c *benchDiffusionCmd) Run(ctx context.Context, e *env) (err error) {
	if c.Frames > 1 || c.FPS > 0 {
		return usagef("--num-frames and --fps are for videos, which are not measured here")
	}
	if c.RequestTimeout <= 0 {
		return usagef("--request-timeout %v: give a time above 0, as 90s or 5m", c.RequestTimeout)
	}
	s, err := c.server()
	if err != nil {
		return err
	}
	o := &imageload.Options{
		Server: s, Model: c.Model, Task: c.Task, Dataset: c.Dataset, DatasetPath: c.DatasetPath, NumPrompts: c.NumPrompts, Outputs: c.Outputs,
		Concurrency: c.Concurrency, Rate: float64(c.RequestRate), Width: c.Width, Height: c.Height,
		RandomConfig: c.RandomConfig, RandomSeed: c.RandomSeed, SLO: c.SLO, SLOScale: c.SLOScale, Warmups: c.Warmups, WarmupSteps: c.WarmupSteps,
		Ready: readyTime, Timeout: c.RequestTimeout, Console: e.Console,
	}
	if c.Steps != nil {
		o.Steps = *c.Steps
	}
	if c.Extra != "" {
		if err := json.Unmarshal([]byte(c.Extra), &o.Extra); err != nil || o.Extra == nil {
			return usagef("--extra-body %s: give a JSON object", c.Extra)
		}
	}
	if err := o.Check(); err != nil {
		return usageError{err}
	}
	if c.OutputFile != "" {
		if err := atomicfile.TryFile(c.OutputFile); err != nil {
			return fmt.Errorf("--output-file: nothing can be written there: %w", err)
		}
	}
	store, err := c.create(e, runs.About{Kind: "bench", Tool: "bench diffusion", URL: s.URL})
	if err != nil {
		return err
	}
	if store != nil {
		defer func() { store.Finish(runs.Failed, err) }() // no effect if the run has already finished
	}
	r, err := imageload.Run(ctx, o)
	if err != nil {
		return err
	}
	if store != nil {
		if err := keepPictures(store, r); err != nil {
			return err
		}
		e.Warn("run kept: %s", store.Dir())
	}
	if err := r.Print(e.stdout); err != nil {
		return err
	}
	if c.OutputFile != "" {
		if err := atomicfile.Write(c.OutputFile, r.Write); err != nil {
			return fmt.Errorf("--output-file: %w", err)
		}
		fmt.Fprintln(e.stdout, "Metrics saved to "+c.OutputFile)
	}
	for _, why := range r.Failures {
		e.Lack("failed: %s", why)
	}
	if r.Completed == 0 {
		return fmt.Errorf("all %d requests failed", r.Asked)
	}
	return nil
}
