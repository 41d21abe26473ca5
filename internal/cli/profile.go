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

// profileCmd is "profile": SGLang's sglang.profiler, and what happens to the files
// after it.
type profileCmd struct {
	Action string `arg:"" optional:"" placeholder:"ACTION" help:"run (default): a window from start to findings. start: start it and return. stop: end it and go on with its files, or end whatever the servers at --url record."`
	Dir    string `arg:"" optional:"" placeholder:"DIR" help:"stop: the directory that start printed, or its last part, the id."`

	profiledFlags
	PD bool `name:"pd-separated" hidden:""`

	OutputDir string   `name:"output-dir" placeholder:"DIR" help:"Directory on the servers, below which each window has one of its own; default: SGLANG_TORCH_PROFILER_DIR here, else the server's, else /tmp. For vLLM the one it was started with."`
	NumSteps  int      `name:"num-steps" default:"5" help:"Forward steps to record; by stage, of each stage. With start, 0 records until stop."`
	StartStep int64    `name:"start-step" placeholder:"N" help:"Forward count since the server's start at which to begin."`
	ByStage   bool     `name:"profile-by-stage" help:"Record prefill and decode separately."`
	Stages    []string `name:"profile-stages" sep:"," placeholder:"STAGE" help:"By stage: only prefill or decode."`
	Prefix    string   `name:"profile-prefix" placeholder:"NAME" help:"Prefix of the file names."`
	ProfileID string   `name:"profile-id" hidden:""`

	CPU        bool     `name:"cpu" default:"true" help:"Record the host; --no-cpu does not. The same holds for the next three."`
	GPU        bool     `name:"gpu" default:"true" help:"Record the GPU."`
	Mem        bool     `name:"mem" help:"Snapshots of GPU memory."`
	RPD        bool     `name:"rpd" help:"ROCm's rpd profiler."`
	Activities []string `name:"activities" sep:"," placeholder:"NAME" help:"Instead: any of CPU, GPU, MEM, RPD, CUDA_PROFILER, XPU."`
	Lean       bool     `name:"lean" help:"Record kernels and the calls that launch them alone, which slows the servers least: no steps by name, and nothing of what hosts do. Without it all that the server records by default; --no-with-stack leaves out what costs most of that."`
	Stack      bool     `name:"with-stack" xor:"stack" help:"With Python stacks; default: as the server does."`
	Shapes     bool     `name:"record-shapes" xor:"shapes" help:"With shapes of tensors; default: as the server does."`
	Merge      bool     `name:"merge-profiles" help:"Have the server merge as well. Without --no-merge-profiles traces are merged here in any case."`

	fetchFlags
	LocalDir string        `name:"local-dir" short:"o" placeholder:"DIR" help:"Where to put the files here; default: the directory of the window, by the same name as on the server."`
	Duration time.Duration `placeholder:"TIME" help:"Record for this long instead of a number of steps: prefill and decode servers for the same time."`
	Timeout  time.Duration `default:"5m" help:"A window that has not closed by then is closed."`
	Stall    time.Duration `default:"60s" help:"A rank whose trace has not arrived this long after the last one counts as missing."`
	Wait     time.Duration `default:"60s" placeholder:"TIME" help:"How long to wait for load before the profiler of an idle server is armed, which would record only how it waits; 0 does not wait. Start does not either."`
	Probe    bool          `help:"Send tiny requests, so that an idle server runs steps."`

	NoAnalyze bool   `name:"no-analyze" help:"Only collect the files; do not analyze them."`
	JSON      bool   `name:"json" help:"Print as JSON."`
	HTML      string `name:"html" placeholder:"FILE" help:"Also write the page with plots; one for each server where there are several."`

	quietFlag
	displayFlags
	memoryFlags
	profileOff
	storeFlags
}

// profileWait is how long load is waited for where nothing else is said.
const profileWait = time.Minute

// paceTime is how long a server's counters may be looked at for what steps take that are
// not recorded.
const paceTime = 1500 * time.Millisecond

// profileOff turns off what Python's BooleanOptionalAction can.
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

