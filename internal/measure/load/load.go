// Package load sends a plan of requests to a server and returns a [bench.Record] for each request. Each request is sent
// at its scheduled time, regardless of whether earlier requests have ended.
//
// On Linux with plain TCP, receive times are the kernel's timestamps (SO_TIMESTAMPING), which do not include delays of
// the client. Without kernel timestamps, the receive time is taken when the read returns. The result records the source
// of the receive times. Every result includes a verdict on the accuracy of its times. Times are int64 ns from the start
// of the run.
package load

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/measure/workload"
)

// Options configures a load. Only Backend and BaseURL are required.
type Options struct {
	Backend string // one of Backends, or Images
	BaseURL string // http://host:port, or https
	Path    string // route of the requests; "": the backend's
	Model   string

	// Header holds header fields, each "Name: value", that override the default fields. As in SGLang's client, the
	// variables OPENAI_API_KEY and API_KEY, read with Getenv, set the Authorization header. If Getenv is nil, neither
	// variable is set.
	Header map[string]string
	TLS    *tls.Config // nil: default verification
	Getenv func(string) string

	// Parameters of the requests. ExtraBody overrides these parameters, and the Extra of a request overrides ExtraBody.
	Stream              bool
	Temperature, TopP   float64 // native only, as in SGLang's client; a TopP of 0 means 1
	IgnoreEOS           bool
	ReturnLogprob       bool
	TopLogprobs         int
	TokenIDsLogprob     []int
	LogprobStartLen     int // SGLang's client sends -1
	ReturnRoutedExperts bool
	CacheReport         bool // request and keep cached_tokens_details
	// IncludeUsage requests the server's token counts on the OpenAI routes. ContinuousUsage requests a token count in
	// each event. Conversations always use IncludeUsage.
	IncludeUsage, ContinuousUsage bool
	ExtraBody                     map[string]json.RawMessage
	// RequestID returns the id of a request. The id is sent as rid in SGLang's bodies, and as the header X-Request-Id
	// to other backends.
	RequestID func(index, turn int) string

	// Schedule holds the send time of each request, in order, from the start of the run; nil: all requests are sent at
	// once. MaxConcurrency limits the number of requests or whole conversations in flight; 0: no limit.
	Schedule       []time.Duration
	MaxConcurrency int
	// For is the time after which no request is sent; 0: no limit. Requests that were not sent by then are not part of
	// the result. Grace is the time after For at which requests in flight are ended; nil: they are not ended.
	For   time.Duration
	Grace *time.Duration
	// If NewConnPerRequest is set, each request opens a new connection, as in SGLang's client. Otherwise idle
	// connections are reused.
	NewConnPerRequest bool

	// Limits. 0 means the default, which is given in each comment. A negative value means no limit.
	ConnectTimeout time.Duration // 30 s
	HeaderTimeout  time.Duration // from the end of sending to the status line: 30 min
	// EventTimeout is the time between events of a stream, where comments do not count, or between pieces of any other
	// reply: 10 min.
	EventTimeout time.Duration
	Timeout      time.Duration // whole request: 6 h, as in SGLang
	MaxEvent     int           // bytes of one event, or of a reply that is not a stream: 16 MiB

	KeepText bool
	// Retokenize counts the tokens of texts after the run; nil: not available.
	Retokenize func(ctx context.Context, texts []string) ([]int, error)

	UserStamps bool  // do not use the kernel's receive times
	KeepGC     bool  // keep the garbage collector on during the run; default: off
	Live       *Live // updated during the run

	// Tap receives every event of each request, with the kernel's receive time (0: none) and the time of the read.
	Tap func(index int, data []byte, kernel, user int64)
	// Ended is called at the end of each request. body is the body of a reply that is not a stream. Calls may overlap.
	Ended func(index int, body []byte)
}

// Result is the result of a plan.
type Result struct {
	Records   []bench.Record // in plan order, with the rounds of each conversation in order
	Health    bench.Health
	Stamps    bench.Stamps
	Start     time.Time // time 0
	StartWall int64     // wall clock at time 0, ns since the epoch
	Drift     int64     // drift of the wall clock against the monotonic clock during the run
	Duration  int64     // from the first request to the end of the last request
}

func (o *Options) defaults() {
	limit := func(d *time.Duration, absent time.Duration) {
		if *d == 0 {
			*d = absent
		}
		if *d < 0 {
			*d = 1 << 62
		}
	}
	limit(&o.ConnectTimeout, 30*time.Second)
	limit(&o.HeaderTimeout, 30*time.Minute)
	limit(&o.EventTimeout, 10*time.Minute)
	limit(&o.Timeout, 6*time.Hour)
	if o.MaxEvent <= 0 {
		o.MaxEvent = 16 << 20
	}
	o.TopP = cmp.Or(o.TopP, 1)
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if o.Live == nil {
		o.Live = &Live{}
	}
}

// Run sends the plan and waits for all requests. Run returns an error only if the plan is invalid or if Retokenize
// fails. A failed request is not an error: the record of the request holds the reason. An error of Retokenize is
// returned together with the result. When ctx ends, Run returns the partial result. Requests in flight then end as
// [bench.Interrupted], as at the end of Grace, and unsent requests end as [bench.NotSent].
func Run(ctx context.Context, reqs []workload.Request, opt Options) (*Result, error) {
	opt.defaults()
	if len(reqs) == 0 {
		return nil, errors.New("load: the plan has no requests")
	}
	if opt.Schedule != nil && len(opt.Schedule) != len(reqs) {
		return nil, fmt.Errorf("load: the schedule has %[2]d times for %[1]d requests", len(reqs), len(opt.Schedule))
	}
	for i := 1; i < len(opt.Schedule); i++ {
		if opt.Schedule[i] < opt.Schedule[i-1] {
			return nil, fmt.Errorf("load: request %d is scheduled before its predecessor", i)
		}
	}
	t, err := newTarget(ctx, &opt)
	if err != nil {
		return nil, err
	}
	r := &run{opt: &opt, target: t}
	// Prepare as much as possible before the clock starts.
	r.flights = make([]*flight, len(reqs))
	records := 0
	for i := range reqs {
		records += max(len(reqs[i].Rounds), 1)
	}
	r.records = make([]bench.Record, records)
	at := 0
	for i := range reqs {
		rounds := max(len(reqs[i].Rounds), 1)
		f := &flight{run: r, req: &reqs[i], index: i, recs: r.records[at : at+rounds], first: at}
		at += rounds
		if err := f.prepare(); err != nil {
			return nil, fmt.Errorf("load: request %d: %w", i, err)
		}
		r.flights[i] = f
	}
	return r.do(ctx)
}
