package torch

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/servers"
	"github.com/stepscope/stepscope/internal/capture/collect"
	"github.com/stepscope/stepscope/internal/reference/route"
	"github.com/stepscope/stepscope/internal/reference/server"
)

// TestBehindRouter checks that a router's URL represents the servers behind it, each under its role, even if they are
// reachable only through the router.
func TestBehindRouter(t *testing.T) {
	so := server.Options{APIKey: "worker's"}
	p, d := embedded(t, so), embedded(t, so)
	router := routed(t, "/health", route.Options{
		Workers: []route.Backend{{URL: p, Role: api.Prefill}, {URL: d, Role: api.Decode}}, APIKey: "user's", WorkerKey: "worker's",
	})
	target := Target{URL: router, Header: http.Header{"Authorization": {"Bearer user's"}}}
	name := func(role, worker string) string {
		u, _ := url.Parse(worker)
		return role + "-" + strings.ReplaceAll(u.Host, ":", "-")
	}
	// Only the router can be reached.
	alone := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr != strings.TrimPrefix(router, "http://") {
			return nil, errors.New("no route to host")
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}}}
	for _, c := range []struct {
		name string
		o    Options
	}{
		// The workers require another key than the router.
		{"through the router for their keys", Options{Probe: true}},
		{"through the router for the network", Options{Probe: true, Client: alone}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &log{}
			c.o.Log = l.add
			s, err := Start(t.Context(), []Target{target}, Window{NumSteps: 3, OutputDir: t.TempDir()}, patient(c.o))
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range s.members {
				m.src = elsewhere{m.src.(*collect.HTTP)}
			}
			home := t.TempDir()
			// Another process may collect the session.
			kept := filepath.Join(t.TempDir(), "sessions")
			if err := s.Save(kept, home); err != nil {
				t.Fatal(err)
			}
			res, err := s.Collect(t.Context(), home)
			if err != nil || res.Incomplete() {
				t.Fatalf("%v, %+v", err, res)
			}
			saved, err := FindSaved(kept, home)
			if err != nil {
				t.Fatal(err)
			}
			again := saved.Resume(target, patient(Options{}))
			if !slices.EqualFunc(s.members, again.members, func(a, b *member) bool { return a.base() == b.base() && a.front == b.front }) {
				t.Errorf("resumed: %v", err)
			}
			for i, want := range []struct{ role, url string }{{api.Prefill, p}, {api.Decode, d}} {
				r := res.Servers[i]
				if r.Role != want.role || r.URL != want.url || r.Kind != servers.Stepscope || r.Dir != filepath.Join(home, name(want.role, want.url)) {
					t.Errorf("%+v, want the %s server %s", r, want.role, want.url)
				}
				if got := steps(t, r.Traces); got != "TP00-DP00:3 TP00-DP01:3 TP01-DP00:3 TP01-DP01:3" {
					t.Errorf("%s: steps %s", r.URL, got)
				}
				if !l.has(r.URL + ": is reached through its router") {
					t.Errorf("the log does not say how %s was reached:\n%s", r.URL, strings.Join(l.lines, "\n"))
				}
			}
		})
	}
	t.Run("stop", func(t *testing.T) {
		if _, err := Start(t.Context(), []Target{target}, Window{OutputDir: t.TempDir()}, patient(Options{})); err != nil {
			t.Fatal(err)
		}
		open, _, err := StopAll(t.Context(), []Target{target}, Options{})
		if err != nil || !open[p] || !open[d] || len(open) != 2 {
			t.Errorf("%v, %v", open, err)
		}
	})
}

// TestBehindGateway checks that SGLang's gateway is asked only for the names of its workers.
func TestBehindGateway(t *testing.T) {
	a, b := newFake(t, false, `{"tp_size":1}`), newFake(t, false, `{"tp_size":1}`)
	for _, f := range []*fake{a, b} {
		f.begin = func(dir string) { f.write(dir, "1-TP-0.trace.json.gz") }
	}
	g := newFake(t, false, `{"tp_size":1}`) // the worker's key
	delete(g.routes, "POST /start_profile")
	g.answer("GET /workers", 200, `{"workers":[{"id":"x","url":"`+a.url+`","worker_type":"prefill"},{"id":"y","url":"`+b.url+`/","worker_type":"regular"}],"total":2}`)
	res, err := runOn(t, Window{NumSteps: 1}, patient(Options{}), []Target{{URL: g.url}})
	if err != nil || res.Incomplete() {
		t.Fatalf("%v, %+v", err, res)
	}
	for i, want := range []ServerResult{{URL: a.url, Role: api.Prefill}, {URL: b.url}} {
		if r := res.Servers[i]; r.URL != want.URL || r.Role != want.Role || len(r.Traces) != 1 {
			t.Errorf("%+v, want %+v", r, want)
		}
	}
}
