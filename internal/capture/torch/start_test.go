package torch

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestStartRequest checks that servers receive the same requests as from SGLang's clients.
func TestStartRequest(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		name string
		w    Window
		want string
	}{
		{"profiler", Window{NumSteps: 5},
			`{"output_dir":"/out/ID","num_steps":"5","activities":["CPU","GPU"],"profile_by_stage":false,"merge_profiles":false,"profile_prefix":null}`},
		{"start step", Window{NumSteps: 3, StartStep: 15, Prefix: "run", Merge: true},
			`{"output_dir":"/out/ID","num_steps":"3","activities":["CPU","GPU"],"profile_by_stage":false,"merge_profiles":true,"profile_prefix":"run","start_step":"15"}`},
		{"stages", Window{NumSteps: 3, ByStage: true, Stages: []string{"decode"}, Activities: []string{"GPU"}},
			`{"output_dir":"/out/ID","num_steps":"3","activities":["GPU"],"profile_by_stage":true,"merge_profiles":false,"profile_prefix":null,"profile_stages":["decode"]}`},
		{"until stop", Window{WithStack: &no, RecordShapes: &yes, ProfileID: "mine"},
			`{"output_dir":"/out/ID","activities":["CPU","GPU"],"profile_by_stage":false,"merge_profiles":false,"profile_prefix":null,"profile_id":"mine","with_stack":false,"record_shapes":true}`},
	} {
		for _, old := range []bool{false, true} {
			f := newFake(t, old, `{"tp_size":1}`)
			c.w.OutputDir = "/out"
			s, err := Start(t.Context(), []Target{{URL: f.url}}, c.w, quick(Options{Now: fixed}))
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			var want map[string]any
			if err := json.Unmarshal([]byte(strings.ReplaceAll(c.want, "ID", fixedID)), &want); err != nil {
				t.Fatal(err)
			}
			got, _ := json.Marshal(f.body)
			wanted, _ := json.Marshal(want)
			if string(got) != string(wanted) {
				t.Errorf("%s, old %t: got\n%s, want\n%s", c.name, old, got, wanted)
			}
			if err := s.Stop(t.Context()); err != nil || f.isOpen() {
				t.Errorf("%s: stop: %v, still open %t", c.name, err, f.isOpen())
			}
		}
	}
}

