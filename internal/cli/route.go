package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/launch"
	"github.com/stepscope/stepscope/internal/reference/route"
)

// routeCmd is "route", SGLang's launch_router and its mini balancer.
type routeCmd struct {
	Host string `name:"host" default:"127.0.0.1" help:"Address to listen on; beyond loopback --api-key is needed, or --insecure."`
	Port int    `name:"port" limits:"0.." default:"30000" help:"Port to listen on; 0: any free one, see the log."`

	WorkerURLs []string `name:"worker-urls" sep:"none" placeholder:"URL" help:"Servers that take whole requests; several, or repeat it."`
	PD         bool     `name:"pd-disaggregation" help:"Prefill and decode servers apart: give --prefill and --decode."`
	Prefill    []string `name:"prefill" sep:"none" placeholder:"URL" help:"A prefill server, and behind it the port of its bootstrap server (default: as it says itself); repeat it for several."`
	Decode     []string `name:"decode" sep:"none" placeholder:"URL" help:"A decode server; repeat it for several."`

	Policy        string `name:"policy" enum:"random,round_robin,power_of_two,cache_aware" default:"cache_aware" help:"How a worker is chosen: random, round_robin, power_of_two (the less loaded of two) or cache_aware (who has seen the prompt's beginning)."`
	PrefillPolicy string `name:"prefill-policy" enum:",random,round_robin,power_of_two,cache_aware" default:"" help:"That of prefill servers; default: --policy."`
	DecodePolicy  string `name:"decode-policy" enum:",random,round_robin,power_of_two,cache_aware" default:"" help:"That of decode servers; default: --policy."`

	CacheThreshold float64 `name:"cache-threshold" default:"0.3" help:"cache_aware: part of a prompt that a worker must have seen to be preferred."`
	BalanceAbs     int     `name:"balance-abs-threshold" limits:"0.." default:"64" help:"cache_aware: where loads differ by more requests than this, and by more than --balance-rel-threshold, the least loaded is taken."`
	BalanceRel     float64 `name:"balance-rel-threshold" limits:"0.." default:"1.5" help:"cache_aware: the factor of --balance-abs-threshold."`
	MaxTreeSize    int     `name:"max-tree-size" limits:"1.." default:"67108864" help:"cache_aware: bytes of prompts remembered for each worker."`

	APIKey          string   `name:"api-key" env:"STEPSCOPE_API_KEY" placeholder:"KEY" help:"Requests must bring it as a bearer token, and workers get it. Without one workers get the client's."`
	APIKeyFile      string   `name:"api-key-file" into:"api-key" placeholder:"FILE" help:"File with the key that requests must bring."`
	Insecure        bool     `name:"insecure" help:"Beyond loopback, serve whoever reaches the port, without a key."`
	AdminAPIKey     string   `name:"admin-api-key" env:"STEPSCOPE_ADMIN_API_KEY" placeholder:"KEY" help:"The same for profile, flush and abort requests."`
	AdminAPIKeyFile string   `name:"admin-api-key-file" into:"admin-api-key" placeholder:"FILE" help:"File with that key alone."`
	WorkerKey       string   `name:"worker-api-key" env:"STEPSCOPE_WORKER_API_KEY" placeholder:"KEY" help:"Workers get this instead."`
	WorkerKeyFile   string   `name:"worker-api-key-file" into:"worker-api-key" placeholder:"FILE" help:"File with that key alone."`
	AllowedHost     []string `name:"allowed-host" sep:"none" placeholder:"NAME" help:"On loopback without a key: another name that requests may be addressed to."`

	RequestTimeout int   `name:"request-timeout-secs" limits:"1.." default:"1800" help:"To the first byte of a worker's reply, and from one to the next."`
	ConnectTimeout int   `name:"connect-timeout-secs" limits:"1.." default:"5" help:"To connect to a worker."`
	StartTimeout   int   `name:"worker-startup-timeout-secs" limits:"1.." default:"1800" help:"By then requests can be served, or the router ends."`
	MaxRetries     int   `name:"retry-max-retries" limits:"0.." default:"5" help:"Further workers that a request is tried on, while nothing of a reply has been passed on."`
	NoRetries      bool  `name:"disable-retries" help:"Try each request on one worker alone."`
	MaxPayload     int64 `name:"max-payload-size" limits:"1.." default:"536870912" help:"Bytes of the largest request."`

	HealthEndpoint  string `name:"health-check-endpoint" default:"/health" placeholder:"PATH" help:"Where workers are probed."`
	HealthInterval  int    `name:"health-check-interval-secs" limits:"1.." default:"10" help:"Seconds between probes of a worker that answers nothing else."`
	HealthTimeout   int    `name:"health-check-timeout-secs" limits:"1.." default:"5" help:"Seconds for a probe."`
	HealthFailures  int    `name:"health-failure-threshold" limits:"1.." default:"3" help:"Failed probes until a worker is left out. One that refuses connections is at once."`
	HealthSuccesses int    `name:"health-success-threshold" limits:"1.." default:"2" help:"Probes that succeed until it is back."`

	PrometheusPort int           `name:"prometheus-port" limits:"0.." placeholder:"PORT" help:"Serve /metrics there too."`
	PrometheusHost string        `name:"prometheus-host" default:"127.0.0.1" hidden:""`
	LogLevel       string        `name:"log-level" enum:"debug,info,warning,warn,error" default:"info" help:"debug, info, warning or error."`
	DrainTimeout   time.Duration `name:"shutdown-timeout" default:"30s" help:"How long running requests may take after SIGTERM."`

	// What SGLang's command lines bring along and this router has no use for.
	MiniLB           bool `name:"mini-lb" hidden:""`
	EvictionInterval int  `name:"eviction-interval-secs" hidden:""`
	StartupInterval  int  `name:"worker-startup-check-interval" hidden:""`
	NoBreaker        bool `name:"disable-circuit-breaker" hidden:""`
}

