package timeline

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// captures are the captures in testdata, from real GPUs.
const captures = "../../../testdata/traces"

var (
	opened   = map[string]*Timeline{}
	openedMu sync.Mutex
)

// open returns the timeline of a capture in testdata, built once for all tests.
func open(t testing.TB, name string) *Timeline {
	t.Helper()
	openedMu.Lock()
	defer openedMu.Unlock()
	if opened[name] == nil {
		opened[name] = of(t, tracesIn(t, filepath.Join(captures, name)))
	}
	return opened[name]
}

// large returns the timeline of the large capture, if the machine has it.
func large(t testing.TB) *Timeline {
	t.Helper()
	data := os.Getenv("STEPSCOPE_DATA")
	if data == "" {
		t.Skip("STEPSCOPE_DATA does not say where the large captures are")
	}
	return of(t, tracesIn(t, filepath.Join(data, "traces", "large")))
}

func tracesIn(t testing.TB, dir string) []*trace.Trace {
	t.Helper()
	sets, err := set.Find([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	traces, failures, err := read.ReadSet(context.Background(), sets[0], read.Options{})
	if err != nil || len(failures) > 0 {
		t.Fatal(err, failures)
	}
	return traces
}

// of builds a timeline from traces.
func of(t testing.TB, traces []*trace.Trace) *Timeline {
	t.Helper()
	w := explain.Prepare(traces, nil)
	rep, err := w.Analyze(explain.Options{Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	tl, err := New(traces, w.Aligned(), rep)
	if err != nil {
		t.Fatal(err)
	}
	return tl
}
