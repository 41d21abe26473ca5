package cli

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/httpguard"
	"github.com/stepscope/stepscope/internal/reference/images"
	"github.com/stepscope/stepscope/internal/reference/launch"
	"github.com/stepscope/stepscope/internal/tracefile/set"
)

// pictureFlags are the flags of serve that apply only to diffusion pipelines.
type pictureFlags struct {
	Sigmas      string `name:"sigmas" enum:"sglang,sglang-0.5.11,diffusers-0.37" default:"sglang" help:"Pipelines: noise levels to use: sglang (0.5.23), sglang-0.5.11, diffusers-0.37."`
	OutputPath  string `name:"output-path" placeholder:"DIR" help:"Pipelines: also write each picture there; default: nowhere."`
	WarmupMode  string `name:"warmup-mode" enum:"off,request,server" default:"server" help:"Pipelines: server or request: a run of --warmup-steps before the first request is accepted; off: none."`
	WarmupSteps int    `name:"warmup-steps" limits:"1.." default:"1" help:"Pipelines: denoising steps of the warm-up."`
}

var pictureNames = []string{"sigmas", "output-path", "warmup-mode", "warmup-steps"}

// bothNames lists the flags that have the same meaning for a language model as for a pipeline.
var bothNames = []string{
	"model-path", "load-format", "dtype", "tp-size", "enable-layerwise-nvtx-marker", "device-cores", "device-fault", "host", "port", "api-key", "api-key-file", "insecure",
	"admin-api-key", "admin-api-key-file", "served-model-name", "log-level", "profile-root", "shutdown-timeout", "max-queued-requests",
	"skip-server-warmup", "enable-metrics", "help", foreignFlag,
}

// AfterApply returns an error for flags that have no effect for the kind of model that is served.
func (c *serveCmd) AfterApply(k *kong.Context) error {
	pipeline := launch.IsPipeline(c.ModelPath)
	for _, p := range k.Path {
		if p.Flag == nil || slices.Contains(bothNames, p.Flag.Name) {
			continue
		}
		if only := slices.Contains(pictureNames, p.Flag.Name); only && !pipeline {
			return usagef("--%s is for diffusion pipelines: %s is not one", p.Flag.Name, c.ModelPath)
		} else if !only && pipeline {
			return usagef("--%s has no effect on a diffusion pipeline such as %s: leave it out", p.Flag.Name, c.ModelPath)
		}
	}
	return nil
}

// servePictures implements Run for a diffusion pipeline.
func (c *serveCmd) servePictures(ctx context.Context, e *env) error {
	a := launch.PipelineArgs{
		ModelPath: c.ModelPath, LoadFormat: c.LoadFormat, DType: c.DType, TP: c.TP, Sigmas: c.Sigmas, Markers: c.Markers, Cores: c.Cores, Faults: c.Faults,
	}
	if !slices.Contains([]string{"auto", "bfloat16", "float32"}, a.DType) {
		return usagef("--dtype %s: a pipeline supports auto, bfloat16 or float32", a.DType)
	}
	if a.TP < 1 || a.TP > 64 {
		return usagef("--tp-size %d: give 1 to 64", a.TP)
	}
	ln, err := listen(c.Host, c.Port, c.APIKey, c.Insecure)
	if err != nil {
		return err
	}
	defer ln.Close()
	started := httpguard.Starting(ln)
	defer started()

	log := launch.NewShortLog(e.stderr)
	p, err := launch.OpenPipeline(a, log.Line)
	if err != nil {
		return err
	}
	defer p.Close()
	warm, err := p.Request("", "")
	if err != nil {
		return err
	}
	warm.Steps = c.WarmupSteps
	warms := c.WarmupMode != "off" && !c.SkipWarmup
	if warms {
		if err := p.Check(warm); err != nil {
			return fmt.Errorf("the warm-up: %w", err)
		}
	}
	dir := strings.TrimSpace(c.OutputPath)
	if dir != "" {
		if err := atomicfile.TryDir(dir); err != nil {
			return fmt.Errorf("--output-path: nothing can be written there: %w", err)
		}
	}
	if err := p.Load(); err != nil {
		return err
	}
	if warms {
		if err := p.Warmup(ctx, warm); err != nil {
			return err
		}
	}
	line := log.Line
	if c.level() > slog.LevelInfo {
		line = func(string) {}
	}
	s := images.New(p, images.Info{ModelPath: c.ModelPath, Config: p.Config, TP: c.TP, DType: p.DType}, images.Options{
		ServedModelName: c.ServedModelName, Version: release(), Args: c.pictureArgs(), APIKey: c.APIKey, AdminAPIKey: c.AdminAPIKey, Insecure: c.Insecure,
		OutputDir: dir, TraceDir: profileDir(), ProfileRoot: c.ProfileRoot, MaxQueued: c.MaxQueuedRequests, EnableMetrics: c.EnableMetrics,
		DrainTimeout: c.DrainTimeout, Hurry: hurry(ctx), Log: log.Structured(c.level()), Line: line,
	})
	set.SalvageAll(cmp.Or(c.ProfileRoot, profileDir()), log.Line)
	started()
	log.Line(fmt.Sprintf("The server is fired up and ready to roll! Listening on http://%s", ln.Addr()))
	return s.Serve(ctx, ln)
}

// pictureArgs returns the launch arguments that /server_info reports.
func (c *serveCmd) pictureArgs() map[string]any {
	return map[string]any{
		"load_format": c.LoadFormat, "dtype": c.DType, "sigmas": c.Sigmas, "host": c.Host, "port": c.Port, "warmup_mode": c.WarmupMode,
		"warmup_steps": c.WarmupSteps, "output_path": c.OutputPath, "enable_layerwise_nvtx_marker": c.Markers, "max_queued_requests": c.MaxQueuedRequests,
		"log_level": c.LogLevel, "device": "cpu",
	}
}
