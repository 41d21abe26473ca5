package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/base/httpguard"
	"github.com/stepscope/stepscope/internal/reference/server"
	"github.com/stepscope/stepscope/internal/testing/fakeengine"
)

const endless = `{"text":"hi","stream":true,"sampling_params":{"max_new_tokens":4000,"ignore_eos":true}}`

// TestDisconnect checks that the engine drops a request whose client is gone, streaming or not, running or waiting.
func TestDisconnect(t *testing.T) {
	for name, body := range map[string]string{
		"stream":   endless,
		"one":      strings.Replace(endless, `"stream":true,`, "", 1),
		"batch":    `{"text":["a","b","c"],"stream":true,"sampling_params":{"max_new_tokens":4000,"ignore_eos":true}}`,
		"parallel": `{"text":"a","stream":true,"sampling_params":{"max_new_tokens":4000,"ignore_eos":true,"n":4}}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "", fakeengine.Options{Pace: time.Millisecond, MaxRunning: 2}, server.Options{})
			ctx, cancel := context.WithCancel(context.Background())
			req, err := http.NewRequestWithContext(ctx, "POST", r.url+"/generate", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			wg.Go(func() {
				if res, err := http.DefaultClient.Do(req); err == nil {
					io.Copy(io.Discard, res.Body)
					res.Body.Close()
				}
			})
			eventually(t, "the engine has it", func() bool { return r.engine.Busy() > 0 })
			cancel()
			eventually(t, "the engine has dropped it", func() bool { return r.engine.Busy() == 0 })
			wg.Wait()
		})
	}
}

// TestSlowReader leaves a stream unread. The engine is not affected, the request is aborted with a reason once its
// backlog exceeds the limit, and another one that is read meanwhile is not.
func TestSlowReader(t *testing.T) {
	r := newRig(t, strings.Repeat("0123456789", 20), fakeengine.Options{ContextLen: 1 << 20, Pace: 20 * time.Microsecond},
		server.Options{StreamBuffer: 2000})
	const form = `{"text":"hi","stream":true,"sampling_params":{"max_new_tokens":%d,"ignore_eos":true}}`
	// Cumulative events grow, so the socket's buffers are full after a few thousand.
	slow, _ := r.open("/generate", fmt.Sprintf(form, 500000))
	good := r.call("POST /generate", fmt.Sprintf(form, 4000))
	list := events(t, good.body)
	if last := list[len(list)-1]; !strings.Contains(last, `"finish_reason":{"type":"length","length":4000}`) {
		t.Errorf("the stream that was read: …%s", last[max(0, len(last)-400):])
	}
	eventually(t, "the engine has dropped the other", func() bool { return r.engine.Busy() == 0 })
	text, err := io.ReadAll(slow.Body)
	if err != nil {
		t.Fatal(err)
	}
	list = events(t, string(text))
	if last := list[len(list)-1]; !strings.Contains(last, `"finish_reason":{"type":"abort","message":"the client reads too slowly`) {
		t.Errorf("last event: …%s", last[max(0, len(last)-400):])
	}
}

// TestQueueFull checks the refusal when the engine's queue or the server's own limit is full, of all sequences of a
// batch or none.
func TestQueueFull(t *testing.T) {
	r := newRig(t, "", fakeengine.Options{Pace: time.Hour, MaxQueue: 3}, server.Options{MaxInFlight: 5})
	batch := `{"text":["a","b"],"sampling_params":{"max_new_tokens":1}}`
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	wg.Go(func() {
		req, _ := http.NewRequestWithContext(ctx, "POST", r.url+"/generate", strings.NewReader(batch))
		http.DefaultClient.Do(req)
	})
	defer func() { cancel(); wg.Wait() }()
	eventually(t, "the queue has two", func() bool { return r.engine.Busy() == 2 })

	a := r.call("POST /generate", batch) // one fits, the other does not
	if a.status != 503 || a.header.Get("Retry-After") != "1" || !strings.Contains(a.body, "queue is full") {
		t.Errorf("engine full: %+v", a)
	}
	a = r.call("POST /v1/completions", `{"prompt":["a","b","c","d"],"max_tokens":1}`)
	if a.status != 503 || !strings.Contains(a.body, "too many requests in flight") || !strings.Contains(a.body, `"code":503`) {
		t.Errorf("server full: %+v", a)
	}
	a = r.call("POST /v1/completions", `{"prompt":["a","b","c","d","e","f"],"max_tokens":1}`)
	if a.status != 400 {
		t.Errorf("never fits: %+v", a)
	}
}

// TestEngineErrors checks that errors with the first event become statuses, and later errors become events.
func TestEngineErrors(t *testing.T) {
	r := newRig(t, "", fakeengine.Options{Capacity: 50, Trap: func(q *api.Request) *api.Finish {
		if len(q.Input) == 4 { // BOS and three letters
			return &api.Finish{Type: api.FinishAbort, Message: "out of memory", Status: 500}
		}
		return nil
	}}, server.Options{})
	for _, c := range []struct {
		call, body string
		status     int
		want       string
	}{
		{"POST /generate", `{"text":"abc"}`, 400, `the request does not fit: 132 tokens, the KV cache holds 50`},
		{"POST /generate", `{"text":"abc","sampling_params":{"max_new_tokens":3}}`, 500, `{"error":{"message":"out of memory"}}`},
		{"POST /generate", `{"text":"abc","stream":true,"sampling_params":{"max_new_tokens":3}}`, 500, `out of memory`},
		{"POST /generate", `{"text":["ab","abc"],"sampling_params":{"max_new_tokens":3}}`, 500, `out of memory`},
		{"POST /v1/completions", `{"prompt":"abc","stream":true,"max_tokens":3}`, 500, `"type":"InternalServerError"`},
	} {
		if a := r.call(c.call, c.body); a.status != c.status || !strings.Contains(a.body, c.want) {
			t.Errorf("%s %s: got %d %s", c.call, c.body, a.status, a.body)
		}
	}
}

// TestEngineDies checks a stream whose engine goes away.
func TestEngineDies(t *testing.T) {
	for path, c := range map[string]struct{ body, want string }{
		"/generate":            {endless, `{"error":{"message":"the engine ended the request without a reason","type":"server_error","code":500}}`},
		"/v1/chat/completions": {`{"messages":[{"role":"user","content":"a"}],"stream":true,"ignore_eos":true,"max_tokens":3000}`, `{"error":{"object":"error","message":"the engine ended`},
	} {
		r := newRig(t, "", fakeengine.Options{Pace: time.Millisecond}, server.Options{})
		res, _ := r.open(path, c.body)
		r.engine.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		list := events(t, string(text))
		if last := list[len(list)-1]; !strings.HasPrefix(last, c.want) {
			t.Errorf("%s: got %s", path, last)
		}
		if a := r.call("POST /generate", `{"text":"a"}`); a.status != 503 {
			t.Errorf("%s: after the engine: %+v", path, a)
		}
	}
}

// TestAbortRequest checks that an abort reaches exactly the requests it names.
func TestAbortRequest(t *testing.T) {
	r := newRig(t, "", fakeengine.Options{Pace: time.Millisecond}, server.Options{})
	withID := func(id string) string { return strings.Replace(endless, "{", `{"rid":"`+id+`",`, 1) }
	first, _ := r.open("/generate", withID("job-1"))
	second, _ := r.open("/generate", withID("other"))
	if a := r.call("POST /generate", withID("other")); a.status != 400 || !strings.Contains(a.body, "already in use") {
		t.Errorf("same id: %+v", a)
	}
	if a := r.call("POST /abort_request", `{"rid":""}`); a.status != 200 || r.engine.Busy() != 2 {
		t.Errorf("empty id: %+v, %d left", a, r.engine.Busy())
	}
	r.call("POST /abort_request", `{"rid":"job"}`)
	text, err := io.ReadAll(first.Body)
	if err != nil {
		t.Fatal(err)
	}
	list := events(t, string(text))
	if last := list[len(list)-1]; !strings.Contains(last, `"finish_reason":{"type":"abort","message":"aborted by /abort_request"}`) {
		t.Errorf("got %s", last)
	}
	eventually(t, "one is left", func() bool { return r.engine.Busy() == 1 })
	r.call("POST /abort_request", `{"abort_all":true}`)
	if _, err := io.ReadAll(second.Body); err != nil {
		t.Error(err)
	}
	eventually(t, "none is left", func() bool { return r.engine.Busy() == 0 })
}

// serve runs a rig's engine behind Serve and returns its address, a function that asks it to stop, and the result of
// Serve.
func serve(t *testing.T, e *fakeengine.Engine, o server.Options) (url string, stop func(), done chan error) {
	t.Helper()
	ln, err := httpguard.Listen("", 0, "", false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done = make(chan error, 1)
	go func() { done <- server.New(e, o).Serve(ctx, ln) }()
	t.Cleanup(cancel)
	return "http://" + ln.Addr().String(), cancel, done
}

// TestDrain checks both outcomes of a shutdown: a request that finishes in time, and one that does not and gets an
// error event.
func TestDrain(t *testing.T) {
	var log bytes.Buffer
	e := fakeengine.New(fakeengine.Options{Pace: 5 * time.Millisecond})
	defer e.Close()
	url, stop, done := serve(t, e, server.Options{DrainTimeout: 3 * time.Second, Log: slog.New(slog.NewTextHandler(&log, nil))})
	post := func(body string) *http.Response {
		res, err := http.Post(url+"/generate", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	short := post(`{"text":"hi","stream":true,"sampling_params":{"max_new_tokens":20,"ignore_eos":true}}`)
	long := post(endless)
	stop()
	eventually(t, "new requests are refused", func() bool {
		res, err := http.Post(url+"/generate", "application/json", strings.NewReader(`{"text":"a"}`))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		return res.StatusCode == 503 && res.Header.Get("Retry-After") != ""
	})
	if res, err := http.Get(url + "/health"); err != nil || res.StatusCode != 503 {
		t.Errorf("health while shutting down: %v, %v", res, err)
	}
	for name, c := range map[string]struct {
		res  *http.Response
		want string
	}{
		"short": {short, `"finish_reason":{"type":"length","length":20}`},
		"long":  {long, `{"error":{"message":"the server is shutting down","type":"server_error","code":503}}`},
	} {
		text, err := io.ReadAll(c.res.Body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		list := events(t, string(text))
		if last := list[len(list)-1]; !strings.Contains(last, c.want) {
			t.Errorf("%s: got %s", name, last)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "aborting requests at shutdown") {
		t.Errorf("log: %s", log.String())
	}
}

// TestListen checks that only a server with a key can be reached from other hosts.
func TestListen(t *testing.T) {
	if ln, err := httpguard.Listen("0.0.0.0", 0, "", false); err == nil {
		ln.Close()
		t.Error("an open server may listen everywhere")
	}
	ln, err := httpguard.Listen("0.0.0.0", 0, "k", false)
	if err != nil {
		t.Fatal(err)
	}
	e := fakeengine.New(fakeengine.Options{})
	defer e.Close()
	if err := server.New(e, server.Options{}).Serve(context.Background(), ln); err == nil || !strings.Contains(err.Error(), "API key") {
		t.Errorf("Serve without a key: %v", err)
	}
	ln.Close()
	if ln, err = httpguard.Listen("0.0.0.0", 0, "", true); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.New(e, server.Options{Insecure: true}).Serve(ctx, ln) }()
	url := fmt.Sprintf("http://127.0.0.1:%d/health", ln.Addr().(*net.TCPAddr).Port)
	for origin, want := range map[string]int{"": 200, "http://gpu1:30000": 200, "http://evil.example": 403} {
		req, _ := http.NewRequest("GET", url, nil)
		req.Host = "gpu1:30000"
		req.Header.Set("Origin", origin)
		if resp, err := http.DefaultClient.Do(req); err != nil || resp.StatusCode != want {
			t.Errorf("origin %q: %v %v", origin, resp, err)
		}
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	var ne *net.OpError
	if _, err := httpguard.Listen("203.0.113.1", 1, "k", false); !errors.As(err, &ne) {
		t.Errorf("foreign address: %v", err)
	}
}