// Help is the end of the verb's help text.
func (c *profileCmd) Help() string {
	return `SGLang's diffusion servers have no profile routes: one request is sent to them that has its denoising steps recorded (since 0.5.23); say
with --output-dir where the server writes traces.

Examples:
  stepscope profile --num-steps 10
  stepscope profile --url http://gpu1:30000 --fetch 'ssh {host} cat {path}' -o traces
  stepscope profile --url http://router:30000 --duration 2s
  stepscope profile --prefill-url http://p0:30000 --decode-url http://d0:30000
  stepscope profile stop --url http://localhost:30000`
}

// BeforeReset refuses two lengths of one window.
func (c *profileCmd) BeforeReset(k *kong.Context) error {
	if given(k, "duration") && given(k, "num-steps") {
		return usagef("--duration and --num-steps: a window has one length, leave one of them out")
	}
	return nil
}

// AfterApply refuses a window of no time, which else reads as none given.
func (c *profileCmd) AfterApply(k *kong.Context) error {
	if given(k, "duration") && c.Duration <= 0 {
		return usagef("--duration %v: give a time above 0, as 500ms or 2s", c.Duration)
	}
	return nil
}

// Run profiles.
func (c *profileCmd) Run(ctx context.Context, e *env) error {
	if c.Action == "" {
		c.Action = "run"
	}
	c.apply(e)
	p, err := c.check(e)
	if err != nil {
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

// check looks at the values and makes of them what package system wants.
func (c *profileCmd) check(e *env) (*system.Profile, error) {
	fail := func(err error) (*system.Profile, error) { return nil, usageError{err} }
	if !slices.Contains([]string{"run", "start", "stop"}, c.Action) {
		return fail(fmt.Errorf("profile %q: give run, start or stop", c.Action))
	}
	if c.Dir != "" && c.Action != "stop" {
		return fail(fmt.Errorf("profile %s takes no directory: say with -o where to put the files", c.Action))
	}
	if c.HTML == "-" {
		return fail(fmt.Errorf("--html -: give a file, stdout has the findings"))
	}
	if c.PD && len(c.PrefillURL)+len(c.DecodeURL) == 0 {
		return fail(fmt.Errorf("--pd-separated: give the servers with --prefill-url and --decode-url"))
	}
	if c.Wait < 0 {
		return fail(fmt.Errorf("--wait %v: give a time, as 90s or 5m, or 0 not to wait", c.Wait))
	}
	if c.Timeout <= 0 || c.Stall <= 0 {
		return fail(fmt.Errorf("--timeout %v, --stall %v: give times above 0, as 90s or 5m", c.Timeout, c.Stall))
	}
	switch {
	case c.Duration > 0 && (c.Action != "run" || c.ByStage || c.StartStep > 0 || c.Probe):
		return fail(fmt.Errorf("--duration goes with profile run, without --profile-by-stage, --start-step and --probe"))
	case c.Duration > 0:
		c.NumSteps = 0
	case c.NumSteps == 0 && c.Action == "run":
		return fail(fmt.Errorf("--num-steps 0 records without end: give --duration, or use profile start and profile stop"))
	}
	targets, err := c.targets()
	if err != nil {
		return fail(err)
	}
	o := torch.Options{Timeout: c.Timeout, Stall: c.Stall, Wait: c.Wait, Probe: c.Probe, Pace: paceTime, NoMerge: c.NoMerge, Log: e.Line, Sessions: c.windows()}
	if c.Action == "start" {
		o.Wait, o.Probe, o.Pace = 0, false, 0 // SGLang's guide arms first, and tiny requests end with this program
	}
	if o.Fetch, err = c.template(); err != nil {
		return fail(err)
	}
	if c.Lean && (c.Stack || c.Shapes || c.Mem || c.RPD || c.NoGPU || c.Activities != nil) {
		return fail(fmt.Errorf("--lean records kernels and launches alone: leave out --activities, --with-stack, --record-shapes and the like, or --lean"))
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
		Targets: targets, Window: w, Options: o, Duration: c.Duration, LocalDir: c.LocalDir, Skip: c.NoAnalyze,
		Create: func(about runs.About) (*runs.Run, error) { return c.create(e, about) },
	}
	p.Root, _ = c.root() // without a home for runs no sessions of nsys are known
	if p.Sessions, err = c.sessions(); err != nil && (c.Action == "start" || c.Dir != "") {
		return nil, err
	}
	if p.Explain, err = c.explain(e, form(c.JSON, false), c.HTML); err != nil {
		return nil, err
	}
	p.Explain.Watch, err = c.watcher(e, nil) // the run is kept by then, and no window is open
	return p, err
}
