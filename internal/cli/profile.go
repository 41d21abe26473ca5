package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/alecthomas/kong"

	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/measure/system"
	"github.com/stepscope/stepscope/internal/runs"
)

// profileCmd is "profile". It does the work of SGLang's sglang.profiler. In addition, it collects and explains the
// files.
type profileCmd struct {
	Action string `arg:"" optional:"" placeholder:"ACTION" help:"run (default): record a window and explain it. start: start a window and return. stop: end it and process its files, or end any recording of the servers at --url."`
	Dir    string `arg:"" optional:"" placeholder:"DIR" help:"stop: the directory that start printed, or its last part, the id."`

	profiledFlags
	podFlags
	PD bool `name:"pd-separated" needs:"prefill-url|decode-url: they name the servers" hidden:""`

	OutputDir string   `name:"output-dir" placeholder:"DIR" help:"Directory on the servers, with a subdirectory for each window; default: SGLANG_TORCH_PROFILER_DIR here, else the server's, else /tmp. For vLLM, the one it was started with."`
	NumSteps  int      `name:"num-steps" default:"5" help:"Forward steps to record, per stage with --profile-by-stage. With start, 0 records until stop."`
	StartStep int64    `name:"start-step" placeholder:"N" help:"Forward count since the server's start at which to begin."`
	ByStage   bool     `name:"profile-by-stage" help:"Record prefill and decode separately."`
	Stages    []string `name:"profile-stages" sep:"," placeholder:"STAGE" help:"By stage: only prefill or decode."`
	Prefix    string   `name:"profile-prefix" placeholder:"NAME" help:"Prefix of the file names."`
	ProfileID string   `name:"profile-id" hidden:""`

	CPU        bool     `name:"cpu" default:"true" help:"Record the host; --no-cpu turns it off. The next three flags work in the same way."`
	GPU        bool     `name:"gpu" default:"true" help:"Record the GPU."`
	Mem        bool     `name:"mem" help:"Record snapshots of GPU memory."`
	RPD        bool     `name:"rpd" help:"Use ROCm's rpd profiler."`
	Activities []string `name:"activities" sep:"," placeholder:"NAME" help:"Activities to record instead: any of CPU, GPU, MEM, RPD, CUDA_PROFILER, XPU."`
	Lean       bool     `name:"lean" without:"activities|with-stack|record-shapes|mem|rpd|no-gpu: only kernels and launches are recorded" help:"Record only kernels and their launches, which slows the servers least: no step names, no host activity. Without it, --no-with-stack leaves out the most costly part."`
	Stack      bool     `name:"with-stack" xor:"stack" help:"Record Python stacks; default: as the server does."`
	Shapes     bool     `name:"record-shapes" xor:"shapes" help:"Record shapes of tensors; default: as the server does."`
	Merge      bool     `name:"merge-profiles" help:"Have the server merge the traces, too. They are also merged here, unless --no-merge-profiles is given."`

	fetchFlags
	LocalDir string        `name:"local-dir" short:"o" placeholder:"DIR" help:"Local directory for the files; default: the directory of the window, with the same name as on the server."`
	Duration time.Duration `placeholder:"TIME" without:"num-steps: a window has one length; profile-by-stage|start-step|probe: a window of time counts no steps" help:"Record for this long instead of a number of steps, the same time on prefill and decode servers."`
	Timeout  time.Duration `default:"5m" help:"Close a window that is still open after this time."`
	Stall    time.Duration `default:"60s" help:"A rank whose trace has not arrived this long after the last one counts as missing."`
	Wait     time.Duration `default:"60s" placeholder:"TIME" help:"How long to wait for load before arming the profiler of an idle server; 0 does not wait, nor does start."`
	GPUs     string        `name:"gpus" bare:"nvidia-smi" placeholder:"[URL]" help:"Sample the clocks of the GPUs around the window, with nvidia-smi here, or from the URL of a DCGM exporter: a finding of a late GPU then compares its clock."`
	Probe    bool          `help:"Send tiny requests, so that an idle server runs steps."`

	NoAnalyze bool   `name:"no-analyze" help:"Only collect the files; do not analyze them."`
	JSON      bool   `name:"json" help:"Print as JSON."`
	HTML      string `name:"html" placeholder:"FILE" help:"Also write a page with plots; one per server if there are several."`

	quietFlag
	displayFlags
	memoryFlags
	profileOff
	storeFlags
}

// profileWait is the default time to wait for load.
const profileWait = time.Minute

// paceTime is the longest time for which a server's counters are sampled to measure the step time without recording.
const paceTime = 1500 * time.Millisecond

// profileOff has the negated flags (--no-…) that Python's BooleanOptionalAction defines.
type profileOff struct {
	NoByStage bool `name:"no-profile-by-stage" hidden:""`
	NoCPU     bool `name:"no-cpu" hidden:""`
	NoGPU     bool `name:"no-gpu" hidden:""`
	NoMem     bool `name:"no-mem" hidden:""`
	NoRPD     bool `name:"no-rpd" hidden:""`
	NoMerge   bool `name:"no-merge-profiles" hidden:""`
	NoStack   bool `name:"no-with-stack" xor:"stack" hidden:""`
	NoShapes  bool `name:"no-record-shapes" xor:"shapes" hidden:""`
}

