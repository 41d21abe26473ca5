// Package experiment runs a benchmark. It waits for the server, sends the load, captures a profiling window and stores
// the result as a self-describing run. The steps are in the same order as in SGLang's bench_serving (section 4.3 of
// SGLang's contract).
package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/api/servers"
	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/base/live"
	"github.com/stepscope/stepscope/internal/capture/gpus"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/measure/load"
	"github.com/stepscope/stepscope/internal/measure/workload"
	"github.com/stepscope/stepscope/internal/runs"
)

// Serving is a benchmark of a running server.
type Serving struct {
	Server    *client.Server
	Tokenizer string // --tokenizer
	Spec      workload.Spec
	Arrivals  workload.Arrivals
	Load      load.Options // all options of the load except the schedule
	Run       bench.Run    // the fields known in advance: tool, backend, data set, tag, args

	Ready        time.Duration // timeout for the server to become ready; 0: do not wait
	ReadyWorkers int           // healthy workers that a router must have to be ready; 0: no router
	Warmup       int           // warm-up requests; 0: none
	Flush        bool
	FlushTimeout time.Duration
	Pause        time.Duration // pause between the warm-up and the load
	// Hold is called after the warm-up and returns when the load may begin; nil: do not wait.
	Hold        func(context.Context) error
	Repeat      int // number of runs of the same plan; 0: one
	SLO         bench.SLO
	Profile     *Profile  // nil: none
	Percentiles []float64 // additional percentiles, from 0 to 100
	GPUs        string    // source of samples of the GPUs, see gpus.Start; "": none
	Store       *runs.Run
	writer      *runs.RecordWriter // writes records to Store; nil until there are records

	Log    func(line string)              // logs progress for the user
	Warn   func(line string)              // logs problems; nil: use Log
	Frame  func(live.Frame) (end func())  // displays work other than a run; nil: no display
	Show   func(*load.Shown) (end func()) // displays a run in progress; nil: no display
	Follow bool                           // the display of a run includes the server's queue
}

// Ready is the line printed when a load is ready to begin.
const Ready = "ready"

// Measured is one run of the plan.
type Measured struct {
	Run     *bench.Run
	Records []bench.Record
	Summary *bench.Summary
	Server  []runs.Sample // samples of the server's metrics during the run
	GPUs    []gpus.Usage
	states  []gpus.State
}

// Outcome is the result of a benchmark.
type Outcome struct {
	Runs     []Measured
	PlanHash string
	Capture  *Captured // nil: none
	// Interrupted reports whether the user ended the benchmark early. The data of the requests that ended before the
	// interrupt are complete.
	Interrupted bool
}

// Last returns the last run. Outputs that show only one run show the last run.
func (o *Outcome) Last() *Measured { return &o.Runs[len(o.Runs)-1] }

// Do runs the benchmark. It returns an outcome together with an error if the load was measured but a later step failed.
func (s *Serving) Do(ctx context.Context) (*Outcome, error) {
	if s.Log == nil {
		s.Log = func(string) {}
	}
	if s.Warn == nil {
		s.Warn = s.Log
	}
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	if err := s.model(ctx); err != nil {
		return nil, err
	}
	plan, times, err := s.plan(ctx)
	if err != nil {
		return nil, err
	}
	out := &Outcome{PlanHash: workload.Hash(plan, times)}
	err = s.repeat(ctx, out, plan, times)
	if len(out.Runs) == 0 {
		return nil, err
	}
	if ctx.Err() != nil {
		out.Interrupted, err = true, nil
	}
	return out, errors.Join(err, s.keep(out))
}

