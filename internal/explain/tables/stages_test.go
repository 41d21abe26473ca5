package tables_test

import (
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
)

// TestStages: a table gives the time of each stage on each rank, and the last step ends with its stage.
func TestStages(t *testing.T) {
	var a, b explaintest.Scene
	for _, at := range []int{0, 1000} {
		a.Pipeline(at, 300)
		b.Pipeline(at, 350)
	}
	dir := t.TempDir()
	a.Write(t, dir, "u-full_stages-global-rank0.trace.json")
	b.Write(t, dir, "u-full_stages-global-rank1.trace.json")
	rep := explaintest.Analyzed(t, explaintest.ReadDir(t, dir))
	want := []result.StageRow{
		{Stage: "TextEncodingStage", Host: 200, Busy: 120, Idle: 80, Own: 200},
		{Stage: "TextEncodingStage", Rank: 1, Host: 200, Busy: 120, Idle: 80, Own: 200},
		{Stage: "denoising_stage", Host: 800, Busy: 560, Idle: 240, Own: 800},
		{Stage: "denoising_stage", Rank: 1, Host: 800, Busy: 560, Idle: 240, Own: 800},
		{Stage: "decoding_stage", Host: 600, Busy: 500, Idle: 100, Own: 600},
		{Stage: "decoding_stage", Rank: 1, Host: 700, Busy: 600, Idle: 100, Own: 700, Beyond: 100},
	}
	if len(rep.Stages) != len(want) {
		t.Fatalf("got %d stage rows, want %d: %+v", len(rep.Stages), len(want), rep.Stages)
	}
	for i, w := range want {
		w.Count, w.Share = 2, float64(w.Host)/float64([]int64{1600, 1700}[w.Rank])
		for _, ns := range []*int64{&w.Host, &w.Busy, &w.Idle, &w.Own, &w.Beyond} {
			*ns *= 1000
		}
		if rep.Stages[i] != w {
			t.Errorf("stage row %d: got %+v, want %+v", i, rep.Stages[i], w)
		}
	}
	for _, s := range rep.Steps {
		if p := s.Ranks[0].Period; s.Kind != "denoising" || p != 100_000 {
			t.Errorf("step %d: got kind %s, %d ns, want denoising, 100 µs", s.Step, s.Kind, p)
		}
	}
	for _, f := range rep.Findings {
		if f.Kind == result.SlowStep {
			t.Errorf("got slow step %s, want none", f.Title)
		}
	}
}
