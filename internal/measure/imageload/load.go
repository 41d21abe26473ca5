// Package imageload measures a diffusion server in the same way as SGLang's bench_serving of multimodal_gen. It
// requests images at a given rate and concurrency, and reports the latencies.
package imageload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/base/pyrand"
	"github.com/stepscope/stepscope/internal/measure/workload"
)

// Options configures a load. The fields have the names of SGLang's flags.
type Options struct {
	Server      *client.Server
	Model       string // used if the server does not report its model
	Task        string // "": derived from the model
	Dataset     string // vbench or random
	DatasetPath string
	NumPrompts  int
	Outputs     int // images per prompt
	Concurrency int
	Rate        float64 // requests/s; +Inf: all at once

	Width, Height, Steps int // 0: the model's defaults

	RandomConfig string
	RandomSeed   int64
	SLO          bool
	SLOScale     float64
	Warmups      int
	WarmupSteps  int
	Extra        map[string]json.RawMessage // additional keys of each request body

	Ready   time.Duration // timeout for the server to become ready
	Timeout time.Duration // timeout of a request
	Console *progress.Console
}

// Result holds the parameters and the figures of a load.
type Result struct {
	Task, Model, Dataset string
	Rate                 float64
	Concurrency, Asked   int
	SLO                  bool
	Metrics
	Failures []string // distinct reasons of the failed requests
}

// outcome is the result of a request.
type outcome struct {
	latency time.Duration
	outputs int
	peakMB  float64
	err     error
}

// tasks are the tasks of SGLang's benchmark. This package measures only the first task.
var tasks = []string{"text-to-image", "image-to-image", "text-to-video", "image-to-video", "video-to-video"}

// Run waits until the server is ready, warms it up, and sends the load.
func Run(ctx context.Context, o *Options) (*Result, error) {
	s, say := o.Server, o.Console.Line
	err := s.Ready(ctx, "/health", o.Ready, s.Waiting(o.Ready, say))
	if err != nil {
		return nil, err
	}
	res := &Result{Model: o.Model, Dataset: o.Dataset, Rate: o.Rate, Concurrency: o.Concurrency, Asked: o.NumPrompts, SLO: o.SLO}
	if res.Task, err = o.look(ctx, res); err != nil {
		return nil, err
	}
	all, err := o.requests(say)
	if err != nil {
		return nil, err
	}
	at, err := workload.Schedule(len(all), workload.Arrivals{Rate: o.Rate}, pyrand.NewState(uint32(o.RandomSeed)))
	if err != nil {
		return nil, err
	}
	base, err := o.warmUp(ctx, all, res.Model)
	if err != nil {
		return nil, err
	}
	if o.SLO {
		o.expect(all, base)
	}
	begun := time.Now()
	outcomes := o.send(ctx, all, at, res.Model)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	res.Metrics = o.metrics(all, outcomes, time.Since(begun))
	for i := range outcomes {
		if err := outcomes[i].err; err != nil && !slices.Contains(res.Failures, err.Error()) {
			res.Failures = append(res.Failures, err.Error())
		}
	}
	return res, nil
}

// look determines the model that the server serves, and the model's task.
func (o *Options) look(ctx context.Context, res *Result) (task string, err error) {
	var info struct {
		Path string `json:"model_path"`
	}
	if o.Server.Get(ctx, "/v1/model_info", &info) == nil && info.Path != "" {
		res.Model = info.Path
	}
	if task = o.Task; task == "" {
		task = taskOf(res.Model)
	}
	card, err := o.Server.Pipeline(ctx)
	if refused, ok := errors.AsType[*client.Refused](err); ok && refused.Status == 401 {
		return "", err
	}
	switch {
	case err == nil && card == nil:
		return "", fmt.Errorf("%s: is not a diffusion server: its /v1/models lists no pipeline; use bench serving for LLM servers", o.Server.URL)
	case task == "" && card != nil:
		task = map[string]string{"T2V": "text-to-video", "I2V": "image-to-video", "TI2V": "image-to-video", "I2I": "image-to-image"}[card.TaskType]
	}
	if task == "" {
		task = tasks[0]
	}
	return task, measured("task", task)
}

// measured returns an error unless this package measures the task. name is the user's name for the task.
func measured(name, task string) error {
	if task == tasks[0] {
		return nil
	}
	return fmt.Errorf("%s %s: only %s is supported here; use SGLang's own bench_serving for the others", name, task, tasks[0])
}

