package cli

import (
	"context"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// busy keeps a server stepping, one request after another, until the test ends.
func busy(t *testing.T, url string) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			req, err := http.NewRequestWithContext(ctx, "POST", url+"/generate", strings.NewReader(`{"text":"hello","sampling_params":{"max_new_tokens":16,"ignore_eos":true}}`))
			if err != nil {
				t.Error(err)
				return
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				if ctx.Err() == nil {
					t.Error(err)
				}
				return
			}
			resp.Body.Close()
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
}

// TestBenchServingPD profiles some servers of three while the load goes to another,
// as with workers behind a router.
func TestBenchServingPD(t *testing.T) {
	t.Parallel()
	var urls []string
	for range 3 {
		url, log, stop := serving(t, "serve", "--model", "builtin:llama-tiny", "--port", "0", "--max-total-tokens", "4096")
		t.Cleanup(func() {
			if status := stop(); status != exitOK {
				t.Errorf("the server ended with %d:\n%s", status, log)
			}
		})
		urls = append(urls, url)
	}
	router, a, b := urls[0], urls[1], urls[2]
	busy(t, a)
	busy(t, b)
	for _, c := range []struct {
		args     []string
		role     string
		profiled []string
	}{
		{[]string{"--profile-prefill-url", a, "--profile-prefill-url", b}, "prefill", []string{a, b}},
		{[]string{"--profile-decode-url", b}, "decode", []string{b}},
		{[]string{"--profile-decode-url", b, "--profile-decode-url", a}, "decode", []string{a, b}},
	} {
		t.Run(strings.Join(c.args[:1], " "), func(t *testing.T) {
			home, onServer := t.TempDir(), t.TempDir()
			status, out, errs := run(t, t.Context(), append([]string{"bench", "serving", "--url", router, "--dataset-name", "random", "--random-input", "16", "--random-output", "8",
				"--num-prompts", "8", "--disable-tqdm", "--output-file", filepath.Join(t.TempDir(), "out.jsonl"), "--run-dir", home,
				"--profile", "--pd-separated", "--profile-num-steps", "3", "--profile-output-dir", onServer}, c.args...)...)
			if status != exitOK || !strings.Contains(out, "Successful requests:                     8") {
				t.Fatalf("status %d:\n%s%s", status, errs, out)
			}
			// Each server is explained under its role, and no other.
			var shown []string
			for _, m := range regexp.MustCompile(`(?m)^(prefill|decode)? ?(http://\S+)$`).FindAllStringSubmatch(out, -1) {
				if m[1] != c.role {
					t.Errorf("%s is shown as %q, want %s", m[2], m[1], c.role)
				}
				shown = append(shown, m[2])
			}
			slices.Sort(shown)
			if want := slices.Sorted(slices.Values(c.profiled)); !slices.Equal(shown, want) {
				t.Errorf("shows the servers %q, want %q:\n%s%s", shown, want, errs, out)
			}
			// One trace of one rank from each, and no other server wrote any.
			var written, traces []string
			for _, url := range c.profiled {
				name := "" // of a directory of its own, if there are several servers
				if len(c.profiled) > 1 {
					name = c.role + "-" + strings.NewReplacer("http://", "", ":", "-").Replace(url)
				}
				written = append(written, glob(t, onServer, "*", name, "*.trace.json.gz")...)
				traces = append(traces, glob(t, home, "*", "traces", name, "*.trace.json.gz")...)
			}
			if !slices.EqualFunc(written, traces, func(a, b string) bool { return filepath.Base(a) == filepath.Base(b) }) || len(traces) != len(c.profiled) {
				t.Errorf("the servers wrote %q, the run has %q; want one from each of %q", written, traces, c.profiled)
			}
			if n := len(regexp.MustCompile(`1 rank · 3 (\w+ )?steps`).FindAllString(out, -1)); n != len(c.profiled) {
				t.Errorf("3 steps of 1 rank shown %d times, want for each of %d servers:\n%s", n, len(c.profiled), out)
			}
		})
	}

	t.Run("both", func(t *testing.T) {
		status, out, errs := run(t, t.Context(), "bench", "serving", "--url", router, "--dataset-name", "random", "--num-prompts", "2", "--profile", "--pd-separated",
			"--profile-prefill-url", a, "--profile-decode-url", b)
		if status != exitUsage || out != "" || !strings.Contains(errs, "prefill and decode cannot be profiled at once") {
			t.Errorf("status %d:\n%s%s", status, errs, out)
		}
	})
}

func glob(t *testing.T, parts ...string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return found
}
