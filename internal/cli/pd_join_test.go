package cli

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/waits"
)

// joined sends a load and gives what analyze says of its requests, as text too.
func joined(t *testing.T, url string, args ...string) (r waits.Result, text string) {
	t.Helper()
	home := t.TempDir()
	args = append([]string{"bench", "serving", "--url", url, "--dataset-name", "random", "--random-range-ratio", "1", "--disable-tqdm", "--run-dir", home, "--output-file", filepath.Join(t.TempDir(), "out.jsonl"),
		"--profile", "--profile-unbounded", "--profile-output-dir", t.TempDir()}, args...)
	if status, out, errs := run(t, t.Context(), args...); status != exitOK {
		t.Fatalf("status %d:\n%s%s", status, errs, out)
	}
	status, out, errs := run(t, t.Context(), "analyze", "last", "--run-dir", home, "--json")
	var all struct{ Requests waits.Result }
	if err := json.Unmarshal([]byte(out), &all); err != nil || status != exitOK {
		t.Fatalf("status %d, %v:\n%s", status, err, errs)
	}
	if status, text, errs = run(t, t.Context(), "analyze", "last", "--run-dir", home); status != exitOK {
		t.Fatalf("status %d:\n%s", status, errs)
	}
	r = all.Requests
	for _, k := range slices.Concat(r.TTFT.Cases, r.ITL.Cases) {
		if k.Wait.Total() != k.NS || len(k.Steps) == 0 {
			t.Errorf("%+v", k)
		}
	}
	if r.By != waits.ByID || !r.Clock.OneHost || len(r.Clocks) > 0 {
		t.Errorf("steps by %s, clock %+v", r.By, r.Clock)
	}
	return r, text
}

// TestPDRequests asks what slow requests of prefill and decode servers waited for,
// where that is known.
func TestPDRequests(t *testing.T) { // alone: what its requests wait for must not be a core
	t.Run("few places", func(t *testing.T) {
		s := &pdSystem{t: t, prefill: []*worker{startWorker(t, "--disaggregation-mode", "prefill", "--disaggregation-bootstrap-port", "0")},
			decode: []*worker{startWorker(t, "--disaggregation-mode", "decode", "--max-running-requests", "2")}}
		s.route(nil)
		r, text := joined(t, s.router.url, "--random-input", "40", "--random-output", "150", "--num-prompts", "24")
		if len(r.TTFT.Cases) == 0 || len(r.ITL.Cases) == 0 || len(r.Notes) > 0 {
			t.Fatalf("%+v", r)
		}
		if k := &r.TTFT.Cases[0]; 2*k.Wait.Place < k.NS || k.Wait.Prefill == 0 || !strings.HasPrefix(k.Server, "prefill-") || !strings.HasPrefix(k.Decode, "decode-") {
			t.Errorf("one of 24 requests with two places waited for %+v", k)
		}
		for _, k := range r.ITL.Cases {
			if w := &k.Wait; !strings.HasPrefix(k.Server, "decode-") || k.Decode != "" || w.Prefill+w.OtherPrefill+w.Transfer+w.Place > 0 {
				t.Errorf("between tokens: %+v", k)
			}
		}
		if !strings.Contains(text, "a place on a decode server ") || !strings.Contains(text, r.TTFT.Cases[0].Server+", "+r.TTFT.Cases[0].Decode) {
			t.Error(text)
		}

		// One side alone has its own part.
		r, _ = joined(t, s.router.url, "--random-input", "40", "--random-output", "200", "--num-prompts", "16", "--pd-separated", "--profile-prefill-url", s.prefill[0].url)
		if len(r.TTFT.Cases) == 0 || len(r.ITL.Cases) > 0 || r.TTFT.Cases[0].Decode != "" || 2*r.TTFT.Cases[0].Wait.Place < r.TTFT.Cases[0].NS || len(r.Notes) != 2 {
			t.Errorf("the prefill side: %+v", r)
		}
		r, _ = joined(t, s.router.url, "--random-input", "40", "--random-output", "20", "--num-prompts", "16", "--pd-separated", "--profile-decode-url", s.decode[0].url)
		if len(r.TTFT.Cases) > 0 || len(r.ITL.Cases) == 0 || len(r.Notes) != 1 {
			t.Errorf("the decode side: %+v", r)
		}
	})
	t.Run("long prompts", func(t *testing.T) {
		s := startSystem(t, 1, nil)
		r, text := joined(t, s.router.url, "--random-input", "700", "--random-output", "4", "--num-prompts", "12")
		if len(r.TTFT.Cases) == 0 {
			t.Fatalf("%+v", r)
		}
		if k := &r.TTFT.Cases[0]; 2*k.Wait.QueuePrefill < k.NS || k.Wait.QueuePrefill > k.Wait.Queue || k.Wait.Prefill == 0 {
			t.Errorf("the last of 12 long prompts waited for %+v", k)
		}
		if !strings.Contains(text, " ms of it during prefill of others") {
			t.Error(text)
		}
	})
}

// TestPlainRequests asks the same of servers alike behind a router.
func TestPlainRequests(t *testing.T) {
	t.Parallel()
	a, b := startWorker(t), startWorker(t)
	router := &worker{t: t, args: []string{"route", "--port", "0", "--policy", "round_robin", "--worker-urls", a.url, b.url}}
	router.start()
	t.Cleanup(router.kill)
	soon(t, "the router has both", func() bool {
		_, text := call(t, "GET", router.url+"/workers", "")
		return strings.Count(text, `"is_healthy":true`) == 2
	})
	// One after the other, in turns.
	r, _ := joined(t, router.url, "--random-input", "40", "--random-output", "60", "--num-prompts", "16", "--max-concurrency", "1")
	var turns [2]string
	for _, k := range slices.Concat(r.TTFT.Cases, r.ITL.Cases) {
		if w := &k.Wait; w.Place+w.Transfer+w.Join+w.Way > 0 || k.Decode != "" {
			t.Errorf("%+v", k)
		}
		who := &turns[k.Index%2]
		if *who == "" {
			*who = k.Server
		}
		if k.Server == "" || k.Server != *who || turns[0] == turns[1] {
			t.Errorf("request %d was served by %q, others by %q", k.Index, k.Server, turns)
		}
	}
	if len(r.TTFT.Cases) == 0 || len(r.ITL.Cases) < 5 || len(r.Notes) > 0 {
		t.Errorf("%d TTFTs, %d ITLs, notes %q", len(r.TTFT.Cases), len(r.ITL.Cases), r.Notes)
	}
}
