package torch

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// TestTouched checks that the end of a window that ends by itself is noticed while its owner is busy elsewhere: when
// the files of all ranks have arrived, without a request to stop.
func TestTouched(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"whole": false, "one grows later": true} {
		f := newFake(t, false, `{"version":"0.5.23","tp_size":2}`)
		var dir string
		f.begin = func(d string) { dir = d; f.write(d, "1-TP-0.trace.json.gz") }
		before := time.Now()
		s, err := Start(t.Context(), []Target{{URL: f.url}}, Window{OutputDir: t.TempDir(), NumSteps: 4}, patient(Options{LoadFollows: true}))
		if err != nil {
			t.Fatal(err)
		}
		started := time.Now()
		if from, _, known := s.Affected(); known || from.Before(before) || from.After(started) {
			t.Errorf("%s: open: from %v, known %v", name, from, known)
		}
		const export = 300 * time.Millisecond
		go func() {
			time.Sleep(export)
			f.write(dir, "1-TP-0.trace.json.gz", "1-TP-1.trace.json.gz")
		}()
		s.Guard(t.Context()) // returns when the window is written
		if _, to, known := s.Affected(); !known || to.Before(started.Add(export)) || time.Since(to) < settled {
			t.Errorf("%s: written %v after the start, known %v", name, to.Sub(started), known)
		}
		if late {
			grown, err := os.OpenFile(filepath.Join(dir, "1-TP-1.trace.json.gz"), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			grown.Write(traceOf(1, 2))
			grown.Close()
		}
		if _, err := s.Collect(t.Context(), t.TempDir()); err != nil {
			t.Error(err)
		}
		if _, _, known := s.Affected(); known == late {
			t.Errorf("%s: known %v at last", name, known)
		}
		if f.called() != "start" {
			t.Errorf("%s: calls %s", name, f.called())
		}
	}
}

// TestTouchedByOuterProfiler checks a window that writes no file here: its end goes unnoticed, so it may still record,
// and the affected requests are unknown.
func TestTouchedByOuterProfiler(t *testing.T) {
	t.Parallel()
	f := newFake(t, false, `{"version":"0.5.23","tp_size":1}`)
	w := Window{OutputDir: t.TempDir(), NumSteps: 3, Activities: []string{"CUDA_PROFILER"}}
	s, err := Start(t.Context(), []Target{{URL: f.url}}, w, patient(Options{LoadFollows: true}))
	if err != nil {
		t.Fatal(err)
	}
	s.Guard(t.Context())
	if from, to, known := s.Affected(); known || from.IsZero() || !to.IsZero() || !s.members[0].recording() {
		t.Errorf("touched from %v to %v, known %v, recording %v", from, to, known, s.members[0].recording())
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, to, known := s.Affected(); !known || to.IsZero() {
		t.Errorf("stopped: to %v, known %v", to, known)
	}
}

// TestTouchedFromStartStep checks that a window with a start step affects nothing before that step.
func TestTouchedFromStartStep(t *testing.T) {
	t.Parallel()
	f := newFake(t, false, "")
	forward := atomic.Int64{}
	f.routes["GET /server_info"] = func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"version":"0.5.23","tp_size":1,"internal_states":[{"forward_ct":%d}]}`, forward.Load())
	}
	var dir string
	f.begin = func(d string) { dir = d }
	s, err := Start(t.Context(), []Target{{URL: f.url}}, Window{OutputDir: t.TempDir(), StartStep: 40, NumSteps: 2}, patient(Options{LoadFollows: true}))
	if err != nil {
		t.Fatal(err)
	}
	const before = 500 * time.Millisecond
	armed := time.Now()
	go func() {
		time.Sleep(before)
		forward.Store(39) // number 40 is in progress
		f.write(dir, "1-TP-0.trace.json.gz")
	}()
	s.Guard(t.Context())
	if from, to, known := s.Affected(); !known || from.Before(armed.Add(before-3*guardEvery)) || from.After(armed.Add(before)) || !to.After(from) {
		t.Errorf("touched from %v to %v after it was armed, known %v", from.Sub(armed), to.Sub(armed), known)
	}
}