// Help is the end of the verb's help text.
func (c *routeCmd) Help() string {
	return `A router in front of SGLang's servers or stepscope's, with the routes and flags of SGLang's own. Unlike that it has profile routes, which reach every
server behind it (or those of ?role=prefill, ?role=decode, ?worker=ID): stepscope profile --url ROUTER records all at once. Logs go to stderr.

Examples:
  stepscope route --worker-urls http://gpu1:30000 http://gpu2:30000 --policy round_robin
  stepscope route --pd-disaggregation --prefill http://p0:30000 8998 --decode http://d0:30000 --decode http://d1:30000
  curl -X POST 'localhost:30000/start_profile?role=decode' -d '{"num_steps": 10}'
  curl localhost:30000/workers`
}

// Run routes until it is told to end.
func (c *routeCmd) Run(ctx context.Context, e *env) error {
	opt, err := c.options()
	if err != nil {
		return usageError{err}
	}
	log := launch.NewLog(e.stderr)
	opt.Log = log.Structured(levelOf(c.LogLevel))
	rt, err := route.New(opt)
	if err != nil {
		return usageError{err}
	}
	ln, err := listen(c.Host, c.Port, c.APIKey, c.Insecure)
	if err != nil {
		return err
	}
	defer ln.Close()
	if c.PrometheusPort > 0 {
		stop, err := serveMetrics(rt, c.PrometheusHost, c.PrometheusPort)
		if err != nil {
			return err
		}
		defer stop()
	}
	log.Line(fmt.Sprintf("Listening on http://%s", ln.Addr()))
	return rt.Serve(ctx, ln)
}

// serveMetrics serves /metrics, and nothing else, on a port of its own.
func serveMetrics(rt *route.Router, host string, port int) (stop func(), err error) {
	ln, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("--prometheus-port: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", rt.Metrics)
	hs := &http.Server{Handler: mux, ReadHeaderTimeout: 20 * time.Second}
	ended := make(chan struct{})
	go func() { defer close(ended); hs.Serve(ln) }()
	return func() { hs.Close(); <-ended }, nil
}

