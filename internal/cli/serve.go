package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stepscope/stepscope/internal/base/httpguard"
	"github.com/stepscope/stepscope/internal/reference/launch"
	"github.com/stepscope/stepscope/internal/reference/server"
	"github.com/stepscope/stepscope/internal/tracefile/set"
)

// serveCmd is "serve", the counterpart of SGLang's launch_server on the embedded engine.
type serveCmd struct {
	launch.ModelArgs `group:"More model flags"`
	launch.NodeArgs  `group:"Several processes"`
	Disagg           launch.DisaggArgs `embed:"" group:"Several processes"`
	pictureFlags     `group:"Pipelines"`
	foreign

	Host            string `name:"host" default:"127.0.0.1" help:"Address to listen on; beyond loopback --api-key is needed, or --insecure."`
	Port            int    `name:"port" limits:"0..65535" default:"30000" help:"Port to listen on; 0: any free one, see the log."`
	APIKey          string `name:"api-key" env:"STEPSCOPE_API_KEY" placeholder:"KEY" help:"Key that requests must send as a bearer token."`
	APIKeyFile      string `name:"api-key-file" into:"api-key" placeholder:"FILE" help:"File with the key that requests must send."`
	Insecure        bool   `name:"insecure" help:"Beyond loopback, serve anyone who reaches the port, without a key."`
	AdminAPIKey     string `name:"admin-api-key" env:"STEPSCOPE_ADMIN_API_KEY" placeholder:"KEY" help:"Key that profile, flush and abort requests must send."`
	AdminAPIKeyFile string `name:"admin-api-key-file" into:"admin-api-key" placeholder:"FILE" help:"File that holds only that key."`
	ServedModelName string `name:"served-model-name" placeholder:"NAME" help:"The model's name in replies; default: --model-path."`

	EnableMetrics     bool   `name:"enable-metrics" help:"Serve Prometheus metrics at /metrics."`
	EnableCacheReport bool   `name:"enable-cache-report" help:"Report cached tokens in the usage of OpenAI replies."`
	Incremental       bool   `name:"incremental-streaming-output" aliases:"stream-output" help:"Events of /generate carry only new text."`
	LogRequests       bool   `name:"log-requests" help:"Log each request at its start and end."`
	LogRequestsLevel  int    `name:"log-requests-level" limits:"0..3" default:"2" help:"0: sizes, 1: parameters too, 2: texts cut at 2 KiB too, 3: whole texts."`
	LogLevel          string `name:"log-level" enum:"debug,info,warning,error" default:"info" help:"debug, info, warning or error."`
	DecodeLogInterval int    `name:"decode-log-interval" limits:"1.." default:"40" help:"Decode steps from one line of the batch log to the next."`

	ProfileRoot  string        `name:"profile-root" placeholder:"DIR" help:"Beyond loopback, traces are written only below it; default: SGLANG_TORCH_PROFILER_DIR, else /tmp."`
	DrainTimeout time.Duration `name:"shutdown-timeout" default:"30s" help:"How long running requests may take after SIGTERM."`
	SkipWarmup   bool          `name:"skip-server-warmup" hidden:""` // for pipelines; other models have no warm-up
}

// Help returns the end of the verb's help text.
func (c *serveCmd) Help() string {
	return `A server with SGLang's HTTP API and profile endpoints. The model is computed on the CPU in the same way as on a GPU; a profile shows the
streams, graphs and collectives as they ran. Logs go to stderr. SIGTERM lets running requests finish.

Examples:
  stepscope serve --model-path builtin:llama-tiny
  stepscope serve --model-path ~/models/Qwen3-0.6B --tp-size 2 --enable-metrics
  stepscope serve --model-path DIR_WITH_CONFIG --load-format dummy --json-model-override-args '{"num_hidden_layers": 2}'
  stepscope serve --model-path builtin:llama-tiny --disaggregation-mode prefill --port 30001
  stepscope serve --model-path builtin:z-image-small
  curl -d '{"num_steps": 10, "merge_profiles": true}' localhost:30000/start_profile

Under Nsight Systems, with layers as NVTX ranges, recorded only while a profile request with the activity CUDA_PROFILER is open:
  nsys profile -t nvtx -c nvtx -p cudaProfilerApi@stepscope --capture-range-end=stop stepscope serve --model-path builtin:llama-tiny --enable-layerwise-nvtx-marker --disable-cuda-graph
  curl -d '{"activities": ["CUDA_PROFILER"], "num_steps": 10}' localhost:30000/start_profile`
}

