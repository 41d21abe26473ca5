package torch

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestSlowStop checks that a server that takes long to write its traces is reported, and one that answers soon is not.
func TestSlowStop(t *testing.T) {
	for took, want := range map[time.Duration]bool{0: false, 200 * time.Millisecond: true} {
		f := newFake(t, false, `{"tp_size":1,"version":"0.5.11"}`)
		f.end = func(dir string) { f.write(dir, "9-TP-0.trace.json.gz") }
		stop := f.routes["POST /stop_profile"]
		f.routes["POST /stop_profile"] = func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(took)
			stop(w, r)
		}
		l := &log{}
		o := patient(Options{Log: l.add})
		o.slow = 30 * time.Millisecond
		s, err := Start(t.Context(), []Target{{URL: f.url}}, Window{OutputDir: t.TempDir()}, o)
		if err != nil {
			t.Fatal(err)
		}
		f.mu.Lock()
		f.open = true
		f.mu.Unlock()
		if err := s.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if l.has("was asked to stop, and answers when its traces are written; until then it serves no requests") != want || l.has("is still writing its traces") != want {
			t.Errorf("%v: %q", took, l.lines)
		}
	}
}

// TestSlowTraces checks that missing traces are listed by name.
func TestSlowTraces(t *testing.T) {
	m := &member{Target: Target{URL: "http://h"}, o: &Options{}, info: Info{TP: 8, DP: 1, PP: 1, EP: 1}, mayRecord: true}
	w := &watch{m: m, expected: m.expected(), seen: map[string]*seen{"9-TP-2.trace.json.gz": {done: true}}}
	if got := w.waits(18 * time.Second); got != "http://h: waiting for the traces of TP00, TP01, TP03 and 4 more: it is still running their steps or writing them, nothing received for 18s" {
		t.Errorf("%q", got)
	}
	m.record(false)
	w.expected = w.expected[:2]
	if got := w.waits(time.Minute); !strings.HasSuffix(got, "the window is over; waiting for the traces of TP00, TP01, nothing received for 1m0s") {
		t.Errorf("%q", got)
	}
}
