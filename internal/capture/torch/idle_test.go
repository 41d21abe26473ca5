package torch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// sglang is a fake that reports its load like a release.
func sglang(t *testing.T, version string, requests func() int) *fake {
	f := newFake(t, false, `{"tp_size":1,"version":"`+version+`"}`)
	loads := func(format string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, format, requests()) }
	}
	if version == "0.5.11" {
		// Its newer route fails and logs a traceback each time.
		failed := false
		f.routes["GET /v1/loads"] = func(w http.ResponseWriter, _ *http.Request) {
			if failed {
				t.Error("a failing route was asked again")
			}
			failed = true
			http.Error(w, "Internal Server Error", 500)
		}
		f.routes["GET /get_load"] = loads(`[{"dp_rank":0,"num_reqs":%d,"num_waiting_reqs":0}]`)
	} else {
		f.routes["GET /v1/loads"] = loads(`{"timestamp":1.5,"loads":[{"dp_rank":0,"num_running_reqs":%d,"num_waiting_reqs":0}]}`)
	}
	f.begin = func(dir string) {
		f.write(dir, "9-TP-0.trace.json.gz")
		f.open = false
	}
	return f
}

// TestIdleServer checks that an idle server is armed only when load arrives, and not at all without load; profile start
// arms it with a warning.
func TestIdleServer(t *testing.T) {
	for _, version := range []string{"0.5.11", "0.5.23"} {
		looks := 0
		f := sglang(t, version, func() int {
			if looks++; looks > 4 {
				return 3
			}
			return 0
		})
		l := &log{}
		f.routes["POST /start_profile"] = func(w http.ResponseWriter, r *http.Request) {
			if looks < 5 {
				t.Error("an idle server was armed")
			}
			f.start(w, r)
		}
		if res, err := run(t, Window{NumSteps: 1}, patient(Options{Wait: time.Minute, Log: l.add}), f); err != nil || res.Incomplete() {
			t.Errorf("%s: %v, %+v", version, err, res)
		}
		if !l.has("is idle: the profiler is armed when load arrives (--wait 1m0s)") {
			t.Errorf("%s: said %q", version, l.lines)
		}

		f = sglang(t, version, func() int { return 0 })
		_, err := Start(t.Context(), []Target{{URL: f.url}}, Window{NumSteps: 1, OutputDir: "/out"}, quick(Options{Wait: 100 * time.Millisecond}))
		if err == nil || !strings.HasPrefix(err.Error(), f.url+": no load arrived in 100ms, and a window of an idle server would record only idle time: send load during the wait, give --probe") || f.called() != "" {
			t.Errorf("%s: %v, calls %q", version, err, f.called())
		}

		for _, c := range []struct {
			w    Window
			o    Options
			warn bool
		}{
			{Window{NumSteps: 1}, Options{}, true},
			{Window{NumSteps: 1}, Options{LoadFollows: true, Wait: time.Minute}, false},
			{Window{NumSteps: 1, StartStep: 9}, Options{Wait: time.Minute}, false},
		} {
			l := &log{}
			f = sglang(t, version, func() int { return 0 })
			c.o.Log = l.add
			if _, err := run(t, c.w, patient(c.o), f); err != nil || l.has("records idle time until load arrives") != c.warn {
				t.Errorf("%s: %+v: %v, said %q", version, c.o, err, l.lines)
			}
		}
	}
}

