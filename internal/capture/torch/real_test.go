package torch

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/api/servers"
	"github.com/stepscope/stepscope/internal/capture/collect"
	"github.com/stepscope/stepscope/internal/reference/launch"
	"github.com/stepscope/stepscope/internal/reference/server"
	"github.com/stepscope/stepscope/internal/tracefile/check"
	"github.com/stepscope/stepscope/internal/tracefile/set"
)

// embedded is a real server on the embedded engine, TP 2 x DP 2.
func embedded(t *testing.T, o server.Options) string {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	e, err := launch.Load(t.Context(), launch.ModelArgs{
		ModelPath: "builtin:llama-tiny", LoadFormat: "auto", Overrides: "{}", DType: "auto", TP: 2, DP: 2, PP: 1, EP: 1,
		MaxRunningRequests: 8, MaxQueuedRequests: 1024, MaxTotalTokens: 2048, ChunkedPrefill: 256, MaxPrefillTokens: 16384,
		Conservativeness: 1, LoadBalance: "round_robin", GraphBS: []int{8},
	}, launch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	hs := httptest.NewServer(server.New(e, o).Handler())
	t.Cleanup(func() {
		hs.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return hs.URL
}

// load keeps requests running until it is stopped; more is added to their bodies.
func load(t *testing.T, url, key string, more ...string) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				body := fmt.Sprintf(`{"text":"client %d","sampling_params":{"max_new_tokens":6,"ignore_eos":true}%s}`, i, strings.Join(more, ""))
				req, _ := http.NewRequestWithContext(ctx, "POST", url+"/generate", strings.NewReader(body))
				req.Header.Set("Authorization", "Bearer "+key)
				if res, err := http.DefaultClient.Do(req); err == nil {
					res.Body.Close()
				}
			}
		})
	}
	return func() { cancel(); wg.Wait() }
}

