package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/gate"
	"github.com/stepscope/stepscope/internal/capture/collect"
	"github.com/stepscope/stepscope/internal/capture/gpus"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/measure/experiment"
	"github.com/stepscope/stepscope/internal/measure/load"
	"github.com/stepscope/stepscope/internal/measure/system"
	"github.com/stepscope/stepscope/internal/measure/workload"
	"github.com/stepscope/stepscope/internal/runs"
)

// benchServingCmd is "bench serving".
type benchServingCmd struct {
	clientFlags  `group:"More server flags"`
	podFlags     `group:"More server flags"`
	datasetFlags `group:"More data set flags"`
	arrivalFlags `group:"More load flags"`
	requestFlags `group:"Requests"`
	profileFlags `group:"More trace flags"`

	WarmupRequests int     `name:"warmup-requests" limits:"0.." default:"1" help:"Warm-up copies of the first request."`
	ReadyWorkers   int     `name:"ready-workers" limits:"0.." placeholder:"N" help:"Wait until the server, a router, has this many healthy workers."`
	StartOnInput   bool    `name:"start-on-input" help:"After the warm-up, print 'ready' and wait for a line on stdin, so that loads of several servers begin together."`
	FlushCache     bool    `name:"flush-cache" help:"Empty the server's cache before the run."`
	FlushTimeout   float64 `name:"flush-cache-timeout" default:"60" help:"Seconds to wait for the server to become idle before its cache is flushed."`

	OutputFile    string `name:"output-file" placeholder:"FILE" help:"Append the result as a line of JSON; default: result.jsonl of the run."`
	OutputDetails bool   `name:"output-details" help:"Include the values of each request in the result."`
	PythonJSON    bool   `name:"python-json" help:"Write Infinity as Python does."`
	PrintRequests bool   `name:"print-requests" help:"Print the outcome of each request."`
	DisableTQDM   bool   `name:"disable-tqdm" help:"Do not show the progress of the load."`
	PlotThrough   bool   `name:"plot-throughput" help:"Draw the output tokens per second over the run."`
	Tag           string `name:"tag" placeholder:"TEXT" help:"Tag to keep in the result."`

	Goodput []string `name:"goodput" sep:"none" placeholder:"KEY:MS" without:"slo: they mean the same" help:"SGLang's form of --slo: ttft, tpot and e2el, such as ttft:200 tpot:50."`
	SLO     string   `name:"slo" placeholder:"LIMITS" help:"Limits in ms, such as ttft:500,tpot:50,e2e:10000; goodput counts the requests that meet all of them."`
	Fail    string   `name:"fail" bare:"100%" placeholder:"[SHARE]" needs:"slo|goodput: limits such as ttft:500,tpot:50" without:"find-max-rate: a search judges no single load" help:"Exit with status 4 if a smaller share of requests meets --slo; without a value: 100%."`
	Repeat  int      `name:"repeat" limits:"1.." default:"1" help:"Run the same load this many times, for confidence intervals."`
	Percent []string `name:"percentiles" placeholder:"P,…" help:"Also print these percentiles of all times: 75,99.9."`
	Metrics string   `name:"metrics" placeholder:"TOOL" without:"html=-: both write to stdout" help:"Also print the numbers that sglang, vllm or aiperf would print."`
	FindMax bool     `name:"find-max-rate" needs:"slo|goodput: the limits that the rate has to meet" without:"profile|duration|start-on-input|html|repeat!=1|metrics|output-file|ramp-from|use-trace-timestamps|dataset-name=mooncake|dataset-name=timed-trace: a search sends many loads at rates of its own" help:"Search for the highest request rate that meets --slo."`
	GPUs    string   `name:"gpus" bare:"nvidia-smi" placeholder:"[URL]" help:"Sample the clocks, power and temperature of the GPUs during the load, with nvidia-smi here, or from the URL of a DCGM exporter (http://HOST:9400/metrics)."`
	Strict  bool     `name:"strict" help:"Fail if the client's own timing is not clean."`
	HTML    string   `name:"html" placeholder:"FILE" help:"Also write a page with plots, --profile included."`
	JSON    bool     `name:"print-json" without:"html=-: both write to stdout" help:"Print the summary as JSON."`

	quietFlag
	storeFlags

	out         *experiment.Rows // file to which results are appended
	percentiles []float64        // parsed from Percent
	n           int              // number of requests, from NumPrompts or its default
	must        float64          // required share of good requests, parsed from Fail
}