// taskOf returns the task that is named in the config.json of a local model, or "".
func taskOf(model string) string {
	text, err := os.ReadFile(filepath.Join(model, "config.json"))
	var c struct {
		Tag string `json:"pipeline_tag"`
	}
	if err != nil || json.Unmarshal(text, &c) != nil {
		return ""
	}
	return c.Tag
}

// warmUp sends the first requests one after the other, with few steps. It returns the expected time per unit of work in
// ms; see request.work.
func (o *Options) warmUp(ctx context.Context, all []request, model string) (base float64, err error) {
	var units []float64
	for i := range o.Warmups {
		r := all[i%len(all)]
		r.steps = o.WarmupSteps
		out := o.one(ctx, &r, model)
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if out.err != nil {
			return 0, fmt.Errorf("warm-up request %d of %d failed: %w", i+1, o.Warmups, out.err)
		}
		o.Console.Line(fmt.Sprintf("Warm-up request %d of %d took %.2f s", i+1, o.Warmups, out.latency.Seconds()))
		if o.SLO {
			units = append(units, ms(out.latency)/r.work())
		}
	}
	if len(units) == 0 {
		return 0, nil
	}
	return metric.Median(units), nil
}

// expect sets the latency objective of each request. base is the time per unit of work in ms.
func (o *Options) expect(all []request, base float64) {
	for i := range all {
		all[i].slo = base * all[i].work() * o.SLOScale
	}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// send sends each request at its scheduled time, or later if the concurrency limit delays it.
func (o *Options) send(ctx context.Context, all []request, at []time.Duration, model string) []outcome {
	out := make([]outcome, len(all))
	room := make(chan struct{}, max(o.Concurrency, 1))
	if o.Concurrency == 0 {
		room = make(chan struct{}, len(all))
	}
	bar := o.Console.Steps("Pictures")
	defer bar.Close()
	var mu sync.Mutex
	done := 0
	begun := time.Now()
	var wg sync.WaitGroup
	for i := range all {
		if wait := at[i] - time.Since(begun); wait > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			}
		}
		select { // requests wait for a free slot in order
		case room <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			out[i] = o.one(ctx, &all[i], model)
			<-room
			mu.Lock()
			defer mu.Unlock()
			done++
			bar.Done(done, len(all))
		})
	}
	wg.Wait()
	return out
}

// one sends a request and waits for its images.
func (o *Options) one(ctx context.Context, r *request, model string) outcome {
	late := fmt.Errorf("not finished within %v", o.Timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout, late)
	defer cancel()
	begun := time.Now()
	reply, err := o.Server.Images(ctx, o.body(r, model))
	if err != nil && errors.Is(context.Cause(ctx), late) {
		err = late
	}
	out := outcome{latency: time.Since(begun), err: err}
	if err != nil {
		return out
	}
	if out.outputs = len(reply.Data); out.outputs == 0 {
		out.err = errors.New("the reply has no image")
	}
	if reply.PeakMemoryMB != nil {
		out.peakMB = *reply.PeakMemoryMB
	}
	return out
}

// Check validates the options before the server is contacted.
func (o *Options) Check() error {
	switch {
	case o.Task != "" && !slices.Contains(tasks, o.Task):
		return fmt.Errorf("--task %s: give one of %s", o.Task, strings.Join(tasks, ", "))
	case (o.Width == 0) != (o.Height == 0):
		return errors.New("--width and --height: give both or none")
	case !(o.SLOScale > 0) || math.IsInf(o.SLOScale, 0):
		return fmt.Errorf("--slo-scale %v: give a number above 0", o.SLOScale)
	case o.Dataset == "random" && o.DatasetPath != "":
		return errors.New("--dataset-path goes with --dataset vbench")
	case o.RandomConfig != "" && o.Dataset != "random":
		return errors.New("--random-request-config goes with --dataset random")
	}
	if o.Task != "" {
		if err := measured("--task", o.Task); err != nil {
			return err
		}
	}
	all, err := o.requests(func(string) {})
	switch {
	case err != nil:
		return err
	case o.SLO && o.Warmups == 0:
		return errors.New("--slo: the expected latency comes from warm-ups: give --warmup-requests 1 or more")
	case o.SLO && slices.ContainsFunc(all, func(r request) bool { return r.work() == 0 }):
		return errors.New("--slo: the expected latency depends on the size: give --width and --height, or both in each profile of --random-request-config")
	}
	return nil
}
