package worth_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/worth"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/trace"
)

// TestReplay: replayed steps of real captures take as long as recorded, and their critical paths add up to them to the
// nanosecond.
func TestReplay(t *testing.T) {
	roots := []string{explaintest.Traces}
	if data := os.Getenv("STEPSCOPE_DATA"); data != "" {
		roots = append(roots, filepath.Join(data, "traces"))
	}
	for _, root := range roots {
		dirs, err := filepath.Glob(filepath.Join(root, "*"))
		if err != nil || len(dirs) == 0 {
			t.Fatalf("%s holds no captures (error: %v)", root, err)
		}
		for _, dir := range dirs {
			t.Run(filepath.Base(dir), func(t *testing.T) {
				r := explaintest.Analyzed(t, explaintest.ReadDir(t, dir))
				if r.Replay.Steps < 3 {
					if r.Replay.Known || r.Replay.Why.Key != "replay_few" && r.Replay.Why.Key != "replay_no_gpu" {
						t.Errorf("%d steps: got replay %+v, want it unknown for too few steps or no GPU work", r.Replay.Steps, r.Replay)
					}
					return
				}
				if !r.Replay.Known || r.Replay.Off > 0.013 || r.Replay.OffP90 > 0.05 {
					t.Errorf("got replay %+v, want errors of at most 1.3 %% at the median, 5 %% at the 90th percentile", r.Replay)
				}
				var rows, ranks int64
				for _, x := range r.Path.Rows {
					rows += x.NS
				}
				for _, x := range r.Path.Ranks {
					ranks += x.NS
				}
				if rows != r.Path.NS || ranks != r.Path.NS || r.Path.Steps != r.Replay.Steps {
					t.Errorf("critical path: got %d steps of %d ns, but rows sum to %d, ranks to %d", r.Path.Steps, r.Path.NS, rows, ranks)
				}
			})
		}
	}
}

// TestWorth: without a fault that affects a rank from some step on, steps take as long as before it. The captures are
// of two and four H200.
func TestWorth(t *testing.T) {
	for _, c := range []struct {
		capture, id string
		from        int // the step after which only the fault changes
		within      float64
	}{
		{"graph_work", "straggler-tp01-work-6", 1, 0.03},
		{"compute_skew", "straggler-tp02-work-7", 1, 0.03},
		{"g_device_r1", "straggler-tp01-device-6", 0, 0.03},
		{"g_mixed", "straggler-tp01-work-10", 3, 0.06},
	} {
		t.Run(c.capture, func(t *testing.T) {
			r := explaintest.Analyzed(t, explaintest.ReadDir(t, filepath.Join(explaintest.Traces, c.capture)))
			f := findingOf(r, c.id)
			if f == nil || !f.Worth.Known {
				t.Fatalf("%s: got finding %+v, want one with a known worth", c.id, f)
			}
			var before []int64
			for i := range r.Steps {
				if s := &r.Steps[i]; s.Step > c.from && s.Step < f.FirstStep && s.Kind == f.Worth.Kind {
					before = append(before, s.Ranks[0].Period)
				}
			}
			was := metric.Median(before)
			off := float64(f.Worth.Without)/was - 1
			t.Logf("a step would take %d ns, %+.1f %% off the %.0f ns before the fault", f.Worth.Without, 100*off, was)
			if off < -c.within || off > c.within {
				t.Errorf("%s: the worth is off by %+.1f %%, want at most %.0f %%", c.id, 100*off, 100*c.within)
			}
			if f.Worth.Step <= f.Worth.Without || f.Worth.WithoutTokens <= f.Worth.Tokens || f.Worth.Tokens == 0 {
				t.Errorf("got worth %+v, want shorter steps and more tokens a second", f.Worth)
			}
		})
	}
}

func findingOf(r *result.Report, id string) *result.Finding {
	for i := range r.Findings {
		if r.Findings[i].ID == id {
			return &r.Findings[i]
		}
	}
	return nil
}

// TestNotReplayed: a capture that cannot be replayed reports no worth.
func TestNotReplayed(t *testing.T) {
	ts := explaintest.ReadDir(t, filepath.Join(explaintest.Traces, "graph_work"))
	for _, tr := range ts {
		explaintest.CPUOnly(tr)
	}
	r := explaintest.Analyzed(t, ts)
	if r.Replay.Known || r.Replay.Why.Key != "replay_no_gpu" {
		t.Errorf("got replay %+v, want unknown: no GPU work", r.Replay)
	}
	for _, f := range r.Findings {
		if f.Worth.Known || f.Worth.Says.String() != "" {
			t.Errorf("%s: got worth %+v, want none", f.ID, f.Worth)
		}
	}
}

// TestWhatIfScope: taking away the cause of a late rank predicts, in the steps of its finding, the worth of the finding.
// Another setting has no row of a finding.
func TestWhatIfScope(t *testing.T) {
	for _, c := range []struct {
		text, finding string
	}{
		{"TP02.work=peers", "straggler-tp02-work-7"},
		{"TP01.work=peers", ""},
		{"TP02.host=0.5", ""},
	} {
		set, err := worth.ParseSetting(c.text)
		if err != nil {
			t.Fatal(err)
		}
		ts := explaintest.RealSet(t, "compute_skew")
		got, err := explain.Prepare(ts, nil).WhatIf(explain.Options{}, []worth.Setting{set})
		if err != nil {
			t.Fatal(err)
		}
		of := slices.DeleteFunc(got.Rows, func(row result.WhatIfRow) bool { return row.Finding == "" })
		if c.finding == "" {
			if len(of) > 0 {
				t.Errorf("%s: got rows of findings %+v, want none", c.text, of)
			}
			continue
		}
		f := findingOf(explaintest.Analyzed(t, explaintest.RealSet(t, "compute_skew")), c.finding)
		if len(of) != 1 || of[0].Finding != c.finding || of[0].Step != f.Worth.Step || of[0].Steps != f.Worth.Steps || explaintest.Abs(of[0].Without-f.Worth.Without) > f.Worth.Step/100 {
			t.Errorf("%s: got rows %+v, want one with the worth %+v", c.text, of, f.Worth)
		}
	}
}

// TestWorthWithoutRecording: with a reference, the worth of a slow device is that of steps without the cost of
// recording. Without a reference it is that of the recorded steps.
func TestWorthWithoutRecording(t *testing.T) {
	slow := func() []*trace.Trace {
		return explaintest.Retimed(t, "graphs", func(m *retime.Model) {
			for n := 1; n < m.Steps; n++ { // recording slows all hosts
				for rank := range 4 {
					m.Pause(rank, n, 2000*us)
				}
			}
			explaintest.Slowed(1.5, 1, 2)(m)
		})
	}
	plain := explaintest.Referred(t, slow(), nil)
	for _, ref := range []*trace.Reference{nil, explaintest.StepsOf(plain.Steps[2].Batch, explaintest.DecodeMedian(plain)*2/3)} {
		r := explaintest.Referred(t, slow(), ref)
		late := explaintest.Said(r, result.Straggler)
		if len(late) == 0 || late[0].Cause != result.CauseDevice {
			t.Fatalf("got no late device%s", explaintest.Describe(r))
		}
		w := late[0].Worth
		if w.Unrecorded != (ref != nil) || ref != nil && (w.Step > plain.Steps[2].Ranks[0].Period*4/5 || w.Gain() <= 0) {
			t.Errorf("reference %v: got worth %+v, recording %+v%s", ref != nil, w, r.Recording, explaintest.Describe(r))
		}
	}
}