// Help returns the end of the verb's help text.
func (c *profileCmd) Help() string {
	return `SGLang's diffusion servers have no profile routes. Instead, one request is sent that has its denoising steps recorded (since 0.5.23); give
the directory where the server writes traces with --output-dir.

Examples:
  stepscope profile --num-steps 10
  stepscope profile --url http://gpu1:30000 --fetch 'ssh {host} cat {path}' -o traces
  stepscope profile --url http://router:30000 --duration 2s
  stepscope profile --prefill-url http://p0:30000 --decode-url http://d0:30000
  stepscope profile --pods serving/app=sglang -o traces
  stepscope profile stop --url http://localhost:30000`
}

// AfterApply returns an error for a duration of 0, which would otherwise count as not given.
func (c *profileCmd) AfterApply(k *kong.Context) error {
	if given(k, "duration") && c.Duration <= 0 {
		return usagef("--duration %v: give a time above 0, as 500ms or 2s", c.Duration)
	}
	return c.podFlags.AfterApply()
}

// Run records a window, or starts or stops a recording.
func (c *profileCmd) Run(ctx context.Context, e *env) error {
	if c.Action == "" {
		c.Action = "run"
	}
	c.apply(e)
	p, err := c.check(e)
	if err != nil {
		return err
	}
	if err := c.inPods(ctx, e, p); err != nil {
		return err
	}
	switch {
	case c.Action == "start":
		return p.Start(ctx)
	case c.Action == "run":
		return p.Run(ctx)
	case c.Dir == "":
		return p.StopAll(ctx)
	}
	return p.Stop(ctx, c.Dir)
}

// check validates the flags and converts them for package system.
func (c *profileCmd) check(e *env) (*system.Profile, error) {
	fail := func(err error) (*system.Profile, error) { return nil, usageError{err} }
	if !slices.Contains([]string{"run", "start", "stop"}, c.Action) {
		return fail(fmt.Errorf("profile %q: give run, start or stop", c.Action))
	}
	if c.Dir != "" && c.Action != "stop" {
		return fail(fmt.Errorf("profile %s takes no directory: give the directory for the files with -o", c.Action))
	}
	if c.HTML == "-" {
		return fail(fmt.Errorf("--html -: give a file, stdout has the findings"))
	}
	if c.Wait < 0 {
		return fail(fmt.Errorf("--wait %v: give a time, as 90s or 5m, or 0 not to wait", c.Wait))
	}
	if c.Timeout <= 0 || c.Stall <= 0 {
		return fail(fmt.Errorf("--timeout %v, --stall %v: give times above 0, as 90s or 5m", c.Timeout, c.Stall))
	}
	switch {
	case c.Duration > 0 && c.Action != "run":
		return fail(fmt.Errorf("--duration needs profile run"))
	case c.Duration > 0:
		c.NumSteps = 0
	case c.NumSteps == 0 && c.Action == "run":
		return fail(fmt.Errorf("--num-steps 0 records without end: give --duration, or use profile start and profile stop"))
	}
	if c.GPUs != "" && c.Action != "run" {
		return fail(fmt.Errorf("--gpus needs profile run: profile start does not stay to take samples"))
	}
	targets, err := c.targets()
	if err != nil {
		return fail(err)
	}
	o := torch.Options{Timeout: c.Timeout, Stall: c.Stall, Wait: c.Wait, Probe: c.Probe, Pace: paceTime, NoMerge: c.NoMerge, Log: e.Line, Sessions: c.windows()}
	if c.Action == "start" {
		// SGLang's guide arms the profiler before it sends the load. The tiny requests of the probe end when this
		// program ends.
		o.Wait, o.Probe, o.Pace = 0, false, 0
	}
	if o.Fetch, err = c.template(); err != nil {
		return fail(err)
	}
	w, err := c.window()
	w.For = c.Duration
	if err == nil {
		err = w.Check()
	}
	if err != nil {
		return fail(err)
	}
	p := &system.Profile{
		Targets: targets, Window: w, Options: o, Duration: c.Duration, LocalDir: c.LocalDir, Skip: c.NoAnalyze, GPUs: c.GPUs,
		Create: func(about runs.About) (*runs.Run, error) { return c.create(e, about) },
	}
	p.Root, _ = c.root() // without a home for runs, nsys sessions are unknown
	if p.Sessions, err = c.sessions(); err != nil && (c.Action == "start" || c.Dir != "") {
		return nil, err
	}
	if p.Explain, err = c.explain(e, form(c.JSON, false), c.HTML); err != nil {
		return nil, err
	}
	p.Explain.Watch, err = c.watcher(e, nil) // when the memory is watched, the run is stored and no window is open
	return p, err
}
