package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stepscope/stepscope/internal/measure/workload"
	"github.com/stepscope/stepscope/internal/reference/launch"
	"github.com/stepscope/stepscope/internal/reference/pictures"
)

// generateCmd is "generate", the counterpart of sglang generate.
type generateCmd struct {
	launch.PipelineArgs

	Prompt         []string `name:"prompt" sep:"none" placeholder:"TEXT" help:"Prompt to paint; several prompts make several pictures."`
	PromptPath     string   `name:"prompt-path" placeholder:"FILE.txt" without:"prompt: both give the prompts" help:"File with one prompt per line."`
	NegativePrompt string   `name:"negative-prompt" placeholder:"TEXT" help:"Prompt to avoid; needs guidance."`
	Seed           int64    `name:"seed" default:"42" help:"Seed of the initial noise; further outputs of a prompt use the following numbers."`
	Width          []int    `name:"width" limits:"1.." placeholder:"PIXELS" without:"720p|1080p|2k|4k: both set the size" help:"Width; several, with as many heights, make pictures of several sizes. Default: the model's."`
	Height         []int    `name:"height" limits:"1.." placeholder:"PIXELS" without:"720p|1080p|2k|4k: both set the size" help:"Height."`
	P720           bool     `name:"720p" help:"1280×720."`
	P1080          bool     `name:"1080p" help:"1920×1080."`
	K2             bool     `name:"2k" help:"2560×1440."`
	K4             bool     `name:"4k" help:"3840×2160."`
	Steps          *int     `name:"num-inference-steps" limits:"1.." placeholder:"N" help:"Denoising steps; default: the model's."`
	Guidance       *float64 `name:"guidance-scale" placeholder:"G" help:"Guidance; 0: none. Default: the model's."`
	Outputs        int      `name:"num-outputs-per-prompt" aliases:"num-outputs" limits:"1..1024" default:"1" help:"Pictures per prompt and size."`

	OutputPath string `name:"output-path" default:"outputs" placeholder:"DIR" help:"Directory for pictures; empty: write none."`
	OutputName string `name:"output-file-name" placeholder:"NAME" help:"Name of the picture; default: made from prompt, time and parameters."`
	OutputFile string `name:"output-file-path" placeholder:"FILE.png" without:"output-file-name: the path includes the name" help:"Directory and name together."`
	NoSave     bool   `name:"no-save-output" help:"Write no pictures."`

	WarmupMode  string   `name:"warmup-mode" enum:"off,request,server" default:"off" help:"request or server: an uncounted run of --warmup-steps before the first picture."`
	Warmup      bool     `name:"warmup" help:"The same as --warmup-mode request, as in SGLang 0.5.11."`
	WarmupSteps int      `name:"warmup-steps" limits:"1.." default:"1" help:"Denoising steps of the warm-up."`
	WarmupSizes []string `name:"warmup-resolutions" placeholder:"WxH" help:"Sizes to warm up with, each once; default: that of the first picture."`

	Profile      bool   `name:"profile" help:"Record the denoising steps with SGLang's file names, one trace per rank."`
	ProfileSteps int    `name:"num-profiled-timesteps" limits:"-1.." default:"5" help:"Denoising steps to record, after the first, which warms up; -1: all."`
	AllStages    bool   `name:"profile-all-stages" needs:"profile" help:"With --profile: record all stages."`
	PerfDump     string `name:"perf-dump-path" placeholder:"FILE" help:"Write times of stages and steps as SGLang's JSON report."`

	// These flags are accepted because SGLang's command lines contain them. Values other than the accepted values would
	// request features that stepscope lacks.
	SaveOutput bool   `name:"save-output" hidden:""`
	Frames     int    `name:"num-frames" default:"1" hidden:""`
	FPS        int    `name:"fps" hidden:""`
	Backend    string `name:"backend" enum:"auto,sglang" default:"auto" hidden:""`
	Generator  string `name:"generator-device" enum:"cpu" default:"cpu" hidden:""`
	Debug      bool   `name:"debug" hidden:""`
}

// presets returns the sizes that the user has selected by name.
func (c *generateCmd) presets() (out []pictures.Size) {
	for _, p := range []struct {
		asked bool
		pictures.Size
	}{{c.P720, pictures.Size{Width: 1280, Height: 720}}, {c.P1080, pictures.Size{Width: 1920, Height: 1080}}, {c.K2, pictures.Size{Width: 2560, Height: 1440}}, {c.K4, pictures.Size{Width: 3840, Height: 2160}}} {
		if p.asked {
			out = append(out, p.Size)
		}
	}
	return out
}

