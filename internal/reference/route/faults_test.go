package route

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/reference/server"
	"github.com/stepscope/stepscope/internal/testing/fakeengine"
)

// TestFaults checks the client's reply when the first worker fails in some way. The second is healthy and answers
// "well".
func TestFaults(t *testing.T) {
	broken := `data: {"error":{"message":"A: the worker closed the connection","type":"Bad Gateway","code":502}}` + "\n\ndata: [DONE]\n\n"
	for _, c := range []struct {
		name   string
		first  http.HandlerFunc
		retry  bool
		status int
		want   string
	}{
		{"it answers", func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, "first") }, false, 200, "first"},
		{"dies before a byte", func(http.ResponseWriter, *http.Request) { cut() }, true, 200, "well"},
		{"dies after the header", func(rw http.ResponseWriter, _ *http.Request) { events(rw); rw.(http.Flusher).Flush(); cut() }, true, 200, "well"},
		{"says nothing", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, true, 200, "well"},
		{"says nothing after the header", func(rw http.ResponseWriter, r *http.Request) {
			events(rw)
			rw.(http.Flusher).Flush()
			<-r.Context().Done()
		}, true, 200, "well"},
		{"has no room", func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(503) }, true, 200, "well"},
		{"is a proxy to nowhere", func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(502) }, true, 200, "well"},
		{"fails by itself", func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, "oops", 500) }, false, 500, "oops\n"},
		{"refuses", func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, "bad", 400) }, false, 400, "bad\n"},
		{"dies in a stream", func(rw http.ResponseWriter, _ *http.Request) { events(rw, "one"); cut() }, false, 200, "data: one\n\n" + broken},
		{"dies in an event", func(rw http.ResponseWriter, _ *http.Request) {
			events(rw, "one")
			fmt.Fprint(rw, `data: {"te`)
			rw.(http.Flusher).Flush()
			cut()
		}, false, 200, "data: one\n\ndata: {\"te\n\n" + broken},
		{"stops in a stream", func(rw http.ResponseWriter, r *http.Request) { events(rw, "one"); <-r.Context().Done() }, false, 200,
			"data: one\n\n" + strings.Replace(broken, "the worker closed the connection", errSlow.Error(), 1)},
		{"dies in a reply of known length", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Length", "100")
			fmt.Fprint(rw, "part")
			rw.(http.Flusher).Flush()
			cut()
		}, false, 0, "[EOF]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := fake(t, func(rw http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body); c.first(rw, r) })
			b := fake(t, func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, "well") })
			r := newRig(t, Options{Workers: plain(a, b), RequestTimeout: 300 * time.Millisecond})
			got := r.call("POST /generate", `{"text":"x"}`)
			text := strings.NewReplacer(a, "A").Replace(got.body)
			if got.status != c.status || text != c.want {
				t.Errorf("%d %q\nwant %d %q", got.status, text, c.status, c.want)
			}
			if n := r.rt.metrics.retries.Load(); n != map[bool]int64{true: 1}[c.retry] {
				t.Errorf("%d retries", n)
			}
			if n := r.rt.inFlight(); n != 0 {
				t.Errorf("%d requests are counted as running", n)
			}
		})
	}
}

// TestExhausted checks the client's reply when no worker answers.
func TestExhausted(t *testing.T) {
	full := func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Retry-After", "7")
		http.Error(rw, "full", http.StatusServiceUnavailable)
	}
	die := func(http.ResponseWriter, *http.Request) { cut() }
	hang := func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body); <-r.Context().Done() }
	for _, c := range []struct {
		name    string
		workers []http.HandlerFunc
		retries int
		status  int
		want    string
		asked   int64 // workers
	}{
		{"all are full: passed on unchanged", []http.HandlerFunc{full, full, full}, 5, 503, "full\n", 3},
		{"all die", []http.HandlerFunc{die, die}, 5, 502, "the worker closed the connection", 2},
		{"one alone says nothing", []http.HandlerFunc{hang}, 5, 504, errSlow.Error(), 1},
		{"no more retries", []http.HandlerFunc{die, die, die}, 1, 502, "closed the connection", 2},
		{"none at all", []http.HandlerFunc{full, full}, -1, 503, "full\n", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			// No exact count: the request is sent again if an idle connection breaks.
			asked := make([]atomic.Int64, len(c.workers))
			var urls []string
			for i, f := range c.workers {
				urls = append(urls, fake(t, func(rw http.ResponseWriter, r *http.Request) { asked[i].Store(1); f(rw, r) }))
			}
			r := newRig(t, Options{Workers: plain(urls...), MaxRetries: c.retries, RequestTimeout: 200 * time.Millisecond})
			got := r.call("POST /generate", "{}")
			n := int64(0)
			for i := range asked {
				n += asked[i].Load()
			}
			if got.status != c.status || !strings.Contains(got.body, c.want) || n != c.asked {
				t.Errorf("%d %s by %d workers, want %d with %s by %d", got.status, got.body, n, c.status, c.want, c.asked)
			}
			if c.want == "full\n" && got.header.Get("Retry-After") != "7" {
				t.Errorf("the worker's own headers are lost: %v", got.header)
			}
		})
	}
}