// storeFlags select the directory in which a run is stored.
type storeFlags struct {
	runPlace
	NoStore bool `name:"no-store" help:"Do not keep the run."`
}

// create begins a run. It returns nil if --no-store is given.
func (f *storeFlags) create(e *env, about runs.About) (*runs.Run, error) {
	if f.NoStore {
		return nil, nil
	}
	root, err := f.root()
	if err != nil {
		return nil, err
	}
	about.Args = e.args
	r, err := runs.Create(root, about, 64<<20)
	if err != nil {
		return nil, fmt.Errorf("%w (--run-dir sets the directory, --no-store keeps no run)", err)
	}
	return r, nil
}

// Help returns the end of the verb's help text.
func (c *benchServingCmd) Help() string {
	return `Flags, defaults, table and JSON keys are those of SGLang's bench_serving.

With --profile, windows of about one request open when the load is steady and when requests wait longer; that of the slowest requests is kept. The figures exclude the requests that it affected, from arming to the end of the export; those of the whole run are shown beside them. If too few requests remain, there are no figures: send more prompts.

Examples:
  stepscope bench serving --dataset-name random --num-prompts 100 --random-input 512 --random-output 128
  stepscope bench serving --backend vllm --dataset-name sharegpt --dataset-path ShareGPT.json --request-rate 8 --slo ttft:500,tpot:50 --fail 95%
  stepscope bench serving --dataset-name random --profile --profile-num-steps 10`
}

func (c *benchServingCmd) check() error {
	if len(c.Goodput) > 0 {
		for _, limit := range c.Goodput {
			if key, ms, _ := strings.Cut(limit, ":"); !slices.Contains([]string{"ttft", "tpot", "e2el"}, key) {
				return usagef("--goodput %s: give KEY:MS with ttft, tpot or e2el; --slo has more", limit)
			} else if v, err := strconv.ParseFloat(ms, 64); err != nil || !(v > 0) {
				return usagef("--goodput %s: give milliseconds above 0, as %s:200", limit, key)
			}
		}
		c.SLO = strings.Join(c.Goodput, ",")
	}
	for _, err := range []error{c.arrivalFlags.check(), c.profileFlags.check()} {
		if err != nil {
			return err
		}
	}
	c.n = c.prompts(c.due())
	for _, text := range c.Percent {
		p, err := strconv.ParseFloat(strings.TrimPrefix(text, "p"), 64)
		if err != nil || !(p >= 0 && p <= 100) {
			return usagef("--percentiles %s: give numbers from 0 to 100, such as 75,99.9", text)
		}
		c.percentiles = append(c.percentiles, p)
	}
	if c.Fail != "" {
		var err error
		c.must, err = gate.Share(c.Fail)
		switch {
		case err != nil:
			return usagef("--fail %s: %v", c.Fail, err)
		case c.must > 1:
			return usagef("--fail %s: no more than 100%% of the requests can meet --slo", c.Fail)
		}
	}
	switch {
	case c.ReadyWorkers > 0 && c.ReadySec <= 0:
		return usagef("--ready-workers waits for workers: give --ready-check-timeout-sec 1 or more")
	case !(c.FlushTimeout > 0) || math.IsInf(c.FlushTimeout, 0):
		return usagef("--flush-cache-timeout %v: give seconds", c.FlushTimeout)
	case c.TokenizePrompt && c.Backend != "sglang" && c.Backend != "sglang-native":
		return usagef("--tokenize-prompt goes with --backend sglang")
	case c.Metrics != "" && !slices.Contains(bench.Tools, c.Metrics):
		return usagef("--metrics %s: there are %s", c.Metrics, strings.Join(bench.Tools, ", "))
	case !slices.Contains(workload.Datasets, c.DatasetName):
		return usagef("--dataset-name %s: there are %s", c.DatasetName, strings.Join(workload.Datasets, ", "))
	case c.RandomInputLen < 1 || c.RandomOutputLen < 1:
		return usagef("--random-input-len and --random-output-len must be 1 or more")
	case !(c.LoRAZipfAlpha > 1):
		return usagef("--lora-zipf-alpha %v: give more than 1", c.LoRAZipfAlpha)
	case c.Burstiness != 1 && c.Arrival == "constant":
		return usagef("--burstiness needs gamma arrivals, not --arrival constant")
	}
	return nil
}

