// Package imageload measures a diffusion server in the same way as SGLang's bench_serving of multimodal_gen. It
// requests images at a given rate and concurrency, and reports the latencies.
package imageload

import (
	"cmp"
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
	"github.com/stepscope/stepscope/internal/measure/load"
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

// outcome is the reply to a request, and the latency of the request or the reason of its failure.
type outcome struct {
	Images  []struct{} `json:"data"`
	PeakMB  float64    `json:"peak_memory_mb"` // 0: unknown
	latency time.Duration
	failure string // "": success
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
	outcomes, took, err := o.send(ctx, all, at, res.Model, o.Console.Steps("Pictures"))
	if err != nil {
		return nil, err
	}
	res.Metrics = o.metrics(all, outcomes, took)
	for _, out := range outcomes {
		if out.failure != "" && !slices.Contains(res.Failures, out.failure) {
			res.Failures = append(res.Failures, out.failure)
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
		out, _, err := o.send(ctx, []request{r}, nil, model, nil)
		if err != nil {
			return 0, err
		}
		if out[0].failure != "" {
			return 0, fmt.Errorf("warm-up request %d of %d failed: %s", i+1, o.Warmups, out[0].failure)
		}
		o.Console.Line(fmt.Sprintf("Warm-up request %d of %d took %.2f s", i+1, o.Warmups, out[0].latency.Seconds()))
		if o.SLO {
			units = append(units, ms(out[0].latency)/r.work())
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

// send sends each request at its scheduled time, or later if the concurrency limit delays it. It returns the outcomes of
// the requests and the duration of the load.
func (o *Options) send(ctx context.Context, all []request, at []time.Duration, model string, bar *progress.Steps) ([]outcome, time.Duration, error) {
	defer bar.Close()
	out, plan, header := make([]outcome, len(all)), make([]workload.Request, len(all)), map[string]string{}
	for i := range all {
		plan[i] = o.plan(&all[i])
	}
	for name := range o.Server.Header {
		header[name] = o.Server.Header.Get(name)
	}
	var mu sync.Mutex
	done := 0
	res, err := load.Run(ctx, plan, load.Options{
		Backend: load.Images, BaseURL: o.Server.URL, Model: model, Header: header, Schedule: at, MaxConcurrency: o.Concurrency,
		ConnectTimeout: min(o.Timeout, 30*time.Second), HeaderTimeout: -1, Timeout: o.Timeout, MaxEvent: 1 << 30, KeepGC: true,
		Ended: func(i int, body []byte) {
			_ = json.Unmarshal(body, &out[i]) // load has checked the reply; a peak that is not a number is unknown
			mu.Lock()
			defer mu.Unlock()
			done++
			bar.Done(done, len(all))
		},
	})
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, 0, err
	}
	for i, rec := range res.Records {
		out[i].latency, out[i].failure = time.Duration(rec.Done-rec.Sent), cmp.Or(rec.Error, string(rec.Failure))
	}
	return out, time.Since(res.Start), nil
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
