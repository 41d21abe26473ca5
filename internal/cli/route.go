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

// routeCmd is "route", the counterpart of SGLang's launch_router and its mini load balancer.
type routeCmd struct {
	Host string `name:"host" default:"127.0.0.1" help:"Address to listen on; beyond loopback --api-key is needed, or --insecure."`
	Port int    `name:"port" limits:"0.." default:"30000" help:"Port to listen on; 0: any free one, see the log."`

	WorkerURLs []string `name:"worker-urls" sep:"none" placeholder:"URL" without:"pd-disaggregation: such workers handle whole requests" help:"Servers that handle whole requests; give several, or repeat the flag."`
	PD         bool     `name:"pd-disaggregation" needs:"prefill; decode" help:"Route to separate prefill and decode servers: give --prefill and --decode."`
	Prefill    []string `name:"prefill" sep:"none" placeholder:"URL" needs:"pd-disaggregation" help:"A prefill server, optionally followed by the port of its bootstrap server (default: as it reports); repeat it for several."`
	Decode     []string `name:"decode" sep:"none" placeholder:"URL" needs:"pd-disaggregation" help:"A decode server; repeat it for several."`

	Policy        string `name:"policy" enum:"random,round_robin,power_of_two,cache_aware" default:"cache_aware" help:"How a worker is chosen: random, round_robin, power_of_two (the less loaded of two) or cache_aware (the one that has seen the beginning of the prompt)."`
	PrefillPolicy string `name:"prefill-policy" enum:",random,round_robin,power_of_two,cache_aware" default:"" help:"Policy for prefill servers; default: --policy."`
	DecodePolicy  string `name:"decode-policy" enum:",random,round_robin,power_of_two,cache_aware" default:"" help:"Policy for decode servers; default: --policy."`

	CacheThreshold float64 `name:"cache-threshold" default:"0.3" help:"cache_aware: share of a prompt that a worker must have seen to be preferred."`
	BalanceAbs     int     `name:"balance-abs-threshold" limits:"0.." default:"64" help:"cache_aware: choose the least loaded worker if loads differ by more requests than this and by more than --balance-rel-threshold."`
	BalanceRel     float64 `name:"balance-rel-threshold" limits:"0.." default:"1.5" help:"cache_aware: factor between loads, see --balance-abs-threshold."`
	MaxTreeSize    int     `name:"max-tree-size" limits:"1.." default:"67108864" help:"cache_aware: bytes of prompts remembered for each worker."`

	APIKey          string   `name:"api-key" env:"STEPSCOPE_API_KEY" placeholder:"KEY" help:"Key that requests must send as a bearer token, passed on to workers. Without one, workers get the client's."`
	APIKeyFile      string   `name:"api-key-file" into:"api-key" placeholder:"FILE" help:"File with the key that requests must send."`
	Insecure        bool     `name:"insecure" help:"Beyond loopback, serve anyone who reaches the port, without a key."`
	AdminAPIKey     string   `name:"admin-api-key" env:"STEPSCOPE_ADMIN_API_KEY" placeholder:"KEY" help:"Key for profile, flush and abort requests."`
	AdminAPIKeyFile string   `name:"admin-api-key-file" into:"admin-api-key" placeholder:"FILE" help:"File that holds only that key."`
	WorkerKey       string   `name:"worker-api-key" env:"STEPSCOPE_WORKER_API_KEY" placeholder:"KEY" help:"Key passed on to workers instead."`
	WorkerKeyFile   string   `name:"worker-api-key-file" into:"worker-api-key" placeholder:"FILE" help:"File that holds only that key."`
	AllowedHost     []string `name:"allowed-host" sep:"none" placeholder:"NAME" help:"On loopback without a key: another host name that requests may use."`

	RequestTimeout int   `name:"request-timeout-secs" limits:"1.." default:"1800" help:"Seconds to the first byte of a worker's reply, and from one to the next."`
	ConnectTimeout int   `name:"connect-timeout-secs" limits:"1.." default:"5" help:"Seconds to connect to a worker."`
	StartTimeout   int   `name:"worker-startup-timeout-secs" limits:"1.." default:"1800" help:"Seconds after which the router ends if it cannot serve requests."`
	MaxRetries     int   `name:"retry-max-retries" limits:"0.." default:"5" help:"Further workers to try a request on, while no part of a reply has been passed on."`
	NoRetries      bool  `name:"disable-retries" help:"Try each request on only one worker."`
	MaxPayload     int64 `name:"max-payload-size" limits:"1.." default:"536870912" help:"Bytes of the largest request."`

	HealthEndpoint  string `name:"health-check-endpoint" default:"/health" placeholder:"PATH" help:"Path at which workers are probed."`
	HealthInterval  int    `name:"health-check-interval-secs" limits:"1.." default:"10" help:"Seconds between probes of a worker without other replies."`
	HealthTimeout   int    `name:"health-check-timeout-secs" limits:"1.." default:"5" help:"Seconds that a probe may take."`
	HealthFailures  int    `name:"health-failure-threshold" limits:"1.." default:"3" help:"Failed probes before a worker is left out. One that refuses connections is left out at once."`
	HealthSuccesses int    `name:"health-success-threshold" limits:"1.." default:"2" help:"Successful probes before it is back."`

	PrometheusPort int           `name:"prometheus-port" limits:"0.." placeholder:"PORT" help:"Also serve /metrics on this port."`
	PrometheusHost string        `name:"prometheus-host" default:"127.0.0.1" hidden:""`
	LogLevel       string        `name:"log-level" enum:"debug,info,warning,warn,error" default:"info" help:"debug, info, warning or error."`
	DrainTimeout   time.Duration `name:"shutdown-timeout" default:"30s" help:"How long running requests may take after SIGTERM."`

	// These flags are accepted because SGLang's command lines contain them. This router does not use them.
	MiniLB           bool `name:"mini-lb" hidden:""`
	EvictionInterval int  `name:"eviction-interval-secs" hidden:""`
	StartupInterval  int  `name:"worker-startup-check-interval" hidden:""`
	NoBreaker        bool `name:"disable-circuit-breaker" hidden:""`
}