// Run sends a load to the server and measures the server.
func (c *benchServingCmd) Run(ctx context.Context, e *env) (err error) {
	if err := c.check(); err != nil {
		return err
	}
	c.apply(e)
	pods, err := c.one(ctx, e)
	if err != nil {
		return err
	}
	if pods != nil { // the load needs sockets
		var end func()
		if c.BaseURL, end, err = pods.Listen(pods.Servers[0]); err != nil {
			return err
		}
		defer end()
	}
	x, err := c.experiment(e)
	if err != nil {
		return err
	}
	if pods != nil {
		x.Run.URL = pods.Servers[0].URL
		if x.Profile != nil {
			x.Profile.Targets = podTargets(pods, x.Profile.Targets[0])
			reachPods(pods, &x.Profile.Options)
		}
	}
	if c.HTML != "" && c.HTML != "-" {
		if c.HTML, err = target(c.HTML, "", "bench.html"); err != nil {
			return err
		}
		if err := atomicfile.TryFile(c.HTML); err != nil {
			return fmt.Errorf("--html: nothing can be written there: %w", err)
		}
	}
	if c.OutputFile != "" { // fail now, not after the load
		if c.OutputFile, err = target(c.OutputFile, "", bench.FileName(&x.Run, time.Now())); err != nil {
			return err
		}
	}
	if !c.FindMax { // fail now, not after the load
		if c.out, err = experiment.OpenRows("--output-file", c.OutputFile); err != nil {
			return err
		}
		defer c.out.Close()
	}
	x.Store, err = c.create(e, runs.About{Kind: "bench", Tool: "bench serving", Tags: tags(c.Tag), Backend: c.Backend, URL: x.Run.URL})
	if err != nil {
		return err
	}
	if x.Store != nil {
		defer func() { x.Store.Finish(runs.Failed, err) }() // no effect if the run has already finished
		if x.Profile != nil {
			x.Profile.Dir = x.Store.Path("traces")
		}
	}
	if c.FindMax {
		return c.findMax(ctx, e, x)
	}
	out, err := x.Do(ctx)
	if out == nil {
		return err
	}
	shown := c.show(ctx, e, x, out) // if the result cannot be shown, the measurement is complete anyway
	status := runs.Complete
	if out.Interrupted {
		status = runs.Interrupted
	}
	if x.Store != nil {
		if err := x.Store.Finish(status, err); err != nil {
			return err
		}
		again := "stepscope runs show " + x.Store.ID()
		if out.Capture != nil && out.Capture.Result != nil {
			again = fmt.Sprintf("stepscope analyze %[1]s, in the browser with: stepscope view %[1]s", x.Store.ID())
		}
		e.Told("run kept: %s; show it again with: %s", x.Store.Dir(), again)
	}
	if shown != nil {
		return errors.Join(err, shown)
	}
	if err == nil && out.Interrupted {
		return ctx.Err()
	}
	return errors.Join(err, c.judge(e, out))
}

func tags(t string) []string {
	if t == "" {
		return nil
	}
	return []string{t}
}

// judge returns the error, and so the exit status, for failed requests, insufficient goodput and inaccurate client
// timing.
func (c *benchServingCmd) judge(e *env, out *experiment.Outcome) (missed error) {
	m := out.Last()
	if m.Summary.Completed == 0 {
		return errors.New("no request succeeded")
	}
	if m.Summary.Completed < m.Summary.Requests || out.Capture != nil && (out.Capture.Err != nil || out.Capture.Result != nil && out.Capture.Incomplete()) {
		e.Incomplete()
	}
	if c.must > 0 {
		for i, r := range out.Runs {
			g, of := r.Summary.Goodput, "goodput"
			if len(out.Runs) > 1 {
				of = fmt.Sprintf("goodput of run %d", i+1)
			}
			if g == nil {
				return fmt.Errorf("%s: --fail is not judged: the profiling window left too few unaffected requests", of)
			}
			if !g.Measured() {
				e.Warn("%s: not measured in %d of %d requests: %s", of, g.Unmeasured, g.Judged+g.Unmeasured, r.Summary.Unseen.Reason())
				e.Incomplete()
				continue
			}
			if g.Unmeasured > 0 {
				e.Warn("%s: %d of %d requests are not judged, because they were not measured: %s", of, g.Unmeasured, g.Judged+g.Unmeasured, r.Summary.Unseen.Reason())
			}
			if short := g.Short(c.must); short != "" {
				e.Warn("%s: %s", of, short)
				missed = errRegression
			}
		}
	}
	if h := m.Run.Health; c.Strict && h.Verdict != "clean" {
		return fmt.Errorf("the client's timing is %s: %v", h.Verdict, h.Evidence)
	}
	return missed
}

