// Package demo shows the whole workflow on one machine: it serves a tiny model on four ranks under load, records ten
// forward steps, merges the traces and explains them.
package demo

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
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/window"
	"github.com/stepscope/stepscope/internal/measure/experiment"
	"github.com/stepscope/stepscope/internal/measure/load"
	"github.com/stepscope/stepscope/internal/measure/workload"
	"github.com/stepscope/stepscope/internal/reference/embedded"
	"github.com/stepscope/stepscope/internal/reference/launch"
	"github.com/stepscope/stepscope/internal/runs"
)

// The demo records a window of ten steps in the middle of the load. The slowdown of SlowRank begins at the fifth step
// of the window.
const (
	start = 60 // forward count of the first recorded step
	steps = 10
	fault = 4
)

// Demo is one run of the demo.
type Demo struct {
	SlowRank int       // rank to slow down, from 0; -1: none
	Cause    string    // cause of the slowness: work (default), device or host
	Run      *runs.Run // stores all results
	Gone     bool      // the run will be deleted: print no paths into it
	Program  string    // name of this program, for the printed next commands

	Version string
	Out     io.Writer
	Say     *progress.Console
	Show    report.Options       // how the findings are printed
	Watch   func() (done func()) // bounds the memory of the analysis until done is called
}

// Do runs the demo.
func (d *Demo) Do(ctx context.Context) error {
	a := launch.DefaultArgs("builtin:llama-tiny")
	a.TP, a.DP, a.MaxTotalTokens = 2, 2, 16384
	// The model is large enough that a step takes longer than the scheduling delays of a busy machine.
	a.Overrides = `{"hidden_size": 512, "num_hidden_layers": 6, "intermediate_size": 1536, "head_dim": 64}`
	if d.SlowRank >= 0 {
		how := map[string]string{
			"work": "extra_kernels=2,extra_time=1ms", "device": "kernel_sleep=400us", "host": "host_stall=20ms",
		}[cmp.Or(d.Cause, "work")]
		a.Faults = []string{fmt.Sprintf("rank=%d,from=%d,to=%d,%s", d.SlowRank, start-1+fault, start+steps, how)}
	}
	d.Say.Line(fmt.Sprintf("Serving %s on 4 ranks (TP 2, DP 2); the whole demo usually takes ten to thirty seconds …", a.ModelPath))
	logFile, err := os.Create(d.Run.Path("server.log"))
	if err != nil {
		return err
	}
	defer logFile.Close()
	srv, err := embedded.Start(ctx, a, 0, d.Version, launch.NewLog(logFile).Line)
	if err != nil {
		return err
	}
	out, err := d.measure(ctx, srv.Server)
	if stopErr := srv.Close(); err == nil {
		err = stopErr
	}
	if err != nil {
		return err
	}
	if err := d.Run.AddFile(runs.File{Path: "server.log", Kind: runs.KindLog, Format: "text"}, ""); err != nil {
		return err
	}
	if out.Interrupted {
		return ctx.Err()
	}
	if out.Capture == nil || out.Capture.Result == nil || len(out.Capture.Servers) == 0 {
		return fmt.Errorf("the load has finished, but no profiler window was captured: see %s", d.Run.Path("server.log"))
	}
	if err := d.explain(ctx, out); err != nil {
		return err
	}
	return d.Run.Finish(runs.Complete, nil)
}

// measure sends load to the server and records the window while the load runs.
func (d *Demo) measure(ctx context.Context, srv *client.Server) (*experiment.Outcome, error) {
	scratch, err := os.MkdirTemp("", "stepscope-demo-") // the server writes here
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	spec := workload.Default()
	spec.Dataset, spec.N, spec.InputLen, spec.OutputLen, spec.RangeRatio, spec.TokenIDs, spec.Note = "random", 64, 96, 48, 0.5, true, func(string) {}
	x := &experiment.Serving{
		Server: srv, Spec: spec, Arrivals: workload.Arrivals{Rate: math.Inf(1)},
		Load: load.Options{Backend: "sglang", BaseURL: srv.URL, Stream: true, IgnoreEOS: true, MaxConcurrency: 16, RequestID: func(i, _ int) string { return fmt.Sprintf("demo-%d", i) }},
		Run:  bench.Run{Tool: "demo", Backend: "sglang", URL: srv.URL, Dataset: "random", Seed: spec.Seed, MaxConcurrency: 16},
		Profile: &experiment.Profile{
			Targets: []torch.Target{{URL: srv.URL}}, Dir: d.Run.Path("traces"),
			Window:  torch.Window{OutputDir: scratch, StartStep: start, NumSteps: steps, Activities: []string{"CPU", "GPU"}},
			Options: torch.Options{Log: func(string) {}, LoadFollows: true},
		},
		Store: d.Run, Log: func(string) {},
	}
	if d.Say.Terminal {
		x.Show, x.Follow = func(run *load.Shown) func() { return run.Show(d.Say) }, true
	}
	d.Say.Line(fmt.Sprintf("Sending %d requests and recording %d forward steps of all ranks …", spec.N, steps))
	return x.Do(ctx)
}

// explain analyses the window, writes the pages and prints the paths of the results.
func (d *Demo) explain(ctx context.Context, out *experiment.Outcome) error {
	defer d.Watch()()
	sr := out.Capture.Servers[0]
	capture, err := (&window.Input{Paths: sr.Traces}).Open(ctx, d.Say, "analyze")
	if err != nil {
		return err
	}
	r, err := explain.Analyze(capture.Traces, capture.Options())
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
		if err := d.Run.Write(runs.File{Path: path, Kind: runs.KindReport, Format: "html"}, fill); err != nil {
			return err
		}
	}
	s, how := m.Summary, ""
	switch w := s.Window; {
	case s.Lacks(bench.Rates) || s.Lacks("ttft") || s.Lacks("tpot"):
		s, how = w.Whole, "; the profiler slowed most of the run"
	case w != nil:
		how = "; excluding the " + metric.Duration(s.Duration-w.Untouched) + " that the profiler affected"
	}
	fmt.Fprintf(d.Out, "%d requests in %s: %.0f tok/s, TTFT p50 %s p99 %s, TPOT p50 %s p99 %s (client timing %s%s)\n\n", s.Completed, metric.Duration(s.Duration),
		s.OutputRate, metric.Duration(s.TTFT.Median), metric.Duration(s.TTFT.P99), metric.Duration(s.TPOT.Median), metric.Duration(s.TPOT.P99), s.Health.Verdict, how)
	if err := report.Findings(d.Out, r, d.Show); err != nil {
		return err
	}
	if d.Gone {
		_, err := fmt.Fprintf(d.Out, "\nNothing was stored. Without --no-store, the demo keeps the run, its traces and pages with plots.\n")
		return err
	}
	fmt.Fprintf(d.Out, `
Look at it:
  all ranks in the browser         %[3]s view %[6]s
  findings, with plots             %[1]s
  the load, with plots             %[2]s
  one merged trace                 %[3]s trace open %[4]s
  all tables as text                %[3]s analyze %[5]s --full
  what slow requests waited for    %[3]s analyze %[6]s
`, d.Run.Path("derived/findings.html"), d.Run.Path("derived/load.html"), d.Program, runs.CommandLine([]string{sr.Merged}),
		runs.CommandLine([]string{filepath.Dir(sr.Merged)}), runs.CommandLine([]string{d.Run.Dir()}))
	if d.SlowRank < 0 {
		fmt.Fprintf(d.Out, "  the demo with a late rank         %s demo --slow-rank 1\n", d.Program)
	}
	return nil
}