// TestIdleByOther checks which other data identify an idle server.
func TestIdleByOther(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*fake)
		idle bool
	}{
		"metrics": {func(f *fake) {
			f.answer("GET /metrics", 200, "sglang:num_running_reqs{tp_rank=\"0\"} 0.0\nsglang:generation_tokens_total 7\n")
		}, true},
		"busy by the metrics": {func(f *fake) { f.answer("GET /metrics", 200, "sglang:num_running_reqs 2.0\n") }, false},
		"an outdated gauge": {func(f *fake) {
			f.answer("GET /v1/loads", 200, `{"loads":[{"num_running_reqs":0}]}`)
			f.answer("GET /metrics", 200, "sglang:num_running_reqs 2.0\n")
		}, true},
		"forward counts": {func(f *fake) {
			f.answer("GET /server_info", 200, `{"tp_size":1,"internal_states":[{"forward_ct":41}]}`)
		}, true},
		"nothing": {func(*fake) {}, false},
	} {
		f := newFake(t, false, `{"tp_size":1}`)
		c.set(f)
		_, err := Start(t.Context(), []Target{{URL: f.url}}, Window{NumSteps: 1, OutputDir: "/out"}, quick(Options{Wait: 100 * time.Millisecond}))
		if (err != nil) != c.idle || (f.called() == "") != c.idle {
			t.Errorf("%s: %v, calls %q", name, err, f.called())
		}
	}
}

// TestIdleOfSystem checks that an idle decode server is recorded together with its busy prefill server, while of two
// independent servers both need load.
func TestIdleOfSystem(t *testing.T) {
	p, d := sglang(t, "0.5.23", func() int { return 1 }), sglang(t, "0.5.23", func() int { return 0 })
	l := &log{}
	both := []Target{{URL: p.url, Role: "prefill"}, {URL: d.url, Role: "decode"}}
	if _, err := Start(t.Context(), both, Window{NumSteps: 1, OutputDir: "/out"}, quick(Options{Wait: time.Minute, Log: l.add})); err != nil || !l.has(d.url+": is idle while other servers of its system have work") {
		t.Errorf("%v, %q", err, l.lines)
	}
	both[0].Role, both[1].Role = "", ""
	if _, err := Start(t.Context(), both, Window{NumSteps: 1, OutputDir: "/out"}, quick(Options{Wait: 50 * time.Millisecond})); err == nil || !strings.HasPrefix(err.Error(), d.url+": no load arrived") {
		t.Error(err)
	}
}

// TestIdleWindow checks that a window without steps is closed long before its limit, whether it is set by a number of
// steps or by time, and at once on an interrupt.
func TestIdleWindow(t *testing.T) {
	for name, c := range map[string]struct {
		busy int // looks with work
		want string
	}{
		"none": {0, "there was no forward step in 100ms, so the window was closed before its recording of idle time grew"},
		"some": {3, "the load ended before the window did: it was closed after 100ms without a step"},
	} {
		for _, w := range []Window{{NumSteps: 5}, {}} {
			looks := 0
			f := sglang(t, "0.5.23", func() int {
				if looks++; looks <= c.busy {
					return 1
				}
				return 0
			})
			f.begin = func(string) {}
			f.end = func(dir string) { f.write(dir, "9-TP-0.trace.json.gz") }
			o := patient(Options{mostIdle: 100 * time.Millisecond})
			w.OutputDir = t.TempDir()
			s, err := Start(t.Context(), []Target{{URL: f.url}}, w, o)
			if err != nil {
				t.Fatal(err)
			}
			if w.NumSteps == 0 {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				s.Guard(ctx)
				if cancel(); f.isOpen() {
					t.Errorf("%s: the window was not closed by itself", name)
				}
			}
			res, err := s.Collect(t.Context(), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if r := res.Servers[0]; f.called() != "start stop" || len(r.Traces) != 1 || r.Idle != (c.busy == 0) || len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], c.want) {
				t.Errorf("%s, %d steps: calls %q, %+v", name, w.NumSteps, f.called(), r)
			}
		}
	}
	f := sglang(t, "0.5.23", func() int { return 0 })
	f.begin = func(string) {}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	s, err := Start(ctx, []Target{{URL: f.url}}, Window{NumSteps: 5, OutputDir: t.TempDir()}, patient(Options{LoadFollows: true}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Collect(ctx, t.TempDir()); !errors.Is(err, context.DeadlineExceeded) || f.isOpen() {
		t.Errorf("%v, open %t", err, f.isOpen())
	}
}