// experiment builds the experiment from the flags.
func (c *benchServingCmd) experiment(e *env) (*experiment.Serving, error) {
	server, err := c.server()
	if err != nil {
		return nil, err
	}
	slo := bench.SLO(nil)
	if c.SLO != "" {
		if slo, err = bench.ParseSLO(c.SLO); err != nil {
			return nil, usagef("--slo: %v", err)
		}
	}
	served := c.Served
	if served == "" {
		served = c.Model
	}
	opt, err := c.options(c.Backend, server.URL, served, server.Header)
	if err != nil {
		return nil, err
	}
	opt.KeepText = true
	opt.RequestID = func(index, turn int) string { return "stepscope-" + strconv.Itoa(index) + "-" + strconv.Itoa(turn) }
	rate := float64(c.RequestRate)
	if math.IsInf(rate, 1) {
		rate = 0
	}
	x := &experiment.Serving{
		Server: server, Tokenizer: c.Tokenizer, Spec: c.spec(c.Backend, c.n), Arrivals: c.arrivals(&c.datasetFlags, c.n), Load: opt,
		Run: bench.Run{
			Tool: "bench serving", Backend: c.Backend, Model: c.Model, URL: server.URL, Dataset: c.DatasetName, Tag: c.Tag, Seed: c.Seed,
			Rate: rate, MaxConcurrency: c.MaxConcurrency, Args: c.args(),
		},
		Ready: time.Duration(c.ReadySec) * time.Second, ReadyWorkers: c.ReadyWorkers, Warmup: c.WarmupRequests, Flush: c.FlushCache, FlushTimeout: time.Duration(c.FlushTimeout * 1e9),
		Pause: time.Second, GPUs: c.GPUs, Percentiles: c.percentiles, Repeat: c.Repeat, SLO: slo,
		Log: e.Line, Warn: func(line string) { e.Warn("%s", line) }, Follow: e.Terminal && !c.Quiet, Frame: e.Show,
	}
	for _, h := range c.Header {
		if name, value, ok := strings.Cut(h, "="); ok {
			server.Header.Set(name, value)
		}
	}
	if b := load.Backends[c.Backend]; b.Counts() { // SGLang's client does not ask for the server's token counts
		x.Load.IncludeUsage = x.Load.Stream
	}
	if c.Insecure {
		server.HTTP = client.Unverified()
	}
	if os.Getenv("SGLANG_IS_IN_CI") == "true" && strings.Contains(c.Backend, "sglang") {
		x.Flush = true
	}
	x.Load.MaxConcurrency, x.Load.For, x.Load.Grace = c.MaxConcurrency, c.Duration, c.DurationGrace
	if !c.DisableTQDM {
		x.Show = func(run *load.Shown) func() { return run.Show(e.Console) }
	}
	if c.StartOnInput {
		x.Hold = hold(e.stdin, e.stdout)
	}
	if c.Profile {
		x.Profile = &experiment.Profile{
			Options: torch.Options{Stall: 20 * time.Second, LoadFollows: true, Sessions: c.windows()},
			Targets: c.targets(server.URL, server.Header), Window: c.window(), After: c.ProfileAfterSteps, PrefillAfter: c.PrefillAfterSteps, PrefillSteps: c.PrefillNumSteps, At: c.ProfileAt, FitSteps: c.ProfileNumSteps == 0 && !c.ProfileUnbounded && !c.ProfileByStage, Dir: fmt.Sprintf("profile-%d", time.Now().Unix()),
		}
		if err := x.Profile.Window.Check(); err != nil {
			return nil, usagef("%v", err)
		}
		if c.ProfileFetch != "" {
			if x.Profile.Options.Fetch, err = collect.ParseTemplate(c.ProfileFetch, ""); err != nil {
				return nil, usagef("--profile-fetch: %v", err)
			}
		}
	}
	return x, nil
}

