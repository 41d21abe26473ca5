package system

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/measure/experiment"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/trace"
)

// ReadReference returns decode step times that were measured without the profiler. The argument given is the user's
// value. It is a duration, the id or the directory of a run with a load, or an output file of bench_serving.
func ReadReference(root, given string, say *progress.Console) (*trace.Reference, error) {
	if d, err := time.ParseDuration(given); err == nil {
		if d <= 0 {
			return nil, fmt.Errorf("%v: give the time of a step, such as 2.55ms", d)
		}
		return ofUser(trace.StepTime{N: 1, Median: int64(d), Low: int64(d), High: int64(d)}), nil
	}
	if run, err := runs.Named(root, given); err == nil && run != nil && run.Loaded() {
		load, err := run.Load(say)
		if err != nil {
			return nil, err
		}
		m := &load.Runs[len(load.Runs)-1]
		if ref := experiment.Reference(m.Records, m.Run); ref != nil {
			return ref, nil
		}
		return nil, fmt.Errorf("run %s: the decode step time cannot be derived from the tokens of its requests", run.ID())
	}
	text, err := atomicfile.ReadFile(given)
	if err != nil {
		return nil, fmt.Errorf("%s: give a time such as 2.55ms, a run with a load, or a file written by bench serving --output-file: %w", given, err)
	}
	pace, err := ofTable(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", given, err)
	}
	return ofUser(pace), nil
}

func ofUser(p trace.StepTime) *trace.Reference {
	return &trace.Reference{From: trace.FromUser, Paces: []trace.StepTime{p}}
}

// ofTable parses the last line of an output file of SGLang's bench_serving or of stepscope's bench serving. The file
// has no absolute token times, so inter-token gaps that contain a prefill cannot be excluded. Such gaps hardly affect
// the median.
func ofTable(text []byte) (p trace.StepTime, err error) {
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	var last struct {
		ITLs        [][]float64 `json:"itls"` // s
		Concurrency float64     `json:"concurrency"`
		Accepted    *float64    `json:"accept_length"`
	}
	if err := json.Unmarshal(lines[len(lines)-1], &last); err != nil {
		return p, fmt.Errorf("was not written by bench serving: %w", err)
	}
	if last.Accepted != nil {
		return p, fmt.Errorf("the server speculated (accept_length %.2g), so the time between tokens is not the time of a step", *last.Accepted)
	}
	var all []int64
	for _, r := range last.ITLs {
		for _, s := range r {
			all = append(all, int64(math.Round(s*1e9)))
		}
	}
	// The duration of a step appears once for each request of the step. Take one value per step: every Concurrency-th
	// of the sorted values.
	slices.Sort(all)
	each := max(1, int(math.Round(last.Concurrency)))
	var steps []int64
	for i := each / 2; i < len(all); i += each {
		steps = append(steps, all[i])
	}
	p, ok := torch.NewStepTime(0, steps)
	if !ok {
		return p, fmt.Errorf("has token times of only %d steps, which is too few (bench serving needs --output-details)", len(steps))
	}
	return p, nil
}