// TestStartRefused checks that each failure to start is reported in one line with a remedy.
func TestStartRefused(t *testing.T) {
	text := func(status int, body string) func(*fake) {
		return func(f *fake) { f.answer("POST /start_profile", status, body) }
	}
	for _, c := range []struct {
		name string
		info string
		set  func(*fake)
		want string
	}{
		{"refused connection", "", nil, "no server answers there (connection refused): start it, or correct the URL"},
		{"no key", "", func(f *fake) { f.answer("GET /server_info", 401, `{"error":"Unauthorized"}`) }, "requires an API key (401): give --api-key KEY"},
		{"wrong key for the profile", `{"tp_size":1}`, text(401, `{"error":"Unauthorized"}`), "/start_profile requires an API key (401): give --api-key KEY, and --admin-api-key KEY"},
		{"forbidden", "", func(f *fake) { f.answer("GET /server_info", 403, `{"message":"use localhost"}`) }, "refuses /server_info (403 use localhost)"},
		{"starting", "", func(f *fake) { f.answer("GET /server_info", 503, `loading`) }, "is not ready (503 loading): try again"},
		{"busy, with its reason", `{"tp_size":1}`, text(500, "Profiling is already in progress. Call /stop_profile first.\n"), "already being recorded there: wait for it, or end it with: stepscope profile stop --url "},
		{"busy, as in SGLang", `{"tp_size":1}`, func(f *fake) { f.open = true }, "(500 Internal Server Error): SGLang gives the reason only in its log; usually a profile is already being recorded"},
		{"bad body", `{"tp_size":1}`, text(400, `{"object":"error","message":"num_steps: bad"}`), "refused to start a profile: 400 num_steps: bad"},
		{"wrong directory", `{"tp_size":1}`, text(403, `output_dir: /out is not under the profile root`), "cannot write to /out/" + fixedID + " (403 output_dir: /out is not under the profile root): give another --output-dir"},
		{"vLLM without a profiler", "", func(f *fake) {
			f.answer("GET /version", 200, `{"version":"0.15.0"}`)
			delete(f.routes, "POST /start_profile")
		}, "vLLM has profile routes only when it was started with --profiler-config"},
		{"something else", "", func(f *fake) { delete(f.routes, "POST /start_profile") }, "has no /start_profile (404)"},
		{"mini balancer", `{"internal_states":[],"prefill":[{"host":"10.0.0.1","port":30001}],"decode":[{"host":"10.0.0.2","port":30002},{"host":"0.0.0.0","port":30003}]}`,
			nil, "is a router, which has no profile routes: profile its workers: --prefill-url http://10.0.0.1:30001 --decode-url http://10.0.0.2:30002"},
		{"mini balancer with nameless workers", `{"prefill":[{}],"decode":[]}`, nil, "does not name its workers: give the URL of each"},
		{"a gateway that answers like a worker", `{"tp_size":1}`, func(f *fake) {
			delete(f.routes, "POST /start_profile")
			f.answer("GET /workers", 200, `{"workers":[{"url":"http://127.0.0.1:1","worker_type":"decode"}],"total":1}`)
		}, "http://127.0.0.1:1: cannot be reached from here: {url} is a router: give the URL of each of its workers, as reachable from here, with --decode-url: http://127.0.0.1:1: no server answers"},
		{"older gateway", "", func(f *fake) {
			delete(f.routes, "POST /start_profile")
			f.answer("GET /list_workers", 200, `{"urls":["http://127.0.0.1:1"]}`)
		}, "cannot be reached from here: {url} is a router: give"},
		{"absurd sizes", `{"tp_size":1000000000}`, nil, "reports a parallel size of 1000000000"},
	} {
		f := newFake(t, false, c.info)
		url := f.url
		if c.set != nil {
			c.set(f)
		} else if c.info == "" {
			url = "http://127.0.0.1:1"
		}
		_, err := Start(t.Context(), []Target{{URL: url}}, Window{OutputDir: "/out", NumSteps: 1}, quick(Options{Now: fixed}))
		want, at := strings.ReplaceAll(c.want, "{url}", url), url
		if strings.HasPrefix(want, "http://") || strings.HasPrefix(want, "cannot be reached") {
			at = "http://127.0.0.1:1: " // of a worker
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), at) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestStartAll checks that the other servers are stopped again if one cannot be started.
func TestStartAll(t *testing.T) {
	good, bad := newFake(t, false, `{"tp_size":1}`), newFake(t, false, `{"tp_size":1}`)
	bad.answer("POST /start_profile", 400, "no")
	_, err := Start(t.Context(), []Target{{URL: good.url}, {URL: bad.url}}, Window{OutputDir: "/out"}, quick(Options{}))
	if err == nil || !strings.Contains(err.Error(), bad.url) || good.isOpen() || good.called() != "start stop" {
		t.Errorf("%v; the other server: %s", err, good.called())
	}
}

// TestStartHeaders checks that keys are sent with every request.
func TestStartHeaders(t *testing.T) {
	f := newFake(t, false, `{"tp_size":1}`)
	for route, h := range f.routes {
		f.routes[route] = func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer k" {
				w.WriteHeader(401)
				return
			}
			h(w, r)
		}
	}
	s, err := Start(t.Context(), []Target{{URL: f.url, Header: http.Header{"Authorization": {"Bearer k"}}}}, Window{OutputDir: "/out"}, quick(Options{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context()); err != nil || f.called() != "start stop" {
		t.Errorf("%v, %s", err, f.called())
	}
}

// TestStartInterrupted checks that a start without a reply is also stopped.
func TestStartInterrupted(t *testing.T) {
	f := newFake(t, false, `{"tp_size":1}`)
	ctx, cancel := context.WithCancel(t.Context())
	real := f.routes["POST /start_profile"]
	f.routes["POST /start_profile"] = func(w http.ResponseWriter, r *http.Request) {
		real(w, r)
		cancel()
		<-r.Context().Done()
	}
	if _, err := Start(ctx, []Target{{URL: f.url}}, Window{OutputDir: "/out"}, quick(Options{})); err == nil || f.isOpen() || f.called() != "start stop" {
		t.Errorf("%v, open %t, %s", err, f.isOpen(), f.called())
	}
}

// TestCheck checks that invalid windows are rejected before a server is asked.
func TestCheck(t *testing.T) {
	for want, w := range map[string]Window{
		`stage "x"`:                {Stages: []string{"x"}, ByStage: true, NumSteps: 1},
		"stages apply only to":     {Stages: []string{"decode"}},
		`activity "TPU"`:           {Activities: []string{"TPU"}},
		"no activity":              {Activities: []string{}},
		"neither can be negative":  {NumSteps: -1},
		"needs a number":           {ByStage: true},
		"cannot have a start step": {ByStage: true, NumSteps: 1, StartStep: 5},
		"become part of file":      {Prefix: "a/b"},
	} {
		w.OutputDir = "/out"
		if _, err := Start(t.Context(), []Target{{URL: "http://127.0.0.1:1"}}, w, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", w, err, want)
		}
	}
	for want, targets := range map[string][]Target{
		"no server to profile":     nil,
		"is not the URL":           {{URL: "localhost:30000"}},
		"give API keys as headers": {{URL: "http://me:secret@a:1"}},
		"given twice":              {{URL: "http://a:1"}, {URL: "http://a:1/"}},
		"is used twice":            {{URL: "http://a:1", Name: "x"}, {URL: "http://a:2", Name: "x"}},
	} {
		if err := CheckTargets(targets); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", targets, err, want)
		}
	}
}

