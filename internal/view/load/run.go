package load

import (
	"math"
	"net/http"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/capture/signals"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/runs"
)

// Run is the data about a run that the page shows.
type Run struct {
	ID   string `json:"id"`
	Rep  int    `json:"rep"`
	Reps int    `json:"reps"` // number of repetitions
	*report.BenchPage
	Server   []Standing `json:"server"`   // metrics of the server during the run
	Recorded bool       `json:"recorded"` // steps were recorded, so that load/steps has data
	Tags     []string   `json:"tags"`
}

// Standing is the state of a server at one moment, over all ranks.
type Standing struct {
	At      int64   `json:"at"` // in the run's time
	Running float64 `json:"running"`
	Queued  float64 `json:"queued"`
	Usage   float64 `json:"usage"` // share of the KV cache in use on the fullest rank; below 0: unknown
}

func (v *Views) page(req *http.Request) (any, error) {
	r, err := v.repOf(req)
	if err != nil {
		return nil, err
	}
	b := &report.Bench{Run: r.m.Run, Summary: r.summary(), Records: r.m.Records}
	out := &Run{
		ID: r.run.ID(), Rep: r.n, Reps: len(r.load.Runs), BenchPage: report.NewBenchPage(b), Server: []Standing{},
		Recorded: len(r.run.Traces()) > 0, Tags: append([]string{}, r.run.Manifest().Tags...),
	}
	if r.n == len(r.load.Runs)-1 { // only the last repetition has samples
		out.Server, err = standings(r.run, r.m.Run.StartWall)
	}
	return out, err
}

// mostBins is the maximum number of bins in an answer.
const mostBins = 400

// timeline returns the part of the run between the parameters from and to, in finer bins than those of the whole run.
func (v *Views) timeline(req *http.Request) (any, error) {
	r, err := v.repOf(req)
	if err != nil {
		return nil, err
	}
	part, err := stretch(req, r.m.Run.Duration)
	if err != nil {
		return nil, err
	}
	return bench.PartTimeline(r.m.Records, r.m.Run, part, mostBins), nil
}

// stretch parses the parameters from and to, which are in the run's time. The default is the whole run.
func stretch(req *http.Request, end int64) (s bench.Span, err error) {
	if s.From, err = number(req, "from", 0, math.MaxInt64); err == nil {
		s.To, err = number(req, "to", max(end, 0), math.MaxInt64)
	}
	return s, err
}

// standings returns the metrics of the server that are stored with the run.
func standings(run *runs.Run, start int64) ([]Standing, error) {
	samples, err := runs.Samples(run)
	out := []Standing{}
	for i := range samples {
		sample, _ := signals.OfValues(samples[i].Values)
		if s := sample.State(); s != nil {
			out = append(out, Standing{samples[i].At - start, s.Running, s.Queued, s.KV})
		}
	}
	return out, err
}
