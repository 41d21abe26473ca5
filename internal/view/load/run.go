package load

import (
	"math"
	"net/http"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/runs"
)

// Run is what the page shows of a run.
type Run struct {
	ID   string `json:"id"`
	Rep  int    `json:"rep"`
	Reps int    `json:"reps"` // repetitions
	*report.BenchPage
	Server   []Standing `json:"server"`   // how it stood meanwhile, as it said of itself
	Recorded bool       `json:"recorded"` // steps were, so that load/steps has an answer
	Tags     []string   `json:"tags"`
}

// Standing is how a server stood at one moment, all ranks together.
type Standing struct {
	At      int64   `json:"at"` // in the run's time
	Running float64 `json:"running"`
	Queued  float64 `json:"queued"`
	Usage   float64 `json:"usage"` // part of the KV cache, of the rank that uses most; below 0: it does not say
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
	if r.n == len(r.load.Runs)-1 { // of which there are samples
		out.Server, err = standings(r.run, r.m.Run.StartWall)
	}
	return out, err
}

// mostBins is how many an answer has.
const mostBins = 400

// timeline is a stretch of the run, from … to, in finer bins than all of it has.
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

// stretch is what the parameters from and to say, in the run's time; all of the run if they are left out.
func stretch(req *http.Request, end int64) (s bench.Span, err error) {
	if s.From, err = number(req, "from", 0, math.MaxInt64); err == nil {
		s.To, err = number(req, "to", max(end, 0), math.MaxInt64)
	}
	return s, err
}

// standings are those that were kept with the run.
func standings(run *runs.Run, start int64) ([]Standing, error) {
	samples, err := runs.Samples(run)
	out := []Standing{}
	for i := range samples {
		if s := samples[i].State(); s != nil {
			out = append(out, Standing{samples[i].At - start, s.Running, s.Queued, s.KV})
		}
	}
	return out, err
}