func TestStopAll(t *testing.T) {
	busy, idle := newFake(t, false, `{"tp_size":1}`), newFake(t, false, `{"tp_size":1}`)
	busy.open = true
	open, _, err := StopAll(t.Context(), []Target{{URL: busy.url}, {URL: idle.url}}, Options{})
	if err != nil || !open[busy.url] || open[idle.url] || busy.isOpen() {
		t.Errorf("%v, %v", open, err)
	}
	// The route has this name only in guides.
	old := newFake(t, true, `{"tp_size":1}`)
	old.routes["POST /end_profile"] = old.routes["POST /stop_profile"]
	delete(old.routes, "POST /stop_profile")
	old.open = true
	if open, _, err := StopAll(t.Context(), []Target{{URL: old.url}}, Options{}); err != nil || !open[old.url] {
		t.Errorf("%v, %v", open, err)
	}
}

// TestWindowDirectory checks that a window without a directory goes to the server's reported directory, or else to
// SGLang's default.
func TestWindowDirectory(t *testing.T) {
	t.Setenv("SGLANG_TORCH_PROFILER_DIR", "/here")
	for _, c := range []struct{ name, info, files, named, want string }{
		{"of SGLang with SGLANG_EXPOSE_OWN_ENV_VARS", `{"tp_size":1,"internal_states":[{"env_vars":{"SGLANG_TORCH_PROFILER_DIR":"/there"}}]}`, "", "", "/there"},
		{"a relative one gives no location", `{"tp_size":1,"internal_states":[{"env_vars":{"SGLANG_TORCH_PROFILER_DIR":"there"}}]}`, "", "", "/here"},
		{"of our server", `{"tp_size":1}`, `{"dir":"/ours","windows":[]}`, "", "/ours"},
		{"of one that does not report it", `{"tp_size":1}`, "", "", "/here"},
		{"named", `{"tp_size":1}`, `{"dir":"/ours","windows":[]}`, "/named", "/named"},
	} {
		f := newFake(t, false, c.info)
		if c.files != "" {
			f.answer("GET /profile_files", 200, c.files)
		}
		s, err := Start(t.Context(), []Target{{URL: f.url}}, Window{OutputDir: c.named, NumSteps: 1}, quick(Options{Now: fixed}))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if want := c.want + "/" + fixedID; f.body["output_dir"] != want || s.Dir() != want {
			t.Errorf("%s: requested %v, %s; want %s", c.name, f.body["output_dir"], s.Dir(), want)
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
