package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/reference/server"
	"github.com/stepscope/stepscope/internal/testing/fakeengine"
)

// rig is a server over a fake engine with a clock and ids that do not vary.
type rig struct {
	t      *testing.T
	engine *fakeengine.Engine
	server *server.Server
	url    string
}

// newRig answers every prompt with reply, "" for the fake's own words.
func newRig(t *testing.T, reply string, eo fakeengine.Options, so server.Options) *rig {
	t.Helper()
	if reply != "" {
		eo.Reply = func(string) string { return reply }
	}
	r := &rig{t: t, engine: fakeengine.New(eo)}
	var ids atomic.Int64
	if so.NewID == nil {
		so.NewID = func() string { return fmt.Sprintf("id%d", ids.Add(1)) }
	}
	if so.Now == nil {
		so.Now = func() time.Time { return time.Unix(1700000000, 500e6) }
	}
	if so.Getenv == nil {
		so.Getenv = func(string) string { return "" }
	}
	so.Version = "test"
	r.server = server.New(r.engine, so)
	hs := httptest.NewServer(r.server.Handler())
	t.Cleanup(func() {
		hs.Close()
		r.engine.Close()
	})
	r.url = hs.URL
	return r
}

// answer is a reply in the form that tests compare.
type answer struct {
	status int
	header http.Header
	body   string
}

// call sends "METHOD /path" with a body.
func (r *rig) call(what, body string, header ...string) answer {
	r.t.Helper()
	method, path, _ := strings.Cut(what, " ")
	req, err := http.NewRequestWithContext(context.Background(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(text)}
}

// open starts a request and leaves the reply unread; cancel ends it.
func (r *rig) open(path, body string) (*http.Response, context.CancelFunc) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, "POST", r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { cancel(); res.Body.Close() })
	return res, cancel
}

// events splits a stream into its events, without the last [DONE].
func events(t *testing.T, body string) []string {
	t.Helper()
	er := wire.NewEventReader(strings.NewReader(body), 1<<20)
	var out []string
	for {
		data, err := er.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatalf("stream: %v in %q", err, body)
		}
		out = append(out, string(data))
	}
}

// eventually waits until ok, a condition that other goroutines bring about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never came true: %s", what)
		}
	}
}
