package load

import (
	"net/http"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/measure/experiment"
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

// standings are those that were kept with the run.
func standings(run *runs.Run, start int64) ([]Standing, error) {
	samples, err := experiment.Samples(run)
	out := []Standing{}
	for i := range samples {
		if s := samples[i].Standing(); s != nil {
			out = append(out, Standing{samples[i].At - start, s.Running, s.Queued, s.KV})
		}
	}
	return out, err
}