// repeat runs the plan the requested number of times. If a run fails, the measurements of all earlier runs are kept.
func (s *Serving) repeat(ctx context.Context, out *Outcome, plan []workload.Request, times []time.Duration) error {
	for n := range max(s.Repeat, 1) {
		if n > 0 {
			s.Log(fmt.Sprintf("Run %d of %d", n+1, s.Repeat))
			var err error
			if plan, times, err = s.anew(ctx, n); err != nil {
				return err
			}
		}
		if err := s.before(ctx, plan); err != nil {
			return err
		}
		if s.Hold != nil && n == 0 {
			if err := s.Hold(ctx); err != nil {
				return err
			}
		}
		m, err := s.once(ctx, plan, times, out, n)
		if err != nil {
			return err
		}
		out.Runs = append(out.Runs, *m)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// anew makes a plan with the same settings but another seed. If the same prompts were sent again, they would hit the
// server's prefix cache.
func (s *Serving) anew(ctx context.Context, n int) ([]workload.Request, []time.Duration, error) {
	seed, log := s.Spec.Seed, s.Log
	defer func() { s.Spec.Seed, s.Log = seed, log }()
	s.Spec.Seed = int64(uint32(seed + int64(n)))
	s.Spec.Note, s.Log = func(string) {}, func(string) {} // the first plan has already logged these notes
	if s.Flush {
		return s.plan(ctx)
	}
	// With another seed, a data set from a file yields the same prompts in another order.
	s.Flush = true
	if err := s.flush(ctx); err != nil {
		s.Warn(fmt.Sprintf("The cache could not be flushed between runs (%v): repeated prompts may hit it", err))
	}
	s.Flush = false
	return s.plan(ctx)
}

// ready waits until the server answers.
func (s *Serving) ready(ctx context.Context) error {
	if s.Ready <= 0 {
		return nil
	}
	waiting := s.Server.Waiting(s.Ready, s.Log)
	if s.ReadyWorkers > 0 { // a router without healthy workers refuses other requests
		return s.Server.ReadyWorkers(ctx, s.ReadyWorkers, s.Ready, waiting)
	}
	path := "/v1/models"
	if s.Load.Backend == "trt" {
		path = "/"
	}
	return s.Server.Ready(ctx, path, s.Ready, waiting)
}

// model gets the model's name from the server if the user gave no name.
func (s *Serving) model(ctx context.Context) error {
	if s.Run.Model != "" {
		return nil
	}
	name, err := s.Server.Model(ctx)
	s.Run.Model = name
	var refused *client.Refused
	switch {
	case s.Run.Model != "":
	case err == nil:
		return errors.New("the server does not report its model at /v1/models: give --model")
	case errors.As(err, &refused) && refused.Foreign == "":
		return fmt.Errorf("the server does not report its model: give --model (%w)", err)
	default:
		return fmt.Errorf("ask the server for its model: %w", err)
	}
	s.Load.Model = cmp.Or(s.Load.Model, s.Run.Model)
	return nil
}

// plan makes the requests and their send times.
func (s *Serving) plan(ctx context.Context) ([]workload.Request, []time.Duration, error) {
	tok, why, err := workload.Resolve(ctx, workload.Sources{Flag: s.Tokenizer, Server: s.Server, Model: s.Run.Model})
	if err != nil {
		return nil, nil, err
	}
	s.Log(why)
	if s.Spec.Note == nil {
		s.Spec.Note = s.Log
	}
	plan, times, err := workload.Plan(ctx, s.Spec, s.Arrivals, tok)
	if err != nil {
		return nil, nil, err
	}
	s.Load.Retokenize = func(ctx context.Context, texts []string) ([]int, error) {
		// The tokens of the texts of an interrupted run are counted as well, but with a shorter time limit.
		limit := time.Minute
		if ctx.Err() != nil {
			limit = interruptLimit
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		defer cancel()
		ids, err := tok.Encode(ctx, texts, false)
		lens := make([]int, len(ids))
		for i := range ids {
			lens[i] = len(ids[i])
		}
		return lens, err
	}
	if _, estimated := tok.(workload.Estimate); estimated {
		s.Load.Retokenize = nil // an estimated token count must not replace an exact one
	}
	s.Run.Traced = s.Arrivals.Process == workload.Trace
	return plan, times, nil
}

// warmUp returns the warm-up request of SGLang's client. The warm-up request is a copy of the first request with a
// shorter output, with the first adapter, and without the fields that are specific to the first request.
func warmUp(first workload.Request, adapters []string) workload.Request {
	first.OutputLen = min(first.OutputLen, 32)
	first.Rounds = slices.Clone(first.Rounds)
	for i := range first.Rounds {
		first.Rounds[i].OutputLen = min(first.Rounds[i].OutputLen, 32)
	}
	first.Extra, first.RoutingKey = nil, ""
	if len(adapters) > 0 {
		first.LoRA = adapters[0]
	}
	return first
}

// before warms up the server and flushes the cache.
func (s *Serving) before(ctx context.Context, plan []workload.Request) error {
	if s.Warmup > 0 {
		first := warmUp(plan[0], s.Spec.LoRANames)
		reqs := make([]workload.Request, s.Warmup)
		for i := range reqs {
			reqs[i] = first
		}
		opt := s.Load
		opt.Live, opt.Schedule, opt.KeepText, opt.Retokenize = nil, nil, false, nil
		opt.RequestID, opt.For, opt.Grace = nil, 0, nil
		s.Log(fmt.Sprintf("Warming up with %d request(s)…", s.Warmup))
		res, err := load.Run(ctx, reqs, opt)
		if err != nil {
			return err
		}
		failed := 0
		for i := range res.Records {
			if !res.Records[i].OK() {
				failed++
			}
		}
		if failed == len(res.Records) {
			r := &res.Records[0]
			if s.Load.Path == "" && r.Status == http.StatusNotFound && strings.HasSuffix(load.Backends[s.Load.Backend].Path, "/generate") {
				f := servers.Of(ctx, s.Server)
				if backend := f.Kind.Row().Advice.Backend; backend != "" {
					return fmt.Errorf("this is %s, which has no /generate: give --backend %s, or --backend %s-chat for its chat route", &f, backend, backend)
				}
			}
			return fmt.Errorf("the warm-up failed, and so would the load: %s: %s", r.Failure, r.Error)
		}
	}
	if err := s.flush(ctx); err != nil {
		return err
	}
	select {
	case <-time.After(s.Pause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Serving) flush(ctx context.Context) error {
	if !s.Flush {
		return nil
	}
	row := load.KindOf(s.Load.Backend).Row()
	path := row.Flush[0]
	if row.Kind == servers.SGLang {
		path += fmt.Sprintf("?timeout=%.1f", s.FlushTimeout.Seconds())
	}
	if _, err := s.Server.Text(ctx, http.MethodPost, path); err != nil {
		return fmt.Errorf("flush the cache: %w", row.FlushError(err))
	}
	return nil
}

// once sends the plan for the nth time. The profiling window is captured in the first run.
func (s *Serving) once(ctx context.Context, plan []workload.Request, times []time.Duration, out *Outcome, n int) (*Measured, error) {
	opt := s.Load
	opt.Schedule = times
	opt.Live = &load.Live{}
	if id := opt.RequestID; id != nil && n > 0 {
		opt.RequestID = func(i, turn int) string { return fmt.Sprintf("%s-run%d", id(i, turn), n+1) }
	}
	warn := s.Warn
	if n > 0 { // the first run has already warned
		warn = func(string) {}
	}
	sampled, err := gpus.Sample(ctx, s.GPUs, []string{s.Server.URL}, warn, s.Warn)
	if err != nil {
		return nil, err
	}
	var win *window
	if s.Profile != nil && n == 0 {
		if s.Follow {
			s.Profile.Options.Progress = &torch.Progress{}
		}
		if s.Repeat > 1 {
			s.Log("The first run is profiled, which slows it down: consider it separately")
		}
		if line := young(ctx, s.Server, s.Warmup); line != "" {
			s.Warn(line)
		}
		if win, err = s.Profile.prepare(ctx, newLevel(plan, times, s, opt.Live), s.Log); err != nil {
			sampled()
			return nil, err
		}
	}
	done := func() {}
	scraped := scrape(ctx, s.Server, s.Show != nil && s.Follow)
	if s.Show != nil {
		done = s.Show(s.shown(plan, times, opt.Live, scraped))
	}
	res, err := load.Run(ctx, plan, opt)
	samples := scraped.end(ctx)
	states := sampled()
	done()
	if res != nil {
		if keepErr := s.record(res.Records); keepErr != nil {
			s.Warn("The records could not be saved: " + keepErr.Error())
		}
	}
	// The profiler is always stopped, but only after the end of the measured time.
	if win != nil {
		if s.Frame != nil && s.Profile.Options.Progress != nil {
			defer s.Frame(s.Profile.Options.Progress.Frame)()
		}
		captured, stopErr := win.finish(ctx, res, s.Log)
		out.Capture = captured
		if err == nil && stopErr != nil {
			s.Warn("The profile failed: " + stopErr.Error())
			out.Capture = &Captured{Err: stopErr}
		}
	}
	if res == nil {
		return nil, err
	}
	if len(res.Records) == 0 {
		return nil, fmt.Errorf("no request was due within the %v of the load", s.Load.For)
	}
	if last := res.Records[len(res.Records)-1].Released; s.Load.For > 0 && len(res.Records) == requestsOf(plan) && time.Duration(last) < s.Load.For*9/10 {
		s.Warn(fmt.Sprintf("All %d requests were sent within %v, before the %v of the load were over: give more --num-prompts", len(res.Records), time.Duration(last).Round(100*time.Millisecond), s.Load.For))
	}
	if err != nil { // the timing measurements remain valid
		s.Warn(fmt.Sprintf("The generated texts were not counted: %v", err))
	}
	run := s.Run
	run.StartWall, run.Drift, run.Duration, run.Stamps, run.Health = res.StartWall, res.Drift, res.Duration, res.Stamps, res.Health
	if win != nil {
		run.Profiled = win.touched(res.Start, res.Records)
	}
	run.ServerInfo = s.info(ctx)
	out.Capture.refer(res.Records, &run)
	if win != nil && out.Capture != nil && out.Capture.Result != nil {
		out.Capture.Result.KeepGPUs(states)
	}
	summary := bench.Summarize(res.Records, &run, bench.Options{SLO: s.SLO, Percentiles: s.Percentiles})
	if summary.Cache == nil {
		summary.Cache = prefixCache(samples)
	}
	if summary.Speculative = speculative(samples); summary.Speculative != nil && summary.AcceptLength == 0 {
		summary.AcceptLength = summary.Speculative.Length
	}
	return &Measured{
		Run: &run, Records: res.Records, Server: samples, Summary: summary,
		GPUs: gpus.Summarize(states, run.StartWall+firstSent(res.Records), run.StartWall+firstSent(res.Records)+run.Duration), states: states,
	}, nil
}

// firstSent returns the earliest time at which a request was sent, or 0.
func firstSent(records []bench.Record) int64 {
	first := int64(math.MaxInt64)
	for i := range records {
		if at := records[i].Sent; at != bench.Never {
			first = min(first, at)
		}
	}
	if first == math.MaxInt64 {
		return 0
	}
	return first
}

// requestsOf returns the number of requests in a plan, with all rounds of conversations.
func requestsOf(plan []workload.Request) (n int) {
	for i := range plan {
		n += max(len(plan[i].Rounds), 1)
	}
	return n
}

// shown returns the data for the display of a run that is about to begin.
func (s *Serving) shown(plan []workload.Request, times []time.Duration, live *load.Live, server *scraper) *load.Shown {
	out := &load.Shown{Live: live, Title: s.Run.Model + " at " + s.Server.URL, Server: server.now}
	out.Total = requestsOf(plan)
	// With a concurrency limit, requests wait for other requests to end.
	if len(times) > 0 && s.Load.MaxConcurrency == 0 {
		if out.Last = times[len(times)-1]; s.Load.For > 0 {
			out.Last = min(out.Last, s.Load.For)
		}
	}
	if s.Profile != nil && s.Profile.Options.Progress != nil {
		out.More = s.Profile.Options.Progress.Lines
	}
	return out
}

// info returns the server's server_info, read after the load. Only SGLang's servers provide it.
func (s *Serving) info(ctx context.Context) map[string]any {
	limit := 10 * time.Second
	if ctx.Err() != nil {
		limit = time.Second
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	info, err := s.Server.Info(ctx)
	if err != nil {
		return nil
	}
	return wire.WithoutSecrets(info).(map[string]any)
}
