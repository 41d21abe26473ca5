package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/reference/launch"
	"github.com/stepscope/stepscope/trace"
)

const (
	windowFrom  = 21 // forward step that opens the window; it is after the prefill
	windowSteps = 48
	faultAt     = 24 // step of the window in which the fault begins
	batch       = 4  // number of sequences per data-parallel rank
)

// layout is a model's parallel layout.
type layout struct {
	name       string
	model      string
	tp, dp, pp int
	ep         int
	eager      bool
}

var layouts = []layout{
	{name: "TP2", model: "builtin:llama-tiny", tp: 2},
	{name: "TP2-eager", model: "builtin:llama-tiny", tp: 2, eager: true},
	{name: "TP2-DP2-EP2", model: "builtin:qwen3-moe-tiny", tp: 2, dp: 2, ep: 2},
	{name: "PP2", model: "builtin:llama-tiny", tp: 1, pp: 2},
	{name: "TP2-PP2", model: "builtin:llama-tiny", tp: 2, pp: 2},
}

// faults are the faults of rank 1, small and large. With PP alone there are no collectives, so the faults that slow a
// link do not apply.
var faults = []struct{ name, how string }{
	{"work", "extra_kernels=1,extra_time=1ms"},
	{"more-work", "extra_kernels=3,extra_time=1ms"},
	{"device", "kernel_sleep=200us"},
	{"slow-device", "kernel_sleep=2ms"},
	{"host", "host_stall=10ms"},
	{"slow-host", "host_stall=50ms"},
	{"link", "link_sleep=1ms"},
	{"slow-link", "link_sleep=5ms"},
}

type scenario struct {
	layout
	fault, how string
}

var scenarios = func() (out []scenario) {
	for _, f := range faults {
		for _, l := range layouts {
			if l.tp == 1 && (strings.HasSuffix(f.name, "link") || strings.HasSuffix(f.name, "work")) {
				continue // both faults need collectives
			}
			out = append(out, scenario{l, f.name, f.how})
		}
	}
	return out
}()

func (s *scenario) name() string { return s.layout.name + " " + s.fault }

// outcome is the result of a scenario. Times are median decode steps in ns.
type outcome struct {
	with, without int64 // measured with the fault and without the fault
	finding       *result.Finding
	off           float64 // error of the prediction as a fraction of without
	why           string  // reason why there is no prediction
}

func (s *scenario) run(keep string) (o outcome, err error) {
	dir := filepath.Join(keep, strings.ReplaceAll(s.name(), " ", "-"))
	if keep == "" {
		if dir, err = os.MkdirTemp("", "whatif-"); err != nil {
			return o, err
		}
		defer os.RemoveAll(dir)
	}
	if err := s.capture(dir); err != nil {
		return o, err
	}
	r, err := analyze(dir)
	if err != nil {
		return o, err
	}
	// Use all steps except two: the first, which contains the start of the profiler, and the step in which the fault
	// begins.
	o.without, o.with = periods(r, 1, faultAt-1), periods(r, faultAt+1, windowSteps)
	o.off, o.why = untold, "no finding"
	if !r.Replay.Known {
		o.why = fmt.Sprintf("%+v", r.Replay.Why)
	}
	var most int64
	for i := range r.Findings {
		f := &r.Findings[i]
		// Among the findings that begin when the fault begins, take the finding with the highest worth.
		if gain := f.Worth.Step - f.Worth.Without; f.Worth.Known && !f.Worth.AtMost && f.FirstStep >= faultAt-1 && f.FirstStep <= faultAt+1 && gain > most {
			most, o.finding = gain, f
			o.off = float64(f.Worth.Without)/float64(o.without) - 1
		}
	}
	if o.finding == nil && len(r.Findings) > 0 {
		var ids []string
		for _, f := range r.Findings {
			ids = append(ids, f.ID)
		}
		o.why = strings.Join(ids, ", ")
	}
	return o, nil
}

// periods returns the median duration of the decode steps among the steps from, …, to-1 of the window.
func periods(r *result.Report, from, to int) int64 {
	var all []int64
	for i := range r.Steps {
		if s := &r.Steps[i]; s.Kind == trace.Decode.String() && s.Step >= from && s.Step < to {
			for _, rank := range s.Ranks {
				all = append(all, rank.Period)
			}
		}
	}
	return int64(metric.Median(all))
}

// capture serves a steady load and records a window during the load into dir.
func (s *scenario) capture(dir string) error {
	a := launch.DefaultArgs(s.model)
	a.TP, a.DP, a.PP, a.EP, a.MaxTotalTokens = s.tp, max(s.dp, 1), max(s.pp, 1), max(s.ep, 1), 8192
	a.DisableGraph, a.Cores = s.eager, 1
	if !s.eager {
		a.GraphBS = []int{batch}
	}
	// Convert the number of the step, because the device counts steps from 0 and the engine counts forward steps from
	// 1.
	for rank := range a.TP * a.DP * a.PP {
		fault := fmt.Sprintf("rank=%d,pace=1ms,from=%d", rank, windowFrom+faultAt-1)
		if rank == 1 {
			fault += "," + s.how
		}
		a.Faults = append(a.Faults, fault)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	e, err := launch.Load(ctx, a, launch.Options{})
	if err != nil {
		return err
	}
	defer e.Close()
	err = e.StartProfile(ctx, api.ProfileRequest{
		ID: "w", OutputDir: dir, StartStep: windowFrom, NumSteps: windowSteps, Activities: api.ActivityCPU | api.ActivityGPU, RecordShapes: true,
	})
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	for i := range batch * a.DP {
		wg.Go(func() {
			prompt, _ := e.Tokenizer().Encode(fmt.Sprintf("client %d says", i), true)
			events, err := e.Submit(ctx, &api.Request{
				ID: fmt.Sprint(i), Input: prompt, LogprobStart: -1, DPRank: -1,
				Params: api.Sampling{MaxNewTokens: windowFrom + windowSteps + 30, TopP: 1, RepetitionPenalty: 1, IgnoreEOS: true},
			})
			if err != nil {
				cancel()
				return
			}
			for range events {
			}
		})
	}
	wg.Wait()
	// At this point the window is over, and its files have been written or are being written.
	if _, err := e.StopProfile(ctx); err != nil && err != api.ErrProfileIdle {
		return err
	}
	return ctx.Err()
}