// hold returns a function that announces that the load is ready to begin, and then waits for a line from in.
func hold(in io.Reader, out io.Writer) func(context.Context) error {
	return func(ctx context.Context) error {
		fmt.Fprintln(out, experiment.Ready)
		line := make(chan error, 1)
		go func() {
			_, err := bufio.NewReader(in).ReadString('\n')
			line <- err
		}()
		select {
		case err := <-line:
			if err != nil {
				return fmt.Errorf("--start-on-input: no line came: %w", err)
			}
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// args returns the values of the flags for which SGLang's result has keys.
func (c *benchServingCmd) args() map[string]any {
	none := func(n int) any {
		if n == 0 {
			return nil
		}
		return n
	}
	return map[string]any{
		"sharegpt_output_len": none(c.ShareGPTOutputLen), "random_input_len": c.RandomInputLen, "random_output_len": c.RandomOutputLen,
		"random_range_ratio": c.RandomRangeRatio, "num_prompts": c.n, "image_count": c.ImageCount, "image_resolution": c.ImageResolution,
	}
}

// show writes the results to files and prints them. The summary is printed last.
func (c *benchServingCmd) show(ctx context.Context, e *env, x *experiment.Serving, out *experiment.Outcome) error {
	m := out.Last()
	b := &report.Bench{Run: m.Run, Summary: m.Summary, Records: m.Records, Cache: c.CacheReport, GPUs: gpus.Lines(m.GPUs, m.Summary.OutputTokens)}
	if len(out.Runs) > 1 {
		var all []*bench.Summary
		for _, r := range out.Runs {
			all = append(all, r.Summary)
		}
		b.Repeats = bench.Repeated(all)
	}
	if err := c.line(e, x.Store, out); err != nil {
		return err
	}
	c.explained(ctx, e, out, b)
	switch {
	case c.HTML == "-":
		return report.BenchHTML(e.data(), b)
	case c.HTML != "":
		if err := atomicfile.Write(c.HTML, func(w io.Writer) error { return report.BenchHTML(w, b) }); err != nil {
			return atomicfile.Named(c.HTML, err)
		}
		e.Told("page written: %s", c.HTML)
	}
	if c.JSON {
		return report.BenchJSON(e.data(), b)
	}
	if err := c.around(e, x, out); err != nil {
		return err
	}
	return report.BenchText(e.stdout, b, e.tables())
}

// explained explains the window that was recorded during the load, if there is one. It prints text. If the benchmark
// has a page, explained also writes the pages to which the benchmark's page links. These pages are in the same
// directory.
func (c *benchServingCmd) explained(ctx context.Context, e *env, out *experiment.Outcome, b *report.Bench) {
	if out.Capture == nil || out.Capture.Result == nil {
		return
	}
	explanation := system.Options{Say: e.Console, Out: e.stdout, Show: e.tables(), Read: reading}
	explanation.Show.Top = 5
	if c.HTML != "" {
		explanation.HTML = system.Beside(c.HTML, "capture")
	}
	if c.JSON {
		explanation.Out = io.Discard
	}
	var load []bench.Measured
	for _, m := range out.Runs {
		load = append(load, bench.Measured{Run: m.Run, Records: m.Records})
	}
	found, err := explanation.Captured(ctx, out.Capture.Result, false, load...)
	if err != nil && ctx.Err() == nil {
		e.Lack("%s: %v", out.Capture.Servers[0].URL, err)
	}
	if found != nil {
		b.Captures, b.Requests = found.Pages, found.Requests
	}
}

// around prints the optional tables that precede the summary.
func (c *benchServingCmd) around(e *env, x *experiment.Serving, out *experiment.Outcome) error {
	m := out.Last()
	if c.PrintRequests {
		printRequests(e.stdout, m.Records)
	}
	if c.PlotThrough {
		plotThroughput(e.stdout, m)
	}
	if c.Metrics != "" {
		figures, err := bench.Compat(c.Metrics, m.Records, m.Run, bench.Options{SLO: x.SLO})
		if err != nil {
			return err
		}
		tool := c.Metrics
		if m.Summary.Window != nil {
			tool += ", which does not exclude the profiling window,"
		}
		if err := report.BenchCompat(e.stdout, tool, figures); err != nil {
			return err
		}
	}
	if standing := experiment.Standing(m.Server); standing != "" {
		fmt.Fprintf(e.stdout, "\nserver meanwhile  %s\n", standing)
	}
	return nil
}

// line writes the result in the format of SGLang's client. It writes to the file that the user has named, or else to
// the run.
func (c *benchServingCmd) line(e *env, store *runs.Run, out *experiment.Outcome) error {
	write := func(w io.Writer) (err error) {
		for _, m := range out.Runs {
			err = errors.Join(err, bench.WriteJSONL(w, m.Summary, m.Run, m.Records, bench.LineOptions{Python: c.PythonJSON, Details: c.OutputDetails, Cache: c.CacheReport}))
		}
		return err
	}
	switch {
	case c.out != nil:
		if err := write(c.out); err != nil {
			return err
		}
		e.Told("result appended to %s", c.out.Name())
	case store != nil:
		return store.Write(runs.File{Path: "result.jsonl", Kind: runs.KindFigures, Format: "jsonl"}, write)
	}
	return nil
}
