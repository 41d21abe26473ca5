package route

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/httpguard"
	"github.com/stepscope/stepscope/internal/reference/server"
	"github.com/stepscope/stepscope/internal/testing/fakeengine"
)

// TestRoutes checks that each route answers through the router, in front of one worker, as the worker does.
func TestRoutes(t *testing.T) {
	so := server.Options{
		EnableMetrics: true, Version: "test", NewID: func() string { return "0123" }, Now: func() time.Time { return time.Unix(1700000000, 0) },
	}
	url, _, _ := newWorkerOf(t, fakeengine.Options{Reply: func(string) string { return "one two" }}, so)
	r := newRig(t, Options{Workers: plain(url)})
	call(t, url, "POST /generate", `{"text":"hi"}`) // so that both find it in the cache
	for _, c := range []struct{ what, body string }{
		{"POST /generate", `{"text":"hi","sampling_params":{"max_new_tokens":3}}`},
		{"POST /generate", `{"text":"hi","stream":true,"sampling_params":{"max_new_tokens":7}}`},
		{"PUT /generate", `{"input_ids":[[1,2],[3]],"sampling_params":{"max_new_tokens":3}}`},
		{"POST /generate", `{"text":`},
		{"POST /v1/completions", `{"model":"m","prompt":"hi","max_tokens":3,"stream":true}`},
		{"POST /v1/completions", `{"model":"m","prompt":"hi","max_tokens":3}`},
		{"POST /v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":3,"stream":true}`},
		{"POST /v1/chat/completions", `{"messages":1}`},
		{"POST /v1/embeddings", `{"input":"hi"}`},
		{"POST /tokenize", `{"prompt":"hi"}`},
		{"POST /detokenize", `{"tokens":[104,105]}`},
		{"GET /v1/models", ""},
		{"GET /v1/models/fake/model", ""},
		{"GET /v1/models/another", ""},
		{"GET /model_info", ""},
		{"GET /get_model_info", ""},
		{"GET /health", ""},
		{"GET /health_generate", ""},
		{"POST /flush_cache?timeout=5", ""},
		{"GET /profile_files", ""},
		{"GET /profile_files/none/none", ""},
	} {
		direct, routed := call(t, url, c.what, c.body), r.call(c.what, c.body)
		for _, g := range []*got{&direct, &routed} {
			// A measured time.
			if at := strings.Index(g.body, `"e2e_latency"`); at >= 0 {
				g.body = g.body[:at]
			}
		}
		if direct.status != routed.status || direct.body != routed.body || direct.header.Get("Content-Type") != routed.header.Get("Content-Type") {
			t.Errorf("%s %s\n%d %s\n%s\nbut the worker alone\n%d %s\n%s", c.what, c.body, routed.status, routed.header, routed.body, direct.status, direct.header, direct.body)
		}
	}
}

// TestInfo checks the router's information about itself and about several workers.
func TestInfo(t *testing.T) {
	a, _, _ := newWorkerOf(t, fakeengine.Options{DP: 2}, server.Options{})
	b, _, _ := newWorkerOf(t, fakeengine.Options{}, server.Options{})
	r := newRig(t, Options{Workers: plain(a, b)})
	for _, c := range []struct {
		what   string
		status int
		want   []string // parts of the reply, space and URLs aside
	}{
		{"GET /workers", 200, []string{`"router":"stepscope"`, `"id":"worker-0","url":"A","worker_type":"regular","is_healthy":true,"load":0`, `"id":"worker-1","url":"B"`, `"total":2`, `"regular_count":2`}},
		{"GET /server_info", 200, []string{`"tp_size":1`, `"id":"worker-1"`}},
		{"GET /get_load", 200, []string{`"dp_rank":1`, `"worker":"worker-1"`}},
		{"GET /v1/loads", 200, []string{`"accelerator":"fake"`, `"worker":"worker-1"`}},
		{"GET /metrics", 200, []string{`sgl_router_worker_health{worker="A",worker_type="regular"} 1`, `sgl_router_requests_total 0`}},
		{"GET /workers/worker-1", 200, []string{`{"id":"worker-1","url":"B"`}},
		{"GET /workers/worker-2", 404, []string{`no worker`}},
		{"GET /workers/worker-1/server_info", 200, []string{`"internal_states":[`}},
		{"GET /workers/worker-9/server_info", 404, []string{`no worker \"worker-9\": GET /workers lists them`}},
		{"GET /nothing", 404, []string{`no such route`}},
		{"DELETE /generate", 405, []string{`Method Not Allowed`}},
		{"GET /profile_files?worker=C", 404, []string{`no worker \"C\"`}},
		{"POST /start_profile?role=both", 400, []string{`give prefill or decode`}},
		{"POST /start_profile?role=decode", 404, []string{`no worker has the requested role`}},
	} {
		got := r.call(c.what, "")
		text := strings.NewReplacer(a, "A", b, "B").Replace(got.body)
		for _, w := range c.want {
			if got.status != c.status || !strings.Contains(text, w) {
				t.Errorf("%s: %d %s\nwant %d with %s", c.what, got.status, text, c.status, w)
			}
		}
	}
	var info struct {
		States []any `json:"internal_states"`
	}
	if err := json.Unmarshal([]byte(r.call("GET /server_info", "").body), &info); err != nil || len(info.States) != 3 {
		t.Errorf("%d internal states (%v), want those of three ranks", len(info.States), err)
	}
}

// TestKeys checks which key a request must bring, and which one the worker gets.
func TestKeys(t *testing.T) {
	seen := make(chan string, 1)
	url := fake(t, func(rw http.ResponseWriter, r *http.Request) { seen <- r.Header.Get("Authorization") })
	for _, c := range []struct {
		name          string
		o             Options
		what          string
		bring         string
		status        int
		workerGetsKey string
	}{
		{"no key", Options{}, "POST /generate", "", 200, ""},
		{"the client's is passed on", Options{}, "POST /generate", "mine", 200, "Bearer mine"},
		{"none is brought", Options{APIKey: "k"}, "POST /generate", "", 401, ""},
		{"a wrong one", Options{APIKey: "k"}, "GET /v1/models", "x", 401, ""},
		{"the right one", Options{APIKey: "k"}, "POST /generate", "k", 200, "Bearer k"},
		{"a different key for the workers", Options{APIKey: "k", WorkerKey: "w"}, "POST /generate", "k", 200, "Bearer w"},
		{"a key for the workers only", Options{WorkerKey: "w"}, "POST /generate", "", 200, "Bearer w"},
		{"profile with the common key", Options{APIKey: "k", AdminAPIKey: "a"}, "POST /start_profile", "k", 401, ""},
		{"profile with the admin key", Options{APIKey: "k", AdminAPIKey: "a"}, "POST /start_profile", "a", 200, "Bearer a"},
		{"a worker's own profile", Options{APIKey: "k", AdminAPIKey: "a"}, "POST /workers/worker-0/start_profile", "k", 401, ""},
		{"a worker's own profile", Options{APIKey: "k", AdminAPIKey: "a"}, "POST /workers/worker-0/start_profile", "a", 200, "Bearer a"},
		{"a worker's route that may do anything", Options{APIKey: "k", AdminAPIKey: "a"}, "POST /workers/worker-0/update_weights", "k", 401, ""},
		{"a worker's harmless route", Options{APIKey: "k", AdminAPIKey: "a"}, "GET /workers/worker-0/v1/models", "k", 200, "Bearer k"},
		{"health", Options{APIKey: "k"}, "GET /health", "", 200, "-"},
	} {
		c.o.Workers = plain(url)
		r := newRig(t, c.o)
		var header []string
		if c.bring != "" {
			header = []string{"Authorization", "Bearer " + c.bring}
		}
		if got := r.call(c.what, "{}", header...); got.status != c.status {
			t.Errorf("%s: %s: %d %s, want %d", c.name, c.what, got.status, got.body, c.status)
		}
		select {
		case key := <-seen:
			if key != c.workerGetsKey {
				t.Errorf("%s: the worker got %q, want %q", c.name, key, c.workerGetsKey)
			}
		default:
			if c.status == 200 && c.workerGetsKey != "-" {
				t.Errorf("%s: the worker got nothing", c.name)
			}
		}
	}
}

// TestLocalOnly checks that without a key, a router on loopback answers no web page, and does not start beyond
// loopback.
func TestLocalOnly(t *testing.T) {
	url := fake(t, func(http.ResponseWriter, *http.Request) {})
	r := newRig(t, Options{Workers: plain(url), AllowedHosts: []string{"router"}})
	for header, want := range map[string]int{"Host evil.example": 403, "Origin http://evil.example": 403, "Host router:30000": 200, "Origin http://localhost:3": 403} {
		name, value, _ := strings.Cut(header, " ")
		if got := r.call("POST /generate", "{}", name, value); got.status != want {
			t.Errorf("%s: %d, want %d", header, got.status, want)
		}
	}
	ln, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Skip(err)
	}
	defer ln.Close()
	if err := r.rt.Serve(t.Context(), ln); !errors.Is(err, httpguard.ErrNeedKey) {
		t.Errorf("beyond loopback without a key: %v", err)
	}
}

// TestHealth checks that a router is healthy while it can serve, and that a worker that died can return.
func TestHealth(t *testing.T) {
	var ill atomic.Bool
	hs := fake(t, func(http.ResponseWriter, *http.Request) {})
	sick := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		if ill.Load() {
			rw.WriteHeader(503)
		}
	})}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	done := make(chan struct{})
	go func() { defer close(done); sick.Serve(ln) }()
	t.Cleanup(func() { sick.Close(); <-done })

	r := newRig(t, Options{Workers: plain(hs, "http://"+addr), HealthInterval: 5 * time.Millisecond})
	w := r.rt.workers[1]
	ill.Store(true)
	eventually(t, "the worker that is ill is left out", func() bool { return !w.up.Load() })
	for range 10 {
		if got := r.call("POST /generate", "{}"); got.status != 200 {
			t.Errorf("with one worker of two: %d %s", got.status, got.body)
		}
	}
	ill.Store(false)
	eventually(t, "it comes back", w.up.Load)
	if got := r.call("GET /health", ""); got.status != 200 {
		t.Errorf("/health: %d", got.status)
	}
}

