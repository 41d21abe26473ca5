package experiment

import (
	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/capture/gpus"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/trace"
)

// record stores the request records of one run immediately.
func (s *Serving) record(records []bench.Record) (err error) {
	if s.Store == nil {
		return nil
	}
	if s.writer == nil {
		if s.writer, err = s.Store.WriteRecords(); err != nil {
			return err
		}
	}
	for i := range records {
		if err := s.writer.Add(&records[i]); err != nil {
			return err
		}
	}
	return s.writer.Flush()
}

// keep writes the measurements to the store. Several runs of one plan share a directory: the records of all runs are
// concatenated, and each record names its run.
func (s *Serving) keep(out *Outcome) error {
	r := s.Store
	if r == nil {
		return nil
	}
	if s.writer != nil {
		if err := s.writer.Close(); err != nil {
			return err
		}
	}
	var measured []*bench.Run
	var summaries []*bench.Summary
	for _, m := range out.Runs {
		measured, summaries = append(measured, m.Run), append(summaries, m.Summary)
	}
	if err := r.WriteJSON(runs.File{Path: "run.json", Kind: runs.KindRun, Format: "json"}, measured); err != nil {
		return err
	}
	if err := r.WriteJSON(runs.File{Path: "summary.json", Kind: runs.KindSummary, Format: "json"}, summaries); err != nil {
		return err
	}
	if samples := out.Last().Server; len(samples) > 0 {
		if err := r.WriteJSON(runs.File{Path: runs.SamplesFile, Kind: runs.KindMetrics, Format: "json", Source: s.Server.URL + "/metrics"}, samples); err != nil {
			return err
		}
	}
	if last := out.Last(); len(last.states) > 0 {
		kept := struct {
			Format int          `json:"format"`
			Usage  []gpus.Usage `json:"usage"`
			States []gpus.State `json:"states"`
		}{1, last.GPUs, last.states}
		if err := r.WriteJSON(runs.File{Path: trace.GPUsFile, Kind: runs.KindMetrics, Format: "json", Source: s.GPUs}, kept); err != nil {
			return err
		}
	}
	if out.Capture != nil && out.Capture.Result != nil {
		if err := out.Capture.Result.Keep(r, ""); err != nil {
			return err
		}
	}
	sum := out.Last().Summary
	return r.Update(func(m *runs.Manifest) {
		m.PlanHash, m.Model, m.URL, m.Backend = out.PlanHash, s.Run.Model, s.Run.URL, s.Run.Backend
		m.Numbers = append(m.Numbers, runs.Numbers(sum)...)
	})
}
