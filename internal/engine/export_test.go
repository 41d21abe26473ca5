package engine

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepscope/stepscope/trace"
)

// TestExportBesideServing holds the writing of files up for good: requests are
// served meanwhile, and another window can be opened.
func TestExportBesideServing(t *testing.T) {
	r := newRig(t, 1, 1, Options{})
	gate := make(chan struct{})
	r.groups[0].write = func() error { <-gate; return nil }
	dir := t.TempDir()
	req := profileIn(dir)
	req.NumSteps = 2
	if err := r.StartProfile(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	first := r.session.Load()
	r.generate(t, 0, 20) // ends, though the window closed in the middle of it
	if r.Profiling() {
		t.Fatal("the window is open")
	}
	req.ID = "2"
	if err := r.StartProfile(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	second := r.session.Load()
	r.generate(t, 0, 20)
	if list := slices.DeleteFunc(files(t, dir), func(s string) bool { return strings.HasSuffix(s, ".tmp") }); len(list) > 0 {
		t.Errorf("files %v before they are whole", list)
	}
	ctx, cancel := context.WithCancel(t.Context())
	req.ID = "3"
	req.NumSteps = 0
	if err := r.StartProfile(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	third := r.session.Load()
	cancel()
	if _, err := r.StopProfile(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("stop that gives up: %v", err)
	}
	close(gate)
	for _, s := range []*session{first, second, third} {
		if res := waitOver(t, s); len(res.Files) != 1 {
			t.Errorf("%+v", res)
		}
	}
}

func TestDataParallelProfile(t *testing.T) {
	r := newRig(t, 2, 2, Options{})
	r.generate(t, 0, 3) // rank 0 is ahead: each counts for itself
	dir := t.TempDir()
	req := profileIn(dir)
	req.Prefix, req.StartStep, req.NumSteps, req.Merge = "my-run", 4, 2, true
	if err := r.StartProfile(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	s := r.session.Load()
	r.generate(t, 0, 3)
	if !r.Profiling() {
		t.Fatal("over before the second rank has recorded")
	}
	r.generate(t, 1, 6)
	res := waitOver(t, s)
	for dp, want := range [][]string{{"4:EXTEND", "5:DECODE"}, {"4:DECODE", "5:DECODE"}} {
		for tp := range 2 {
			rank := trace.Rank{TP: tp, DP: dp, PP: -1, EP: -1}
			name := s.fileName(Rank{TP: tp, DP: dp}, "")
			if got, ok := trace.ParseFileName(name); !ok || got.Rank != rank || got.ID != "my-run-1700000000.5" || got.Stage != "" {
				t.Errorf("%s is read as %+v", name, got)
			}
			if got := readSteps(t, filepath.Join(dir, name)); !slices.Equal(got, want) {
				t.Errorf("%s has %v, want %v", name, got, want)
			}
		}
	}
	merged := filepath.Join(dir, "merged-my-run-1700000000.5.trace.json.gz")
	if res.Merged != merged || !strings.Contains(res.Message, "Merged trace: "+merged+" (Events: ") || !strings.HasSuffix(res.Message, ", Files: 4)") {
		t.Errorf("%+v", res)
	}
	if got := readSteps(t, merged); len(slices.DeleteFunc(got, func(s string) bool { return s == "" })) != 8 {
		t.Errorf("the merged trace has steps %v", got)
	}
	if log := r.log(); !strings.Contains(log, "DP1: Profiling starts. Traces will be saved to: "+dir+" (with profile id: 1700000000.5)") ||
		!strings.Contains(log, "DP0: Stop profiling...") || !strings.Contains(log, "Profiling done. Traces are saved to: "+dir+" Merged trace: ") {
		t.Errorf("log:\n%s", log)
	}
}

// Both stages of one window, and nothing else of the directory, are merged.
func TestMergeOfStages(t *testing.T) {
	r := newRig(t, 1, 1, Options{})
	dir := t.TempDir()
	for _, id := range []string{"1", "2"} {
		req := profileIn(dir)
		req.ID, req.NumSteps, req.Merge, req.ByStage, req.Prefill, req.Decode = id, 1, true, true, true, true
		if err := r.StartProfile(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		s := r.session.Load()
		r.generate(t, 0, 3)
		if res := waitOver(t, s); res.Merged != filepath.Join(dir, "merged-"+id+".trace.json.gz") || !strings.HasSuffix(res.Message, "Files: 2)") {
			t.Errorf("%+v", res)
		}
	}
}

func TestExportProblems(t *testing.T) {
	r := newRig(t, 1, 1, Options{})
	run := func() ProfileResult {
		t.Helper()
		req := profileIn(t.TempDir())
		req.Merge = true
		if err := r.StartProfile(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		r.generate(t, 0, 2)
		res, err := r.StopProfile(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	r.groups[0].lost = 12
	if res := run(); !strings.Contains(res.Message, "12 records found no room") || len(res.Files) != 1 {
		t.Errorf("%+v", res)
	}
	r.groups[0].write = func() error { return errors.New("disk full") }
	if res := run(); !strings.Contains(res.Message, "write the trace of TP-0: disk full") || len(res.Files) != 0 || res.Merged != "" {
		t.Errorf("%+v", res)
	}
}

// A window whose traffic stops is closed after a while; one that has seen no step
// yet waits for it.
func TestIdleWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, 1, Options{ProfileIdle: time.Minute})
		req := profileIn(t.TempDir())
		req.NumSteps = 50
		if err := r.StartProfile(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		s := r.session.Load()
		time.Sleep(10 * time.Minute)
		r.generate(t, 0, 2)
		time.Sleep(45 * time.Second)
		r.generate(t, 0, 2)
		time.Sleep(59 * time.Second)
		if !r.Profiling() {
			t.Fatal("closed too early")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if r.Profiling() {
			t.Fatal("not closed")
		}
		<-s.done
		if len(s.result.Files) != 2 || s.result.Steps != 4 || !strings.Contains(s.result.Message, "without a step") {
			t.Errorf("%+v", s.result)
		}
		r.Close()
	})
}

// Close writes what was recorded.
func TestCloseWhileProfiling(t *testing.T) {
	r := newRig(t, 2, 1, Options{})
	dir := t.TempDir()
	if err := r.StartProfile(t.Context(), profileIn(dir)); err != nil {
		t.Fatal(err)
	}
	r.generate(t, 1, 2)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if got := readSteps(t, filepath.Join(dir, "1700000000.5-TP-0-DP-1.trace.json.gz")); len(got) != 2 {
		t.Errorf("steps %v", got)
	}
	if err := r.StartProfile(t.Context(), profileIn(dir)); !errors.Is(err, ErrClosed) {
		t.Errorf("start after close: %v", err)
	}
}

// Starts and stops from many sides while requests run: every session ends, and
// no recorder is left on.
func TestProfileRaces(t *testing.T) {
	r := newRig(t, 2, 2, Options{})
	dir := t.TempDir()
	stop := make(chan struct{})
	busy := make(chan struct{})
	go func() {
		defer close(busy)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				r.generate(t, i%2, 7)
			}
		}
	}()
	done := make(chan struct{})
	for k := range 4 {
		go func() {
			for i := range 30 {
				req := profileIn(dir)
				req.NumSteps = (i + k) % 4
				req.StartStep = int64(i % 3)
				if k == 3 && req.NumSteps > 0 {
					req.StartStep, req.ByStage, req.Prefill, req.Decode = 0, true, true, true
				}
				if err := r.StartProfile(context.Background(), req); err != nil && !errors.Is(err, ErrProfileRunning) {
					t.Error(err)
				}
				if _, err := r.StopProfile(context.Background()); err != nil && !errors.Is(err, ErrProfileIdle) {
					t.Error(err)
				}
			}
			done <- struct{}{}
		}()
	}
	for range 4 {
		<-done
	}
	close(stop)
	<-busy
	if r.Profiling() {
		t.Error("a window is open")
	}
	for i, g := range r.groups {
		idle := make(chan bool)
		r.ranks[i].Do(func() {
			for _, rank := range g.ranks {
				if rank.Recorder.(*fakeRecorder).rec != nil {
					t.Error("a recorder is on")
				}
			}
			close(idle)
		})
		<-idle
	}
}
