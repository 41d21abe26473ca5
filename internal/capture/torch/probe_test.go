package torch

import (
	"context"
	"net/http"
	"testing"

	"github.com/stepscope/stepscope/internal/api/servers"
)

// TestProbeRoute checks that only our own server is asked whether it generates images, again if it does not answer.
func TestProbeRoute(t *testing.T) {
	t.Parallel()
	for kind, want := range map[Kind]string{servers.Stepscope: "/v1/images/generations", servers.SGLang: "/generate"} {
		f := newFake(t, false, "")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		asked, got := 0, make(chan string, 100)
		f.routes["GET /v1/models"] = func(w http.ResponseWriter, _ *http.Request) {
			if asked++; asked == 1 {
				panic(http.ErrAbortHandler)
			}
			w.Write([]byte(`{"data": [{"id": "z", "task_type": "T2I"}]}`))
		}
		for _, route := range []string{"/v1/images/generations", "/generate"} {
			f.routes["POST "+route] = func(http.ResponseWriter, *http.Request) {
				cancel()
				got <- route
			}
		}
		o := Options{}.withDefaults()
		m := &member{Target: Target{URL: f.url}, o: &o, kind: kind}
		m.probe(ctx)
		if route := <-got; route != want {
			t.Errorf("%s: %s", kind, route)
		}
		if n := map[Kind]int{servers.Stepscope: 2}[kind]; asked != n {
			t.Errorf("%s: asked %d times for its models, want %d", kind, asked, n)
		}
	}
}
