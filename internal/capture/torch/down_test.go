package torch

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/route"
)

// TestRouterWithDeadWorker checks that a router represents its live workers, and that a worker that is down is named
// and missing in the result.
func TestRouterWithDeadWorker(t *testing.T) {
	const dead = "http://127.0.0.1:1"
	live := newFake(t, false, `{"tp_size":1}`)
	live.answer("GET /health", 200, "")
	live.begin = func(dir string) { live.write(dir, "1-TP-0.trace.json.gz") }
	gateway := newFake(t, false, "")
	gateway.answer("GET /workers", 200, `{"workers":[{"url":"`+dead+`","worker_type":"prefill"},{"url":"`+live.url+`","worker_type":"decode"}]}`)
	own := func(workers ...route.Backend) string {
		return routed(t, "/server_info", route.Options{Workers: workers})
	}
	for name, url := range map[string]string{
		"SGLang's gateway": gateway.url,
		"stepscope route":  own(route.Backend{URL: dead, Role: api.Prefill}, route.Backend{URL: live.url, Role: api.Decode}),
	} {
		t.Run(name, func(t *testing.T) {
			l := &log{}
			s, err := Start(t.Context(), []Target{{URL: url}}, Window{OutputDir: t.TempDir(), NumSteps: 1}, patient(Options{Log: l.add}))
			if err != nil {
				t.Fatal(err)
			}
			if line := dead + ": this worker of " + url + " is left out: "; !l.has(line) || l.has("unknown kind") {
				t.Errorf("the log lacks %q, or reports it as unknown:\n%s", line, strings.Join(l.lines, "\n"))
			}
			home := t.TempDir()
			kept := filepath.Join(t.TempDir(), "sessions")
			if err := s.Save(kept, home); err != nil {
				t.Fatal(err)
			}
			// Another process knows it, too.
			saved, err := FindSaved(kept, home)
			if err != nil {
				t.Fatal(err)
			}
			if again := saved.Resume(Target{}, patient(Options{})); len(again.down) != 1 || again.down[0] != s.down[0] {
				t.Fatalf("resumed: %+v", again)
			}
			res, err := s.Collect(t.Context(), home)
			if err != nil || !res.Incomplete() || len(res.Servers) != 2 {
				t.Fatalf("%v, %+v", err, res)
			}
			up, down := res.Servers[0], res.Servers[1]
			if up.URL != live.url || len(up.Traces) != 1 || filepath.Dir(up.Dir) != home {
				t.Errorf("the worker that is up: %+v", up)
			}
			if down.URL != dead || down.Role != api.Prefill || !strings.HasPrefix(down.Problem, "it was down: ") {
				t.Errorf("the worker that is down: %+v", down)
			}
			if _, urls, err := StopAll(t.Context(), []Target{{URL: url}}, Options{}); err != nil || len(urls) != 1 || urls[0] != dead {
				t.Errorf("StopAll: %v, %v", urls, err)
			}
		})
	}
	gateway.answer("GET /workers", 200, `{"workers":[{"url":"`+dead+`"}]}`)
	_, err := Start(t.Context(), []Target{{URL: gateway.url}}, Window{OutputDir: "/out", NumSteps: 1}, quick(Options{}))
	if err == nil || !strings.HasPrefix(err.Error(), dead+": cannot be reached from here: ") {
		t.Errorf("all are down: %v", err)
	}
}

// TestRouterWithRefusingWorker checks that the window of the good worker is kept if another worker of the router has no
// profiler or refuses the start.
func TestRouterWithRefusingWorker(t *testing.T) {
	for name, c := range map[string]struct {
		refuse func(f *fake)
		want   string
	}{
		"no profiler": {func(f *fake) {
			f.answer("GET /version", 200, `{"version":"0.26.0"}`)
			delete(f.routes, "GET /server_info")
			delete(f.routes, "POST /start_profile")
		}, "vLLM has profile routes only when it was started with --profiler-config"},
		"busy": {func(f *fake) { f.answer("POST /start_profile", 400, "Profiling is already in progress.") }, "a profile is already being recorded there"},
	} {
		t.Run(name, func(t *testing.T) {
			good, bad := newFake(t, false, `{"tp_size":1}`), newFake(t, false, `{"tp_size":1}`)
			good.begin = func(dir string) { good.write(dir, "1-TP-0.trace.json.gz") }
			c.refuse(bad)
			gateway := newFake(t, false, "")
			gateway.answer("GET /workers", 200, `{"workers":[{"url":"`+bad.url+`"},{"url":"`+good.url+`"}]}`)
			s, err := Start(t.Context(), []Target{{URL: gateway.url}}, Window{OutputDir: t.TempDir(), NumSteps: 1}, patient(Options{}))
			if err != nil {
				t.Fatal(err)
			}
			res, err := s.Collect(t.Context(), t.TempDir())
			if err != nil || !res.Incomplete() || len(res.Servers) != 2 || len(res.Servers[0].Traces) != 1 || !strings.HasPrefix(res.Servers[1].Problem, c.want) {
				t.Errorf("%v, %+v", err, res)
			}
		})
	}
}

// TestNamedServerIsDown checks that a server that the user named and that is down is an error before any server
// records.
func TestNamedServerIsDown(t *testing.T) {
	live := newFake(t, false, `{"tp_size":1}`)
	_, err := Start(t.Context(), []Target{{URL: live.url, Role: api.Prefill}, {URL: "http://127.0.0.1:1", Role: api.Decode}}, Window{OutputDir: "/out"}, quick(Options{}))
	if err == nil || !strings.HasPrefix(err.Error(), "http://127.0.0.1:1: no server answers there (connection refused)") || live.called() != "" {
		t.Errorf("%v; the other server: %q", err, live.called())
	}
}

// TestStopWithDeadServer checks that the files of a server are collected although another one can no longer be stopped.
func TestStopWithDeadServer(t *testing.T) {
	a, b := newFake(t, false, `{"tp_size":1}`), newFake(t, false, `{"tp_size":1}`)
	a.end = func(dir string) { a.write(dir, "1-TP-0.trace.json.gz") }
	b.answer("POST /stop_profile", 502, "gone")
	l := &log{}
	s, err := Start(t.Context(), []Target{{URL: a.url}, {URL: b.url}}, Window{OutputDir: t.TempDir()}, quick(Options{Log: l.add}))
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.Collect(t.Context(), t.TempDir())
	if err != nil || len(res.Servers[0].Traces) != 1 || res.Servers[1].Problem == "" || !l.has(b.url+": refused to stop its profile, which may still record: 502 gone") {
		t.Errorf("%v, %+v\n%s", err, res, strings.Join(l.lines, "\n"))
	}
}

// routed returns the URL of a router with workers, which it reports at ready.
func routed(t *testing.T, ready string, o route.Options) string {
	t.Helper()
	rt, err := route.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- rt.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	url := "http://" + ln.Addr().String()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		r, err := http.Get(url + ready)
		if err != nil || time.Now().After(deadline) {
			t.Fatal("the router has no worker", err)
		}
		r.Body.Close()
		if r.StatusCode == http.StatusOK {
			return url
		}
	}
}
