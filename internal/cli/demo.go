package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/measure/experiment"
	"github.com/stepscope/stepscope/internal/measure/load"
	"github.com/stepscope/stepscope/internal/measure/workload"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/serve/launch"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
)

// demoCmd is "demo": the main job, on the embedded engine.
type demoCmd struct {
	SlowRank int    `name:"slow-rank" default:"-1" help:"Make a rank late, 0 to 3, and see it found."`
	Cause    string `name:"cause" placeholder:"CAUSE" default:"" enum:",work,device,host" help:"Why it is late: work (default), device, host."`
	storeFlags
}

// The demo's window: ten steps, in the middle of the load. A fault begins four
// steps into it.
const (
	demoStart = 60 // forward count
	demoSteps = 10
	demoFault = 4
)

// Help is the end of the verb's help text.
func (c *demoCmd) Help() string {
	return `Serves a tiny model on four ranks (TP 2, DP 2) of this machine's cores, loads it, records ten forward steps on all ranks meanwhile, and explains them.

Examples:
  stepscope demo
  stepscope demo --slow-rank 1
  stepscope demo --slow-rank 2 --cause host`
}

// Run shows what stepscope does.
func (c *demoCmd) Run(ctx context.Context, e *env) (err error) {
	if c.SlowRank < -1 || c.SlowRank > 3 {
		return usagef("--slow-rank %d: there are ranks 0 to 3", c.SlowRank)
	}
	if c.Cause != "" && c.SlowRank < 0 {
		return usagef("--cause %s: say with --slow-rank which rank is late", c.Cause)
	}
	if c.NoStore {
		return usagef("demo leaves a run to look at: leave out --no-store, and say with --run-dir where")
	}
	say := func(format string, args ...any) { fmt.Fprintf(e.stderr, format+"\n", args...) }
	run, err := c.create(e, runs.About{Kind: "demo", Tool: "demo"})
	if err != nil {
		return err
	}
	defer func() { run.Finish(runs.Failed, err) }() // if not before

	a := launch.DefaultArgs("builtin:llama-tiny")
	a.TP, a.DP, a.MaxTotalTokens = 2, 2, 16384
	// Large enough that its steps take longer than a busy machine's hiccups.
	a.Overrides = `{"hidden_size": 512, "num_hidden_layers": 6, "intermediate_size": 1536, "head_dim": 64}`
	if c.SlowRank >= 0 {
		fault := map[string]string{
			"work": "extra_kernels=2,extra_time=1ms", "device": "kernel_sleep=400us", "host": "host_stall=20ms",
		}[cmp.Or(c.Cause, "work")]
		a.Faults = []string{fmt.Sprintf("rank=%d,from=%d,to=%d,%s", c.SlowRank, demoStart-1+demoFault, demoStart+demoSteps, fault)}
	}
	say("Serving %s on 4 ranks (TP 2, DP 2) …", a.ModelPath)
	logFile, err := os.Create(run.Path("server.log"))
	if err != nil {
		return err
	}
	defer logFile.Close()
	srv, err := startEmbedded(ctx, a, 0, launch.NewLog(logFile).Line)
	if err != nil {
		return err
	}
	out, err := c.measure(ctx, e, srv.Server, run)
	if stopErr := srv.Close(); err == nil {
		err = stopErr
	}
	if err != nil {
		return err
	}
	if err := run.AddFile(runs.File{Path: "server.log", Kind: runs.KindLog, Format: "text"}, ""); err != nil {
		return err
	}
	if out.Interrupted {
		return ctx.Err()
	}
	if out.Capture == nil || out.Capture.Result == nil || len(out.Capture.Servers) == 0 {
		return fmt.Errorf("the load is over, but no window came: see %s", run.Path("server.log"))
	}
	if err := c.explain(ctx, e, run, out); err != nil {
		return err
	}
	return run.Finish(runs.Complete, nil)
}

