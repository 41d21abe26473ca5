package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine/sched"
	"github.com/stepscope/stepscope/internal/testing/packedtest"
	"github.com/stepscope/stepscope/trace"
)

// TestExportBesideServing blocks the writing of files for good: requests are served meanwhile, and another window can
// be opened.
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
	r.generate(t, 0, 20) // ends, although the window closed in the middle of it
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
	r.generate(t, 0, 3) // rank 0 is ahead: each rank counts its own steps
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
	merged := filepath.Join(dir, "merged-1700000000.5.trace.json.gz")
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

// Each window yields one merged trace of all its ranks, including the last pipeline stage, and of both its stages,
// which do not overlap. Files of an earlier window in the same directory are left out.
func TestMerge(t *testing.T) {
	for _, tt := range []struct {
		name   string
		sizes  Sizes
		bend   func(*api.ProfileRequest)
		merged string
		labels []string // of each file
	}{
		{"one rank", Sizes{}, func(*api.ProfileRequest) {}, "merged-7.trace.json.gz", []string{"TP00"}},
		{"prefix", Sizes{}, func(p *api.ProfileRequest) { p.Prefix = "run" }, "merged-7.trace.json.gz", []string{"TP00"}},
		{"by stage", Sizes{}, func(p *api.ProfileRequest) { p.ByStage, p.Prefill, p.Decode = true, true, true }, "merged-7.trace.json.gz",
			[]string{"TP00", "TP00"}},
		{"by stage, one alone", Sizes{TP: 2}, func(p *api.ProfileRequest) { p.ByStage, p.Decode = true, true }, "merged-7.trace.json.gz",
			[]string{"TP00", "TP01"}},
		{"pipeline", Sizes{PP: 2}, func(*api.ProfileRequest) {}, "merged-7.trace.json.gz", []string{"TP00-PP00", "TP00-PP01"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := serve(t, "llama-tiny", tt.sizes, false, sched.Options{})
			dir := t.TempDir()
			for _, id := range []string{"6", "7"} {
				req := profileIn(dir)
				req.ID, req.NumSteps, req.Merge = id, 1, true
				tt.bend(&req)
				if err := e.StartProfile(t.Context(), req); err != nil {
					t.Fatal(err)
				}
				s := e.session.Load()
				ask(t, e, prompts()[:1], 3)
				res := waitOver(t, s)
				if id != "7" {
					continue
				}
				if res.Merged != filepath.Join(dir, tt.merged) || !strings.HasSuffix(res.Message, fmt.Sprintf("Files: %d)", len(tt.labels))) {
					t.Errorf("%+v", res)
				}
				if req.Prefix != "" { // the same id under another prefix
					req.Prefix = "other"
					if err := e.StartProfile(t.Context(), req); err != nil {
						t.Fatal(err)
					}
					s = e.session.Load()
					ask(t, e, prompts()[:1], 3)
					if other := waitOver(t, s); filepath.Base(other.Merged) != "merged-other-7.trace.json.gz" {
						t.Errorf("%+v", other)
					}
				}
				if got, want := labels(t, res.Merged), slices.Compact(slices.Clone(tt.labels)); !slices.Equal(got, want) {
					t.Errorf("labels %q, want %q", got, want)
				}
			}
		})
	}
}

// labels are the ranks that have events in a merged trace.
func labels(t *testing.T, path string) []string {
	t.Helper()
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(`"pid": ?"\[([^]]*)\] `).FindAllSubmatch(packedtest.Read(t, path), -1) {
		found[string(m[1])] = true
	}
	return slices.Sorted(maps.Keys(found))
}

func TestExportProblems(t *testing.T) {
	r := newRig(t, 1, 1, Options{})
	run := func() (api.ProfileResult, error) {
		t.Helper()
		req := profileIn(t.TempDir())
		req.Merge = true
		if err := r.StartProfile(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		r.generate(t, 0, 2)
		return r.StopProfile(soon(t))
	}
	r.groups[0].lost = 12
	if res, err := run(); err != nil || !strings.Contains(res.Message, "12 records did not fit") || len(res.Files) != 1 {
		t.Errorf("%v, %+v", err, res)
	}
	full := errors.New("disk full")
	r.groups[0].write = func() error { return full }
	if res, err := run(); !errors.Is(err, full) || !strings.Contains(res.Message, "write the trace of TP-0: disk full") || len(res.Files) != 0 || res.Merged != "" {
		t.Errorf("%v, %+v", err, res)
	}
}

// A window closes some time after its traffic stops; a window that has not seen a step yet waits for one.
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

// A missing stage does not keep the window open either.
func TestIdleStage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, 1, Options{})
		req := profileIn(t.TempDir())
		req.NumSteps, req.ByStage, req.Prefill, req.Decode = 1, true, true, true
		if err := r.StartProfile(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		s := r.session.Load()
		r.generate(t, 0, 1)
		time.Sleep(59 * time.Second)
		if !r.Profiling() {
			t.Fatal("closed too early")
		}
		time.Sleep(2 * time.Second)
		<-s.done
		if len(s.result.Files) != 1 || !strings.Contains(s.result.Message, "without a step") {
			t.Errorf("%+v", s.result)
		}
		r.Close()
	})
}

// Close writes the recorded events.
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
	if err := r.StartProfile(t.Context(), profileIn(dir)); !errors.Is(err, api.ErrUnavailable) {
		t.Errorf("start after close: %v", err)
	}
}

// Sessions are started and stopped concurrently while requests run: every session ends, and no recorder is left on.
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
				req.ID = fmt.Sprint(k, ".", i)
				req.NumSteps = (i + k) % 4
				req.StartStep = int64(i % 3)
				if k == 3 && req.NumSteps > 0 {
					req.StartStep, req.ByStage, req.Prefill, req.Decode = 0, true, true, true
				}
				if err := r.StartProfile(context.Background(), req); err != nil && !errors.Is(err, api.ErrProfileRunning) {
					t.Error(err)
				}
				if _, err := r.StopProfile(context.Background()); err != nil && !errors.Is(err, api.ErrProfileIdle) {
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