// Help returns the end of the verb's help text.
func (c *routeCmd) Help() string {
	return `A router in front of SGLang's servers or stepscope's, with the routes and flags of SGLang's router. In addition it has profile routes, which reach
every server behind it (or those of ?role=prefill, ?role=decode, ?worker=ID): stepscope profile --url ROUTER records all at once. Logs go to stderr.

Examples:
  stepscope route --worker-urls http://gpu1:30000 http://gpu2:30000 --policy round_robin
  stepscope route --pd-disaggregation --prefill http://p0:30000 8998 --decode http://d0:30000 --decode http://d1:30000
  curl -X POST 'localhost:30000/start_profile?role=decode' -d '{"num_steps": 10}'
  curl localhost:30000/workers`
}

// Run routes requests until it is interrupted.
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

// serveMetrics serves only /metrics, on a separate port.
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

// options validates the flags and converts them for package route.
func (c *routeCmd) options() (o route.Options, err error) {
	switch {
	case c.Port > 65535 || c.PrometheusPort > 65535:
		return o, errors.New("--port, --prometheus-port: give 65535 or less")
	case math.IsNaN(c.CacheThreshold) || c.CacheThreshold < 0 || c.CacheThreshold > 1:
		return o, fmt.Errorf("--cache-threshold %v: give a share of the prompt, from 0 to 1", c.CacheThreshold)
	case c.DrainTimeout <= 0:
		return o, fmt.Errorf("--shutdown-timeout %v: give a time, such as 30s", c.DrainTimeout)
	case !strings.HasPrefix(c.HealthEndpoint, "/"):
		return o, fmt.Errorf("--health-check-endpoint %q: give a path, such as /health", c.HealthEndpoint)
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

// appendPrefill parses the values of --prefill. The values are URLs. A URL may be followed by the port of the server's
// bootstrap server, or by the word none.
func appendPrefill(out []route.Backend, values []string) ([]route.Backend, error) {
	url := false // the previous value was a URL
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

// levelOf returns the level for a value of --log-level.
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
