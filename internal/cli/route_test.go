package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/explain/result"
)

// TestRoute is one life of a router before two servers: a load goes through it, and
// profile records both and keeps them apart.
func TestRoute(t *testing.T) {
	t.Parallel()
	args := []string{"route", "--port", "0", "--policy", "round_robin", "--worker-urls"}
	for range 2 {
		url, log, stop := serving(t, "serve", "--model", "builtin:llama-tiny", "--port", "0", "--max-total-tokens", "4096")
		t.Cleanup(func() {
			if status := stop(); status != exitOK {
				t.Errorf("the server ended with %d:\n%s", status, log)
			}
		})
		args = append(args, url)
	}
	router, log, stop := serving(t, args...)
	workersUp(t, log, 2)

	home := t.TempDir()
	status, out, errs := run(t, t.Context(), "bench", "serving", "--url", router, "--dataset-name", "random", "--random-input", "16", "--random-output", "8",
		"--num-prompts", "32", "--disable-tqdm", "--output-file", filepath.Join(t.TempDir(), "out.jsonl"), "--run-dir", home, "--profile", "--profile-num-steps", "3", "--profile-output-dir", t.TempDir())
	if status != exitOK || !strings.Contains(out, "Successful requests:                     32") {
		t.Errorf("bench serving: status %d:\n%s%s", status, errs, out)
	}
	if n := len(glob(t, home, "*", "traces", "*", "*.trace.json.gz")); n != 2 {
		t.Errorf("the run has %d traces, want one of each worker", n)
	}

	status, out, errs = run(t, t.Context(), "profile", "--url", router, "--probe", "--num-steps", "2", "--output-dir", t.TempDir(), "--no-analyze", "--json", "--no-store")
	var res struct {
		Servers []struct {
			URL    string
			Traces []string
		}
	}
	if err := json.Unmarshal([]byte(out), &res); err != nil || status != exitOK || len(res.Servers) != 2 {
		t.Fatalf("profile: status %d, %v:\n%s%s", status, err, errs, out)
	}
	for i, s := range res.Servers {
		if s.URL != args[6+i] || len(s.Traces) != 1 {
			t.Errorf("server %d: %+v, want a trace of %s", i, s, args[6+i])
		}
	}
	status, out, errs = run(t, t.Context(), "profile", "stop", "--url", router)
	if status != exitOK || strings.Count(out, "was not recording") != 2 {
		t.Errorf("profile stop: status %d:\n%s%s", status, errs, out)
	}
	if status := stop(); status != exitOK {
		t.Errorf("the router ended with %d:\n%s", status, log)
	}
}

// TestRouteClients runs SGLang's own programs through a router before two servers.
func TestRouteClients(t *testing.T) {
	wantSGLang(t)
	t.Parallel()
	a := startServe(t, "--model-path", "builtin:llama-tiny")
	b := startServe(t, "--model-path", "builtin:llama-tiny")
	s := startVerb(t, "launch_router", "--port", "0", "--worker-urls", a.url, b.url)
	for _, args := range [][]string{
		{"--backend", "sglang", "--flush-cache"},
		{"--backend", "sglang", "--disable-stream"},
		{"--backend", "sglang-oai", "--model", "builtin:llama-tiny"},
		{"--backend", "sglang-oai-chat"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) { s.bench(t, "", args...) })
	}
	t.Run("send_one", func(t *testing.T) { s.sendOne(t, "", "--max-new-tokens", "8", "--stream") })
	// SGLang's programs know nothing of several servers: each gets a directory of its
	// own below theirs.
	t.Run("profile", func(t *testing.T) {
		traces := t.TempDir()
		s.bench(t, traces, "--backend", "sglang", "--profile", "--profile-num-steps", "3")
		for i := range 2 {
			pattern := filepath.Join(traces, "*", fmt.Sprintf("worker-%d", i), "*.trace.json.gz")
			for end := time.Now().Add(time.Minute); len(glob(t, pattern)) == 0; time.Sleep(20 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("no trace %s", pattern)
				}
			}
		}
	})
}

// TestRoutePDClients runs SGLang's own programs through a router before prefill and
// decode servers: what they profile is one side's, one kind of step.
func TestRoutePDClients(t *testing.T) {
	wantSGLang(t)
	t.Parallel()
	args := []string{"launch_router", "--port", "0", "--pd-disaggregation", "--mini-lb", "--policy", "round_robin"}
	var urls [2][]string
	for i, role := range []string{"prefill", "decode"} {
		for range 2 {
			s := startServe(t, "--model-path", "builtin:llama-tiny", "--disaggregation-mode", role, "--disaggregation-bootstrap-port", "0")
			urls[i] = append(urls[i], s.url)
			args = append(args, "--"+role, s.url)
		}
	}
	s := startVerb(t, args...)
	for _, args := range [][]string{
		{"--backend", "sglang", "--flush-cache"},
		{"--backend", "sglang", "--disable-stream", "--return-logprob"},
		{"--backend", "sglang-oai", "--model", "builtin:llama-tiny"},
		{"--backend", "sglang-oai-chat"},
		{"--backend", "sglang-oai-chat", "--disable-stream"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) { s.bench(t, "", args...) })
	}
	t.Run("send_one", func(t *testing.T) { s.sendOne(t, "", "--max-new-tokens", "8", "--stream") })
	for i, role := range []string{"prefill", "decode"} {
		t.Run("profile "+role, func(t *testing.T) {
			traces := t.TempDir()
			s.bench(t, traces, "--backend", "sglang", "--profile", "--pd-separated", "--profile-num-steps", "3", "--max-concurrency", "1", // a batch a request
				"--profile-"+role+"-url", urls[i][0], urls[i][1])
			pattern := filepath.Join(traces, "*", "*.trace.json.gz")
			soon(t, "there are two traces", func() bool { return len(glob(t, pattern)) == 2 })
			for _, path := range glob(t, pattern) {
				status, out, errs := run(t, t.Context(), "analyze", "--json", path)
				var r result.Report
				if err := json.Unmarshal([]byte(out), &r); err != nil || status != exitOK {
					t.Fatalf("status %d, %v:\n%s", status, err, errs)
				}
				for _, step := range r.Steps {
					if step.Kind != role {
						t.Errorf("%s: step %s, want only %s", filepath.Base(path), step.Name, role)
					}
				}
				if len(r.Steps) != 3 {
					t.Errorf("%s: %d steps, want 3", filepath.Base(path), len(r.Steps))
				}
			}
		})
	}
}
