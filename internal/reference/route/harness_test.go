package route

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/reference/server"
	"github.com/stepscope/stepscope/internal/testing/fakeengine"
)

// rig is a router over some workers, all of them up.
type rig struct {
	t   *testing.T
	url string
	rt  *Router
}

// newRig waits until all workers are up, or those that o.Workers names as such.
func newRig(t *testing.T, o Options, up ...string) *rig {
	t.Helper()
	o.retryHealth = 5 * time.Millisecond
	if o.Policy == "" {
		o.Policy = "round_robin"
	}
	rt, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	stop := rt.Start()
	hs := httptest.NewServer(rt.handler)
	t.Cleanup(func() {
		hs.CloseClientConnections()
		hs.Close()
		stop()
	})
	r := &rig{t: t, url: hs.URL, rt: rt}
	for _, w := range rt.workers {
		if up == nil || strings.Contains(strings.Join(up, " "), w.url) {
			eventually(t, w.url+" is up", w.up.Load)
		}
	}
	return r
}

// worker is a stepscope server over a fake engine.
func newWorkerOf(t *testing.T, eo fakeengine.Options, so server.Options) (string, *fakeengine.Engine, *httptest.Server) {
	t.Helper()
	e := fakeengine.New(eo)
	hs := httptest.NewServer(server.New(e, so).Handler())
	t.Cleanup(func() {
		hs.CloseClientConnections()
		hs.Close()
		e.Close()
	})
	return hs.URL, e, hs
}

// fake is a worker that answers with f; it is always healthy.
func fake(t *testing.T, f http.HandlerFunc) string {
	t.Helper()
	hs := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" {
			f(rw, r)
		}
	}))
	t.Cleanup(func() {
		hs.CloseClientConnections()
		hs.Close()
	})
	return hs.URL
}

// plain returns workers without a role.
func plain(urls ...string) (out []Backend) {
	for _, u := range urls {
		out = append(out, Backend{URL: u})
	}
	return out
}

// got is a reply in the form that tests compare.
type got struct {
	status int
	header http.Header
	body   string
}

// call sends "METHOD /path" with a body to the router.
func (r *rig) call(what, body string, header ...string) got {
	r.t.Helper()
	return call(r.t, r.url, what, body, header...)
}

func call(t *testing.T, url, what, body string, header ...string) got {
	t.Helper()
	method, path, _ := strings.Cut(what, " ")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return got{body: "[" + err.Error()[strings.LastIndex(err.Error(), ": ")+2:] + "]"}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		text = append(text, fmt.Sprintf("[%v]", err)...)
	}
	return got{res.StatusCode, res.Header, string(text)}
}

// eventually waits until ok, a condition that other goroutines bring about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never came true: %s", what)
		}
	}
}

// events writes data events, one at a time, and then end.
func events(rw http.ResponseWriter, data ...string) {
	rw.Header().Set("Content-Type", "text/event-stream")
	for _, d := range data {
		fmt.Fprintf(rw, "data: %s\n\n", d)
		rw.(http.Flusher).Flush()
	}
}

// cut breaks the connection of a reply.
func cut() { panic(http.ErrAbortHandler) }
