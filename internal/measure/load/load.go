// Package load sends a plan of requests to a server, each at its time whatever
// became of the others, and yields a [bench.Record] for each.
//
// Receive times are the kernel's where it gives them (Linux, plain TCP:
// SO_TIMESTAMPING), so that a client which reads late does not measure itself;
// elsewhere they are taken when the read returns, and the result says so. Every
// result carries a verdict on its own timing. Times are int64 ns from the start of
// the run.
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

// Options say where and how to send. Only Backend and BaseURL are needed.
type Options struct {
	Backend string // see Backends
	BaseURL string // http://host:port, https as well
	Model   string

	// Header are "Name: value" pairs over the usual ones. OPENAI_API_KEY and
	// API_KEY of Getenv make the Authorization header, as in SGLang's client;
	// a nil Getenv has no keys.
	Header map[string]string
	TLS    *tls.Config // nil: the usual checks
	Getenv func(string) string

	// What is asked for. ExtraBody is merged over it, and the request's own Extra
	// over that.
	Stream              bool
	Temperature, TopP   float64 // native only, as in SGLang's client; a TopP of 0 is 1
	IgnoreEOS           bool
	ReturnLogprob       bool
	TopLogprobs         int
	TokenIDsLogprob     []int
	LogprobStartLen     int // SGLang's client sends -1
	ReturnRoutedExperts bool
	CacheReport         bool // ask for, and keep, cached_tokens_details
	// IncludeUsage asks the OpenAI routes for the token counts of the server,
	// ContinuousUsage for one in each event. Conversations always ask for the first.
	IncludeUsage, ContinuousUsage bool
	ExtraBody                     map[string]json.RawMessage
	// RequestID names a request: rid in SGLang's bodies, X-Request-Id for others.
	RequestID func(index, turn int) string

	// Schedule has the time of each request, from the start of the run, in order;
	// nil: all at once. MaxConcurrency holds requests, or whole conversations, back
	// while so many are in the air; 0: never.
	Schedule       []time.Duration
	MaxConcurrency int
	// NewConnPerRequest opens a connection for each request, as SGLang's client
	// does. Else connections are used again, and new ones made when none is idle.
	NewConnPerRequest bool

	// Limits; 0: the default, negative: none.
	ConnectTimeout time.Duration // 30 s
	HeaderTimeout  time.Duration // from sent to the status line: 30 min
	EventTimeout   time.Duration // between events of a stream, or pieces of another reply: 10 min; comments are none
	Timeout        time.Duration // of the whole request: 6 h, as SGLang's
	MaxEvent       int           // bytes of one event: 16 MiB

	KeepText bool
	// Retokenize counts the tokens of texts, after the run; nil: nobody can.
	Retokenize func(ctx context.Context, texts []string) ([]int, error)

	UserStamps bool  // do not ask the kernel for receive times
	KeepGC     bool  // leave the collector as it is; else it rests while the run lasts
	Live       *Live // is filled while the run lasts

	// Tap sees every event of each request with the time by the kernel (0: none)
	// and by the read.
	Tap func(index int, data []byte, kernel, user int64)
}

// Result is what became of a plan.
type Result struct {
	Records   []bench.Record // in the order of the plan, rounds of a conversation in theirs
	Health    bench.Health
	Stamps    bench.Stamps
	Start     time.Time // time 0
	StartWall int64     // wall clock at time 0, ns since the epoch
	Drift     int64     // by how much the wall clock ran from the monotonic one
	Duration  int64     // from the first request until the last ended
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

// Run sends the plan and waits for all of it. The error is about the plan: a
// request that fails is a record that says why. An error of Retokenize comes with
// the result. When ctx ends, what is in the air ends as [bench.Interrupted], what
// was never sent as [bench.NotSent], and Run gives what there is.
func Run(ctx context.Context, reqs []workload.Request, opt Options) (*Result, error) {
	opt.defaults()
	if len(reqs) == 0 {
		return nil, errors.New("load: the plan has no requests")
	}
	if opt.Schedule != nil && len(opt.Schedule) != len(reqs) {
		return nil, fmt.Errorf("load: %d requests have %d times in the schedule", len(reqs), len(opt.Schedule))
	}
	for i := 1; i < len(opt.Schedule); i++ {
		if opt.Schedule[i] < opt.Schedule[i-1] {
			return nil, fmt.Errorf("load: request %d is scheduled before the one ahead of it", i)
		}
	}
	t, err := newTarget(ctx, &opt)
	if err != nil {
		return nil, err
	}
	r := &run{opt: &opt, target: t}
	// Everything that can be made before the clock starts is.
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