// Help returns the end of the verb's help text.
func (c *generateCmd) Help() string {
	return `Pictures are computed on the CPU in the same way as on a GPU, with SGLang's stages; a profile shows the streams and kernels as they ran. Traces go to
SGLANG_DIFFUSION_TORCH_PROFILER_DIR, else SGLANG_TORCH_PROFILER_DIR, else ./logs. --config FILE (JSON or YAML) can set any of the flags,
in snake case; flags on the command line override it.

Examples:
  stepscope generate --model-path builtin:z-image-small --prompt "a lighthouse in a storm" --seed 7
  stepscope generate --model-path builtin:z-image-small --prompt "a cat" --tp-size 2 --profile --num-profiled-timesteps 3
  stepscope generate --model-path DIR --prompt "a cat" --perf-dump-path before.json --profile --profile-all-stages
  stepscope compare before.json after.json`
}

// Run generates the pictures.
func (c *generateCmd) Run(ctx context.Context, e *env) error {
	job, err := c.job()
	if err != nil {
		return usageError{err}
	}
	log := launch.NewShortLog(e.stderr)
	out, err := pictures.Run(ctx, job, pictures.Show{Log: log.Line, Console: e.Console})
	if err != nil {
		return err
	}
	return pictures.Print(e.stdout, out)
}

// job returns the job that the flags describe.
func (c *generateCmd) job() (*pictures.Job, error) {
	prompts := c.Prompt
	if c.PromptPath != "" {
		if !strings.HasSuffix(c.PromptPath, ".txt") {
			return nil, fmt.Errorf("--prompt-path %s: give a .txt file, one prompt a line", c.PromptPath)
		}
		var err error
		if prompts, err = workload.Prompts(c.PromptPath); err != nil {
			return nil, fmt.Errorf("--prompt-path: %w", err)
		}
	}
	switch {
	case c.ModelPath == "":
		return nil, errors.New("--model-path is missing: a directory of a Diffusers pipeline, builtin:z-image-tiny or builtin:z-image-small")
	case len(prompts) == 0:
		return nil, errors.New("no prompt: give --prompt or --prompt-path")
	case len(c.Width) != len(c.Height):
		return nil, fmt.Errorf("--width and --height: give equally many of both, not %d and %d", len(c.Width), len(c.Height))
	case c.Frames != 1:
		return nil, fmt.Errorf("--num-frames %d: this pipeline makes pictures, which have one frame", c.Frames)
	case c.ProfileSteps == 0:
		return nil, errors.New("--num-profiled-timesteps 0: give 1 or more, or -1 for all")
	case c.OutputName != "" && filepath.Base(c.OutputName) != c.OutputName:
		return nil, fmt.Errorf("--output-file-name %s: give only a name; --output-path sets the directory, --output-file-path both", c.OutputName)
	}
	j := &pictures.Job{
		Pipeline: c.PipelineArgs, Prompts: prompts, Negative: c.NegativePrompt, Seed: uint64(c.Seed), Steps: c.Steps, Guidance: c.Guidance,
		Outputs: c.Outputs, PerfDump: c.PerfDump,
	}
	for i := range c.Width {
		j.Sizes = append(j.Sizes, pictures.Size{Width: c.Width[i], Height: c.Height[i]})
	}
	j.Sizes = append(j.Sizes, c.presets()...)
	if c.OutputFile != "" {
		j.Dir, j.Name = filepath.Dir(c.OutputFile), filepath.Base(c.OutputFile)
	} else {
		j.Dir, j.Name = c.OutputPath, c.OutputName
	}
	if c.NoSave || strings.TrimSpace(j.Dir) == "" {
		j.Dir = ""
	}
	for _, text := range c.WarmupSizes {
		var size pictures.Size
		if n, err := fmt.Sscanf(text, "%dx%d", &size.Width, &size.Height); n != 2 || err != nil || fmt.Sprintf("%dx%d", size.Width, size.Height) != text {
			return nil, fmt.Errorf("--warmup-resolutions %s: give sizes such as 512x512", text)
		}
		j.WarmupSizes = append(j.WarmupSizes, size)
	}
	if c.Warmup || c.WarmupMode != "off" || len(j.WarmupSizes) > 0 {
		j.WarmupSteps = c.WarmupSteps
	}
	if c.Profile {
		j.Profile = &pictures.Profile{Steps: c.ProfileSteps, AllStages: c.AllStages, Dir: profileDir()}
	}
	return j, nil
}

// profileDir returns the directory to which SGLang's diffusion programs write traces.
func profileDir() string {
	for _, name := range []string{"SGLANG_DIFFUSION_TORCH_PROFILER_DIR", "SGLANG_TORCH_PROFILER_DIR"} {
		if dir := os.Getenv(name); dir != "" {
			return dir
		}
	}
	return "./logs"
}
