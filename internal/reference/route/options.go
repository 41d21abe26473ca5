package route

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/wire"
)

// Backend describes a worker.
type Backend struct {
	URL           string
	Role          string // api.Prefill, api.Decode, or "" for a worker that serves complete requests
	BootstrapPort int    // bootstrap port of a prefill worker; 0: the port that the worker reports, if it reports one
}

// Options configure a Router. Zero times and counts mean their defaults.
type Options struct {
	Workers []Backend

	// Policy applies to plain workers and to workers whose role has no separate policy. Each value must be one of
	// Policies. Default: cache_aware.
	Policy, PrefillPolicy, DecodePolicy string
	Cache                               CacheOptions

	APIKey      string // required from clients, sent to workers
	AdminAPIKey string // replaces APIKey on profile, flush and abort routes
	Insecure    bool   // no key is required beyond loopback
	WorkerKey   string // sent to workers instead of APIKey and AdminAPIKey
	// AllowedHosts applies to a router that listens on loopback without a key. It lists additional host names with
	// which clients may address that router.
	AllowedHosts []string

	ConnectTimeout time.Duration // default 5 s
	RequestTimeout time.Duration // time limit for the first byte of a reply and for each further byte; default 30 min
	WriteTimeout   time.Duration // longest stall of a client that does not read; default 60 s
	BodyTimeout    time.Duration // limit for reading a request's body; default 60 s
	DrainTimeout   time.Duration // time limit for running requests at shutdown; default 30 s
	StartTimeout   time.Duration // time within which the first workers must be up; default 30 min
	MaxRetries     int           // number of further workers tried for a failed request; below 0: none; default 5
	MaxBodyBytes   int64         // default 512 MiB

	HealthPath      string        // default /health
	HealthInterval  time.Duration // time between probes of a worker that is up and sends no other replies; default 10 s
	HealthTimeout   time.Duration // default 5 s
	HealthFailures  int           // consecutive failures after which a worker counts as down; default 3
	HealthSuccesses int           // consecutive successes after which a worker counts as up again; default 2

	Log *slog.Logger // nil: none

	// retryHealth is the pause between probes of an unhealthy worker.
	retryHealth time.Duration
}

// CacheOptions configure the policy cache_aware. If all fields are zero, the values are 0.3, 64, 1.5 and 64 MiB.
type CacheOptions struct {
	Threshold   float64 // fraction of a prompt that a worker must have seen to be preferred
	BalanceAbs  int     // number of requests; see cacheAware
	BalanceRel  float64
	MaxTreeSize int // bytes of prompts remembered per worker
}

// Policies are the policies for choosing a worker.
var Policies = []string{"random", "round_robin", "power_of_two", "cache_aware"}

func (o Options) withDefaults() Options {
	o.Policy = cmp.Or(o.Policy, "cache_aware")
	o.PrefillPolicy = cmp.Or(o.PrefillPolicy, o.Policy)
	o.DecodePolicy = cmp.Or(o.DecodePolicy, o.Policy)
	if o.Cache == (CacheOptions{}) {
		o.Cache = CacheOptions{Threshold: 0.3, BalanceAbs: 64, BalanceRel: 1.5, MaxTreeSize: 64 << 20}
	}
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, 5*time.Second)
	o.RequestTimeout = cmp.Or(o.RequestTimeout, 30*time.Minute)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, time.Minute)
	o.BodyTimeout = cmp.Or(o.BodyTimeout, time.Minute)
	o.DrainTimeout = cmp.Or(o.DrainTimeout, 30*time.Second)
	o.StartTimeout = cmp.Or(o.StartTimeout, 30*time.Minute)
	o.MaxRetries = cmp.Or(o.MaxRetries, 5)
	o.MaxBodyBytes = cmp.Or(o.MaxBodyBytes, 512<<20)
	o.HealthPath = cmp.Or(o.HealthPath, "/health")
	o.HealthInterval = cmp.Or(o.HealthInterval, 10*time.Second)
	o.HealthTimeout = cmp.Or(o.HealthTimeout, 5*time.Second)
	o.HealthFailures = cmp.Or(o.HealthFailures, 3)
	o.HealthSuccesses = cmp.Or(o.HealthSuccesses, 2)
	o.retryHealth = cmp.Or(o.retryHealth, min(time.Second, o.HealthInterval))
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// check returns an error for invalid values of options that have no default.
func (o *Options) check() error {
	roles := map[string]int{}
	urls := map[string]bool{}
	for i := range o.Workers {
		b := &o.Workers[i]
		u, err := url.Parse(b.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("worker %q is not a server URL: give one such as http://localhost:30001", wire.WithoutUser(b.URL))
		}
		if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return fmt.Errorf("the URL of worker %s has more than a host and a path", u.Host)
		}
		b.URL = strings.TrimRight(b.URL, "/")
		if urls[b.URL] {
			return fmt.Errorf("worker %s is given twice", b.URL)
		}
		urls[b.URL] = true
		roles[b.Role]++
	}
	switch {
	case len(o.Workers) == 0:
		return fmt.Errorf("no worker to route to")
	case roles[""] > 0 && len(roles) > 1:
		return fmt.Errorf("workers with and without a role cannot be mixed")
	case roles[""] == 0 && (roles[api.Prefill] == 0 || roles[api.Decode] == 0):
		return fmt.Errorf("prefill-decode disaggregation needs a worker of each role: there are %d prefill and %d decode", roles[api.Prefill], roles[api.Decode])
	case o.Cache.Threshold < 0 || o.Cache.Threshold > 1:
		return fmt.Errorf("cache threshold %v: give a fraction of the prompt, from 0 to 1", o.Cache.Threshold)
	case o.Cache.BalanceAbs < 0 || o.Cache.BalanceRel < 0 || o.Cache.MaxTreeSize < 0:
		return fmt.Errorf("balance thresholds %d and %v, tree size %d: they cannot be negative", o.Cache.BalanceAbs, o.Cache.BalanceRel, o.Cache.MaxTreeSize)
	}
	for _, p := range []string{o.Policy, o.PrefillPolicy, o.DecodePolicy} {
		if !slices.Contains(Policies, p) {
			return fmt.Errorf("policy %q: give one of %s", p, strings.Join(Policies, ", "))
		}
	}
	return nil
}