// Run serves until it is interrupted.
func (c *serveCmd) Run(ctx context.Context, e *env) error {
	if c.SkipWarmup && !launch.IsPipeline(c.ModelPath) {
		c.Names = append(c.Names, "--skip-server-warmup")
	}
	c.sayForeign(e)
	if underCUDARange() {
		e.Warn("nsys -c cudaProfilerApi: %s: write -c nvtx -p cudaProfilerApi@stepscope", noCUDARange)
	}
	if c.DrainTimeout <= 0 {
		return usagef("--shutdown-timeout %v: give a time, such as 30s", c.DrainTimeout)
	}
	if launch.IsPipeline(c.ModelPath) {
		return c.servePictures(ctx, e)
	}
	if err := errors.Join(c.ModelArgs.Check(), c.Disagg.Check()); err != nil {
		return usagef("%v", err)
	}
	if err := launch.CheckServed(c.ModelPath); err != nil {
		return err
	}
	if err := c.NodeArgs.Check(&c.ModelArgs); err != nil {
		return usagef("%v", err)
	}
	if c.NNodes > 1 && c.Disagg.Mode != "null" {
		return usagef("--disaggregation-mode with --nnodes %d: a prefill or decode server must have all its ranks in one process", c.NNodes)
	}
	if c.NodeRank > 0 {
		return launch.Follow(ctx, c.ModelArgs, c.NodeArgs, launch.FollowOptions{
			Grace: c.DrainTimeout, Log: launch.NewLog(e.stderr).Line, Loaded: collectGarbage,
		})
	}
	ln, err := listen(c.Host, c.Port, c.APIKey, c.Insecure)
	if err != nil {
		return err
	}
	defer ln.Close()
	started := httpguard.Starting(ln)
	defer started()

	log := launch.NewLog(e.stderr)
	iters, _ := strconv.ParseBool(strings.ToLower(os.Getenv("SGLANG_LOG_FORWARD_ITERS")))
	batches := server.NewBatchLog(log.Raw(), c.DecodeLogInterval, iters)
	defer batches.Close()
	opt := launch.Options{Log: log.Line, DecodeInterval: c.DecodeLogInterval, Nodes: c.NodeArgs}
	if c.level() <= slog.LevelInfo {
		opt.OnStep = batches.Add
	}
	if opt.Disagg, err = c.Disagg.Open(c.Host, c.APIKey, log.Line); err != nil {
		return err
	}
	if l := opt.Disagg.Listener; l != nil {
		defer l.Close()
		c.Disagg.Port = l.Addr().(*net.TCPAddr).Port
	}
	var transferred atomic.Pointer[server.Server] // nil until the server exists
	opt.Disagg.Transfer.Moved = func(bytes int64, took time.Duration) {
		if s := transferred.Load(); s != nil {
			s.Transferred(bytes, took)
		}
	}
	loading := time.Now()
	engine, err := launch.Load(ctx, c.ModelArgs, opt)
	if err != nil {
		return err
	}
	startup := server.Startup{Engine: time.Since(loading), All: time.Since(begun)}
	collectGarbage(engine.GCPercent())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lost := make(chan struct{})
	go func() { // once ranks are lost permanently, the server cannot continue
		defer close(lost)
		select {
		case <-engine.Lost():
			log.Line(engine.LostCause().Error())
			cancel()
		case <-ctx.Done():
		}
	}()
	s := server.New(engine, server.Options{
		ServedModelName: c.ServedModelName, Version: release(), Args: c.args(), Command: server.CommandLine(e.args), Startup: startup,
		APIKey: c.APIKey, AdminAPIKey: c.AdminAPIKey, Insecure: c.Insecure, EnableMetrics: c.EnableMetrics, IncrementalOutput: c.Incremental, CacheReport: c.EnableCacheReport,
		LogRequests: c.LogRequests, LogRequestsLevel: c.LogRequestsLevel, DrainTimeout: c.DrainTimeout, Hurry: hurry(ctx), ProfileRoot: c.ProfileRoot,
		Log: log.Structured(c.level()), MaxInFlight: max(4096, (c.MaxQueuedRequests+c.MaxRunningRequests)*c.DP),
	})
	transferred.Store(s)
	set.SalvageAll(cmp.Or(c.ProfileRoot, httpguard.ProfileRoot(os.Getenv)), log.Line)
	started()
	log.Line(fmt.Sprintf("The server is fired up and ready to roll! Listening on http://%s", ln.Addr()))
	err = s.Serve(ctx, ln)
	cancel()
	<-lost
	if cause := engine.LostCause(); cause != nil {
		err = cause
	}
	if closeErr := engine.Close(); err == nil {
		err = closeErr
	}
	return err
}

// listen opens a port for serve and route. If the host is not a loopback address and there is no key, it returns a
// usage error.
func listen(host string, port int, key string, insecure bool) (net.Listener, error) {
	ln, err := httpguard.Listen(host, port, key, insecure)
	if errors.Is(err, httpguard.ErrNeedKey) {
		return nil, usageError{err}
	}
	return ln, err
}

// begun is the start time of this process.
var begun = time.Now()

func (c *serveCmd) level() slog.Level { return levelOf(c.LogLevel) }

// collectGarbage sets the percentage for the garbage collector, unless the environment sets GOGC.
func collectGarbage(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// args returns the launch arguments that /server_info reports.
func (c *serveCmd) args() map[string]any {
	out := c.Map()
	maps.Copy(out, map[string]any{
		"host": c.Host, "port": c.Port, "log_requests": c.LogRequests, "log_requests_level": c.LogRequestsLevel, "log_level": c.LogLevel,
		"disaggregation_mode": c.Disagg.Mode, "disaggregation_bootstrap_port": c.Disagg.Port, "decode_log_interval": c.DecodeLogInterval, "nnodes": c.NNodes, "node_rank": c.NodeRank, "dist_init_addr": c.InitAddr, "enable_cache_report": c.EnableCacheReport, "device": "cpu",
	})
	return out
}