// options looks at the values and makes of them what package route wants.
func (c *routeCmd) options() (o route.Options, err error) {
	switch {
	case c.Port > 65535 || c.PrometheusPort > 65535:
		return o, errors.New("--port, --prometheus-port: give 65535 or less")
	case math.IsNaN(c.CacheThreshold) || c.CacheThreshold < 0 || c.CacheThreshold > 1:
		return o, fmt.Errorf("--cache-threshold %v: give a part of the prompt, from 0 to 1", c.CacheThreshold)
	case c.DrainTimeout <= 0:
		return o, fmt.Errorf("--shutdown-timeout %v: give a time, such as 30s", c.DrainTimeout)
	case !strings.HasPrefix(c.HealthEndpoint, "/"):
		return o, fmt.Errorf("--health-check-endpoint %q: give a path, such as /health", c.HealthEndpoint)
	case c.PD && len(c.WorkerURLs) > 0, len(c.WorkerURLs) > 0 && len(c.Prefill)+len(c.Decode) > 0:
		return o, errors.New("--worker-urls are for servers that take whole requests: with --pd-disaggregation give --prefill and --decode")
	case !c.PD && len(c.Prefill)+len(c.Decode) > 0:
		return o, errors.New("--prefill and --decode need --pd-disaggregation")
	case c.PD && (len(c.Prefill) == 0 || len(c.Decode) == 0):
		return o, errors.New("--pd-disaggregation needs --prefill and --decode, each at least once")
	case !c.PD && len(c.WorkerURLs) == 0:
		return o, errors.New("no server to route to: give --worker-urls, or --pd-disaggregation with --prefill and --decode")
	}
	seconds := func(n int) time.Duration { return time.Duration(n) * time.Second }
	o = route.Options{
		Policy: c.Policy, PrefillPolicy: c.PrefillPolicy, DecodePolicy: c.DecodePolicy,
		Cache:  route.CacheOptions{Threshold: c.CacheThreshold, BalanceAbs: c.BalanceAbs, BalanceRel: c.BalanceRel, MaxTreeSize: c.MaxTreeSize},
		APIKey: c.APIKey, AdminAPIKey: c.AdminAPIKey, Insecure: c.Insecure, WorkerKey: c.WorkerKey, AllowedHosts: c.AllowedHost,
		ConnectTimeout: seconds(c.ConnectTimeout), RequestTimeout: seconds(c.RequestTimeout), StartTimeout: seconds(c.StartTimeout), DrainTimeout: c.DrainTimeout,
		MaxRetries: c.MaxRetries, MaxBodyBytes: c.MaxPayload,
		HealthPath: c.HealthEndpoint, HealthInterval: seconds(c.HealthInterval), HealthTimeout: seconds(c.HealthTimeout),
		HealthFailures: c.HealthFailures, HealthSuccesses: c.HealthSuccesses,
	}
	if c.NoRetries || c.MaxRetries == 0 {
		o.MaxRetries = -1
	}
	for _, url := range c.WorkerURLs {
		o.Workers = append(o.Workers, route.Backend{URL: url})
	}
	if o.Workers, err = appendPrefill(o.Workers, c.Prefill); err != nil {
		return o, err
	}
	for _, url := range c.Decode {
		o.Workers = append(o.Workers, route.Backend{URL: url, Role: api.Decode})
	}
	return o, nil
}

// appendPrefill reads the values of --prefill: URLs, each perhaps with the port of its
// bootstrap server behind it, or none.
func appendPrefill(out []route.Backend, values []string) ([]route.Backend, error) {
	url := false // the last value was one
	for _, v := range values {
		port, err := strconv.Atoi(v)
		switch {
		case err != nil && !strings.EqualFold(v, "none"):
			out, url = append(out, route.Backend{URL: v, Role: api.Prefill}), true
			continue
		case !url:
			return nil, fmt.Errorf("--prefill %s: give the URL before the port of its bootstrap server", v)
		case err == nil && (port < 1 || port > 65535):
			return nil, fmt.Errorf("--prefill %s %s: the port of its bootstrap server is from 1 to 65535", out[len(out)-1].URL, v)
		}
		out[len(out)-1].BootstrapPort, url = port, false
	}
	return out, nil
}

// levelOf is the level of a name of --log-level.
func levelOf(name string) slog.Level {
	switch name {
	case "debug":
		return slog.LevelDebug
	case "warning", "warn":
		return slog.LevelWarn
	case "error":
		return slog.LevelError
	}
	return slog.LevelInfo
}