// TestStartTimeout checks that without a worker the router answers 503, and ends after a while.
func TestStartTimeout(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := "http://" + ln.Addr().String()
	ln.Close()
	rt, err := New(Options{Workers: plain(dead), StartTimeout: 300 * time.Millisecond, Log: nil})
	if err != nil {
		t.Fatal(err)
	}
	own, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	result := make(chan error, 1)
	go func() { result <- rt.Serve(t.Context(), own) }()
	url := "http://" + own.Addr().String()
	if got := call(t, url, "GET /health", ""); got.status != 503 {
		t.Errorf("/health: %d, want 503", got.status)
	}
	if got := call(t, url, "POST /generate", "{}"); got.status != 503 || !strings.Contains(got.body, "no worker is up") || got.header.Get("Retry-After") == "" {
		t.Errorf("/generate: %d %s", got.status, got.body)
	}
	if err := <-result; err == nil || !strings.Contains(err.Error(), "no answer from "+dead) {
		t.Errorf("Serve: %v", err)
	}
}

// TestDrain checks that running requests finish at shutdown, and that those that do not finish in time end with an
// error event.
func TestDrain(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit time.Duration
		want  string
	}{
		{"in time", time.Minute, "data: one\n\ndata: two\n\n"},
		{"too late", time.Millisecond, "data: one\n\ndata: {\"error\":{\"message\":\"the router is shutting down\",\"type\":\"Service Unavailable\",\"code\":503}}\n\ndata: [DONE]\n\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			url := fake(t, func(rw http.ResponseWriter, r *http.Request) {
				events(rw, "one")
				if c.limit < time.Second {
					<-r.Context().Done()
					return
				}
				<-ctx.Done()
				events(rw, "two")
			})
			rt, err := New(Options{Workers: plain(url), DrainTimeout: c.limit, retryHealth: time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			result := make(chan error, 1)
			go func() { result <- rt.Serve(ctx, ln) }()
			<-rt.firstUp
			resp, err := http.Post("http://"+ln.Addr().String()+"/generate", "application/json", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			first := make([]byte, len("data: one\n\n"))
			if _, err := io.ReadFull(resp.Body, first); err != nil {
				t.Fatal(err)
			}
			end() // once the client has the first event
			rest, err := io.ReadAll(resp.Body)
			if got := string(first) + string(rest); got != c.want || err != nil {
				t.Errorf("%v %q\nwant %q", err, got, c.want)
			}
			if err := <-result; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOptions checks that invalid options are refused.
func TestOptions(t *testing.T) {
	p, d := Backend{URL: "http://p:1", Role: api.Prefill}, Backend{URL: "http://d:1", Role: api.Decode}
	for want, o := range map[string]Options{
		"no worker":        {},
		"not a server URL": {Workers: plain("localhost:1")},
		"more than a":      {Workers: plain("http://me:secret@a:1")},
		"given twice":      {Workers: plain("http://a:1", "http://a:1/")},
		"1 prefill and 0":  {Workers: []Backend{p}},
		"cannot be mixed":  {Workers: append(plain("http://a:1"), p, d)},
		`policy "best"`:    {Workers: plain("http://a:1"), Policy: "best"},
		"from 0 to 1":      {Workers: plain("http://a:1"), Cache: CacheOptions{Threshold: 2}},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error has a secret: %v", err)
		}
	}
	if _, err := New(Options{Workers: []Backend{p, d}}); err != nil {
		t.Error(err)
	}
}

// TestPayload checks that a body that is too large is refused with a reason.
func TestPayload(t *testing.T) {
	url := fake(t, func(http.ResponseWriter, *http.Request) {})
	r := newRig(t, Options{Workers: plain(url), MaxBodyBytes: 100})
	if got := r.call("POST /generate", fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", 200))); got.status != 413 || !strings.Contains(got.body, "larger than 100 bytes") {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// TestActing checks that requests from pages of other sites, and HEAD, reach no worker where they could do something.
func TestActing(t *testing.T) {
	var last atomic.Value
	url := fake(t, func(rw http.ResponseWriter, r *http.Request) {
		last.Store(r.Method + " " + r.URL.Path)
		rw.Write([]byte("{}"))
	})
	r := newRig(t, Options{Workers: plain(url)})
	id := r.rt.workers[0].id
	for _, c := range []struct {
		call, site string
		status     int
		reaches    bool
	}{
		{"HEAD /start_profile", "", 405, false},
		{"GET /start_profile", "cross-site", 403, false},
		{"GET /flush_cache", "same-site", 403, false},
		{"HEAD /workers/" + id + "/start_profile", "", 405, false},
		{"GET /workers/" + id + "/start_profile", "cross-site", 403, false},
		{"GET /workers/" + id + "/start%5Fprofile", "cross-site", 403, false},
		{"GET /workers/" + id + "/release_memory_occupation", "cross-site", 403, false},
		{"POST /generate", "cross-site", 403, false},
		{"GET /workers/" + id + "/model_info", "cross-site", 200, true},
		{"GET /workers/" + id + "/start_profile", "none", 200, true},
		{"GET /workers/" + id + "/stop_profile", "", 200, true},
	} {
		last.Store("")
		a := r.call(c.call, "", "Sec-Fetch-Site", c.site)
		if reached := last.Load() != ""; a.status != c.status || reached != c.reaches {
			t.Errorf("%s of a page that is %q: got %d %s, the worker got %q", c.call, c.site, a.status, a.body, last.Load())
		}
	}
}