// measure loads the server and takes the window meanwhile.
func (c *demoCmd) measure(ctx context.Context, e *env, srv *client.Server, run *runs.Run) (*experiment.Outcome, error) {
	scratch, err := os.MkdirTemp("", "stepscope-demo-") // where the server writes
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	spec := workload.Default()
	spec.Dataset, spec.N, spec.InputLen, spec.OutputLen, spec.RangeRatio, spec.TokenIDs, spec.Note = "random", 64, 96, 48, 0.5, true, func(string) {}
	x := &experiment.Serving{
		Server: srv, Spec: spec, Arrivals: workload.Arrivals{Rate: math.Inf(1), Seed: spec.Seed},
		Load: load.Options{Backend: "sglang", BaseURL: srv.URL, Stream: true, IgnoreEOS: true, MaxConcurrency: 16, RequestID: func(i, _ int) string { return fmt.Sprintf("demo-%d", i) }},
		Run:  bench.Run{Tool: "demo", Backend: "sglang", URL: srv.URL, Dataset: "random", Seed: spec.Seed, MaxConcurrency: 16},
		Profile: &experiment.Profile{
			Targets: []torch.Target{{URL: srv.URL}}, Dir: run.Path("traces"),
			Window:  torch.Window{OutputDir: scratch, StartStep: demoStart, NumSteps: demoSteps, Activities: []string{"CPU", "GPU"}},
			Options: torch.Options{Log: func(string) {}},
		},
		Store: run, Log: func(string) {},
	}
	if e.Terminal {
		x.Show = e.showLoad
	}
	fmt.Fprintf(e.stderr, "Sending %d requests, and recording %d forward steps of all ranks meanwhile …\n", spec.N, demoSteps)
	return x.Do(ctx)
}

// explain analyses the window, writes the pages and says what to look at.
func (c *demoCmd) explain(ctx context.Context, e *env, run *runs.Run, out *experiment.Outcome) error {
	sr := out.Capture.Servers[0]
	sets, err := set.Find(sr.Traces)
	if err != nil {
		return err
	}
	traces, failures, err := read.ReadSet(ctx, sets[0], read.Options{})
	if err != nil {
		return err
	}
	for _, f := range failures {
		e.Warn("%s: %v", f.Path, f.Err)
		e.Incomplete()
	}
	r, err := explain.Analyze(traces, explain.Options{ID: sets[0].ID, Missing: sr.Missing})
	if err != nil {
		return err
	}
	m := out.Last()
	pages := map[string]func(io.Writer) error{
		"derived/findings.html": func(w io.Writer) error { return report.HTML(w, r) },
		"derived/load.html": func(w io.Writer) error {
			return report.BenchHTML(w, &report.Bench{Run: m.Run, Summary: m.Summary, Records: m.Records})
		},
	}
	for path, fill := range pages {
		if err := run.Write(runs.File{Path: path, Kind: runs.KindReport, Format: "html"}, fill); err != nil {
			return err
		}
	}
	s := m.Summary
	fmt.Fprintf(e.stdout, "%d requests in %s: %.0f tok/s, TTFT p50 %s p99 %s, TPOT p50 %s p99 %s (client timing %s)\n\n", s.Completed, metric.Duration(s.Duration),
		s.OutputRate, metric.Duration(s.TTFT.Median), metric.Duration(s.TTFT.P99), metric.Duration(s.TPOT.Median), metric.Duration(s.TPOT.P99), s.Health.Verdict)
	opt := e.tables()
	opt.Top = 5
	if err := report.Findings(e.stdout, r, opt); err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, `
Look at it:
  findings, with plots     %s
  the load, with plots     %s
  one merged trace         stepscope trace open %s
  all tables in text       stepscope analyze %s
  what slow requests were waiting for   stepscope analyze %s
`, run.Path("derived/findings.html"), run.Path("derived/load.html"), sr.Merged, filepath.Dir(sr.Merged), run.ID())
	if c.SlowRank < 0 {
		fmt.Fprintln(e.stdout, "  a rank that is late      stepscope demo --slow-rank 1")
	}
	return nil
}