// TestRefusedConnection checks that a dead worker is left out at the first request, which another worker answers.
func TestRefusedConnection(t *testing.T) {
	dead := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	b := fake(t, func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, "well") })
	r := newRig(t, Options{Workers: plain(dead.URL, b), HealthInterval: time.Hour})
	dead.Close()
	for range 4 {
		if got := r.call("POST /generate", "{}"); got.body != "well" {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	if n := r.rt.metrics.retries.Load(); n > 1 {
		t.Errorf("%d requests went to the dead worker, want one at most", n)
	}
}

// TestStaleConnection checks that a worker that closes idle connections causes no client errors.
func TestStaleConnection(t *testing.T) {
	hs := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, "well") }))
	defer hs.Close()
	r := newRig(t, Options{Workers: plain(hs.URL)})
	for range 20 {
		if got := r.call("POST /generate", "{}"); got.body != "well" {
			t.Fatalf("%d %s", got.status, got.body)
		}
		hs.CloseClientConnections()
	}
}

// TestClientGone checks that a client that leaves ends the request on the worker, in each state.
func TestClientGone(t *testing.T) {
	url, engine, _ := newWorkerOf(t, fakeengine.Options{Pace: 5 * time.Millisecond}, server.Options{})
	r := newRig(t, Options{Workers: plain(url)})
	for _, body := range []string{
		`{"text":"x","stream":true,"sampling_params":{"max_new_tokens":3000,"ignore_eos":true}}`,
		`{"text":"x","sampling_params":{"max_new_tokens":3000,"ignore_eos":true}}`,
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST /generate HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		eventually(t, "the engine has the request", func() bool { return engine.Busy() == 1 })
		conn.Close()
		eventually(t, "the engine has none", func() bool { return engine.Busy() == 0 })
		eventually(t, "nor has the router", func() bool { return r.rt.inFlight() == 0 })
	}
	if n := r.rt.workers[0].failed.Load(); n != 0 {
		t.Errorf("%d failures are attributed to the worker", n)
	}
}

// TestSlowClient checks that a client that does not read stops the worker, and that the router keeps no more of the
// stream than its buffers hold; a client that never reads is disconnected.
func TestSlowClient(t *testing.T) {
	var sent atomic.Int64
	ended := make(chan struct{})
	url := fake(t, func(rw http.ResponseWriter, _ *http.Request) {
		defer close(ended)
		rw.Header().Set("Content-Type", "text/event-stream")
		event := []byte("data: " + strings.Repeat("x", 32<<10) + "\n\n")
		for {
			if _, err := rw.Write(event); err != nil {
				return
			}
			sent.Add(int64(len(event)))
		}
	})
	r := newRig(t, Options{Workers: plain(url), WriteTimeout: time.Second})
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	fmt.Fprint(conn, "POST /generate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
	<-ended
	runtime.GC()
	runtime.ReadMemStats(&after)
	// The sockets' kernel buffers are not memory of the router.
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 {
		t.Errorf("the heap grew by %d bytes of %d that were sent", grown, sent.Load())
	}
	eventually(t, "the request has ended", func() bool { return r.rt.inFlight() == 0 })
}

// TestUnbuffered checks that an event reaches the client before the worker makes the next.
func TestUnbuffered(t *testing.T) {
	next := make(chan struct{})
	url := fake(t, func(rw http.ResponseWriter, _ *http.Request) {
		for i := range 5 {
			events(rw, fmt.Sprint(i))
			<-next
		}
	})
	r := newRig(t, Options{Workers: plain(url)})
	res, err := http.Post(r.url+"/v1/completions", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for i := range 5 {
		buf := make([]byte, len("data: 0\n\n"))
		if _, err := io.ReadFull(res.Body, buf); err != nil || string(buf) != fmt.Sprintf("data: %d\n\n", i) {
			t.Fatalf("event %d: %q, %v", i, buf, err)
		}
		next <- struct{}{}
	}
}