// steps describes the contents of the traces: the steps of each rank and stage.
func steps(t *testing.T, paths []string) string {
	t.Helper()
	sets, err := set.Find(paths)
	if err != nil || len(sets) != 1 {
		t.Fatalf("%d sets, %v", len(sets), err)
	}
	rep, err := check.Check(t.Context(), sets[0], nil, nil)
	if err != nil || rep.Incomplete() {
		t.Fatalf("%v, %+v", err, rep)
	}
	var out []string
	for _, f := range rep.Files {
		n := 0
		for _, count := range f.Steps {
			n += count
		}
		out = append(out, fmt.Sprintf("%s:%d", f.Label, n))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

var counts = regexp.MustCompile(`:[1-9]\d*`)

// TestRealServer checks that windows of the embedded engine under load arrive complete, with the requested steps.
func TestRealServer(t *testing.T) {
	url := embedded(t, server.Options{})
	for _, c := range []struct {
		name   string
		w      Window
		o      Options
		idle   bool // nobody sends load
		steps  string
		merged string
	}{
		{"plain", Window{NumSteps: 3}, Options{}, false, "TP00-DP00:3 TP00-DP01:3 TP01-DP00:3 TP01-DP01:3", "merged-*.trace.json.gz"},
		{"by stage, with a prefix, merged there", Window{NumSteps: 2, ByStage: true, Prefix: "run", Merge: true}, Options{}, false,
			"TP00-DP00 DECODE TP00-DP00 EXTEND TP00-DP01 DECODE TP00-DP01 EXTEND TP01-DP00 DECODE TP01-DP00 EXTEND TP01-DP01 DECODE TP01-DP01 EXTEND", "merged-*.trace.json.gz"},
		{"an id and a start step", Window{NumSteps: 2, StartStep: 20, ProfileID: "mine"}, Options{NoMerge: true}, false, "TP00-DP00:2 TP00-DP01:2 TP01-DP00:2 TP01-DP01:2", ""},
		{"our own requests", Window{NumSteps: 4}, Options{Probe: true}, true, "TP00-DP00:4 TP00-DP01:4 TP01-DP00:4 TP01-DP01:4", "merged-*.trace.json.gz"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stop := func() {}
			if !c.idle {
				stop = load(t, url, "")
			}
			defer stop()
			res, err := runOn(t, c.w, patient(c.o), []Target{{URL: url}})
			if err != nil {
				t.Fatal(err)
			}
			r := res.Servers[0]
			if r.Kind != servers.Stepscope || res.Incomplete() || len(r.Notes) > 0 {
				t.Errorf("%+v", r)
			}
			got := steps(t, r.Traces)
			if c.w.ByStage {
				// Prefill steps that run while decode is recorded are also in its trace, and a decode step can end
				// prefill early: the number varies.
				got = counts.ReplaceAllString(got, "")
			}
			if got != c.steps {
				t.Errorf("steps %s, want %s", got, c.steps)
			}
			if ok, _ := filepath.Match(c.merged, filepath.Base(r.Merged)); !ok && c.merged+r.Merged != "" {
				t.Errorf("merged %q, want %q", r.Merged, c.merged)
			}
		})
	}
}

// TestRealServerWithoutTraffic checks that the windows of replicas without steps are closed with a message.
func TestRealServerWithoutTraffic(t *testing.T) {
	url := embedded(t, server.Options{})
	l := &log{}
	res, err := runOn(t, Window{NumSteps: 3}, quick(Options{Log: l.add}), []Target{{URL: url}})
	if err != nil || !res.Incomplete() || len(res.Servers[0].Traces) != 4 || !strings.Contains(strings.Join(res.Servers[0].Notes, ""), "there was no forward step in 500ms") {
		t.Errorf("%v, %+v", err, res)
	}
	if !l.has("is running no forward step, so there is nothing to record") {
		t.Errorf("%q", l.lines)
	}
}

// TestRealIdleReplica checks that a window does not wait long for an idle replica when all requests go to the other
// one.
func TestRealIdleReplica(t *testing.T) {
	url := embedded(t, server.Options{})
	defer load(t, url, "", `,"data_parallel_rank":0`)()
	for _, byStage := range []bool{false, true} {
		began := time.Now()
		res, err := runOn(t, Window{NumSteps: 2, ByStage: byStage}, patient(Options{}), []Target{{URL: url}})
		if err != nil {
			t.Fatal(err)
		}
		r := res.Servers[0]
		if got := strings.Join(r.IdleRanks, " "); got != "TP00-DP01 TP01-DP01" || res.Incomplete() || time.Since(began) > 20*time.Second {
			t.Errorf("by stage %t: idle %q after %v, %+v", byStage, got, time.Since(began), r)
		}
	}
}

// TestRealServerElsewhere checks that a server without shared storage sends its files over HTTP, with the key of its
// profile routes.
func TestRealServerElsewhere(t *testing.T) {
	url := embedded(t, server.Options{APIKey: "user", AdminAPIKey: "admin"})
	defer load(t, url, "user")()
	target := Target{URL: url, Header: http.Header{"Authorization": {"Bearer user"}}}
	w := Window{NumSteps: 3, OutputDir: t.TempDir(), Merge: true}
	if _, err := Start(t.Context(), []Target{target}, w, patient(Options{})); err == nil || !strings.Contains(err.Error(), "--admin-api-key KEY if the server has one") {
		t.Errorf("with the user's key: %v", err)
	}
	target.AdminKey = "admin"
	s, err := Start(t.Context(), []Target{target}, w, patient(Options{}))
	if err != nil {
		t.Fatal(err)
	}
	s.members[0].src = elsewhere{s.members[0].src.(*collect.HTTP)}
	res, err := s.Collect(t.Context(), t.TempDir())
	if err != nil || res.Incomplete() {
		t.Fatalf("%v, %+v", err, res)
	}
	if got := steps(t, res.Servers[0].Traces); got != "TP00-DP00:3 TP00-DP01:3 TP01-DP00:3 TP01-DP01:3" || res.Servers[0].Merged == "" {
		t.Errorf("%s, %+v", got, res.Servers[0])
	}
}

// elsewhere is a server whose directory is not accessible from here.
type elsewhere struct{ *collect.HTTP }

func (elsewhere) Here(string) string { return "" }
