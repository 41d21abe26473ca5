package launch_test

import (
	"context"
	"fmt"
	"github.com/stepscope/stepscope/trace"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/reference/launch"
	"github.com/stepscope/stepscope/internal/tracefile/check"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
)

const (
	windowFrom  = 61 // forward step that opens the window
	windowSteps = 20
	faultAt     = 10 // step of the window in which a fault begins
)

// TestWhoIsLate captures a window of TP 4 × DP 2 under load and has it merged, checked and analysed. No rank of a
// healthy server is blamed for its work or its device, although eight ranks on few cores do have late hosts. If a rank
// misbehaves, the analysis names the rank, the step and the cause.
func TestWhoIsLate(t *testing.T) {
	for _, tt := range []struct {
		name, fault string
		rank, cause string
	}{
		{"healthy", "", "", ""},
		{"more work", "rank=5,extra_kernels=2,extra_time=1ms", "TP01-DP01", result.CauseWork},
		{"slower device", "rank=2,kernel_sleep=400us", "TP02-DP00", result.CauseDevice},
		{"stalled host", "rank=6,host_stall=25ms", "TP02-DP01", result.CauseHost},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// On a machine that others keep busy, the ranks wait for cores more than for each other.
			for try := range 3 {
				if whoIsLate(t, tt.fault, tt.rank, tt.cause) || tt.fault == "" {
					return
				}
				t.Logf("try %d: %s is not found late since step %d by %s", try+1, tt.rank, faultAt, tt.cause)
			}
			t.Fail()
		})
	}
}

// whoIsLate captures a window with a fault and reports whether the analysis names its rank, step and cause.
func whoIsLate(t *testing.T, fault, rank, cause string) (found bool) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "profile")
	capture8(t, dir, fault)
	set := checkSet(t, dir)
	traces, failures, err := read.ReadSet(t.Context(), set, read.Options{})
	if err != nil || len(failures) > 0 {
		t.Fatal(err, failures)
	}
	r, err := explain.Analyze(traces, explain.Options{ID: set.ID})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.Kind != result.Straggler {
			continue
		}
		who := strings.Join(f.Names, " ") // nobody, if the machine lacks cores
		t.Log(f.Severity, report.Words(f.Title))
		switch {
		case len(f.Ranks) == 1 && who == rank && f.Cause == cause && f.FirstStep == faultAt && !f.Passing:
			found = true
		case f.Cause == result.CauseWork || f.Cause == result.CauseDevice:
			// Ranks that wait for a late rank get a core less often.
			if fault == "" || !f.Passing && who != rank {
				t.Errorf("also: %s", report.Words(f.Title))
			}
		}
	}
	return found
}

// capture8 serves a load with eight ranks and records a window of it. The fault begins at step faultAt of the window.
func capture8(t *testing.T, dir, fault string) {
	t.Helper()
	e := load(t, func(a *launch.ModelArgs) {
		a.TP, a.DP, a.MaxTotalTokens = 4, 2, 8192
		if fault != "" {
			// The device counts from 0, the engine's forward steps from 1.
			a.Faults = []string{fmt.Sprintf("%s,from=%d", fault, windowFrom+faultAt-1)}
		}
	})
	err := e.StartProfile(t.Context(), api.ProfileRequest{
		ID: "8", OutputDir: dir, StartStep: windowFrom, NumSteps: windowSteps, Merge: true, Activities: api.ActivityCPU | api.ActivityGPU,
		RecordShapes: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				prompt, _ := e.Tokenizer().Encode(fmt.Sprintf("client %d, request %d %s", i, n, strings.Repeat("says ", i+n%3)), true)
				events, err := e.Submit(ctx, &api.Request{
					ID: fmt.Sprintf("%d-%d", i, n), Input: prompt, LogprobStart: -1, DPRank: -1,
					Params: api.Sampling{MaxNewTokens: 20 + i, TopP: 1, RepetitionPenalty: 1, IgnoreEOS: true},
				})
				if err != nil {
					t.Error(err)
					return
				}
				for range events {
				}
			}
		})
	}
	merged := filepath.Join(dir, "merged-8.trace.json.gz")
	for range 1200 {
		if found, _ := filepath.Glob(merged); found != nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	cancel()
	wg.Wait()
}

// checkSet does the same as "trace check" and returns the set without its merged file.
func checkSet(t *testing.T, dir string) set.Set {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(files) != 9 {
		t.Fatalf("files %q, want one for each of 8 ranks and the merged one", files)
	}
	sets, err := set.Find([]string{dir})
	if err != nil || len(sets) != 1 || len(sets[0].Files) != 8 {
		t.Fatal(sets, err)
	}
	r, err := check.Check(t.Context(), sets[0], nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Files {
		steps := 0
		for _, n := range f.Steps {
			steps += n
		}
		if steps != windowSteps || slices.ContainsFunc(f.Odd, func(o check.Odd) bool { return !o.Harmless }) {
			t.Errorf("%s: %d steps, want %d; odd: %+v", f.Label, steps, windowSteps, f.Odd)
		}
	}
	// The server also merged its files; that file is left out.
	if r.Incomplete() || slices.ContainsFunc(r.Notes, func(n trace.Note) bool { return n.Kind != trace.NoteMergedFile }) {
		t.Errorf("missing %+v, notes %q", r.Missing, r.Notes)
	}
	for _, c := range r.Clocks {
		if c.Verdict == "disagree" {
			t.Errorf("clock of %s against %s: %+v", c.Label, c.Against, c)
		}
	}
	return sets[0]
}
