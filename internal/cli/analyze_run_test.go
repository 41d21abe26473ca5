package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/waits"
	"github.com/stepscope/stepscope/internal/runs"
)

// TestAnalyzeRun records a window while a load runs and asks what its slow
// requests waited for.
func TestAnalyzeRun(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	url, log, stop := serving(t, "serve", "--model", "builtin:llama-tiny", "--port", "0", "--dp-size", "2", "--max-total-tokens", "8192")
	defer func() {
		if status := stop(); status != exitOK {
			t.Errorf("the server ended with %d:\n%s", status, log)
		}
	}()
	status, out, errs := run(t, t.Context(), "bench", "serving", "--url", url, "--dataset-name", "random", "--random-input", "40", "--random-output", "32", "--random-range-ratio", "1", "--disable-tqdm",
		"--num-prompts", "24", "--profile", "--profile-num-steps", "30", "--repeat", "2", "--output-file", filepath.Join(t.TempDir(), "out.jsonl"), "--run-dir", home)
	if status != exitOK {
		t.Fatalf("status %d:\n%s%s", status, errs, out)
	}
	status, out, errs = run(t, t.Context(), "analyze", "last", "--run-dir", home)
	// On a busy machine the tokens of some replies arrive together, and these replies have no TTFT.
	if status != exitOK || !strings.Contains(out, "GPU time") || !strings.Contains(out, "Waits behind slow TTFTs (by request id; p99 of ") ||
		!strings.Contains(out, "Waits behind slow ITLs (by request id; ") || !strings.Contains(out, "WAITED FOR") {
		t.Errorf("status %d:\n%s%s", status, errs, out)
	}
	status, out, errs = run(t, t.Context(), "analyze", "last", "--json", "--run-dir", home)
	var r struct {
		result.Report
		Requests waits.Result `json:"requests"`
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || status != exitOK {
		t.Fatalf("status %d, %v:\n%s", status, err, errs)
	}
	q := &r.Requests
	if len(r.Steps) == 0 || q.By != waits.ByID || q.Run != 0 || !q.Clock.OneHost || !q.Clock.Bounded || q.Clock.Lo > q.Clock.Hi {
		t.Errorf("%d steps, %+v", len(r.Steps), q)
	}
	// The slowest first tokens come in the burst that the window opens in; the slowest gaps between tokens come when they
	// please, on a busy machine also outside it.
	if len(q.TTFT.Cases) == 0 || q.ITL.N == 0 {
		t.Errorf("nobody waited: %+v", q)
	}
	for _, c := range append(q.TTFT.Cases, q.ITL.Cases...) {
		if c.Wait.Total() != c.NS || c.DP != 0 && c.DP != 1 || c.DPFrom != "server" || len(c.Steps) == 0 || !strings.HasPrefix(c.Request, "stepscope-") {
			t.Errorf("%+v", c)
		}
	}
	for _, c := range q.TTFT.Cases {
		if c.Wait.Prefill == 0 && c.Wait.SlowRank == 0 && c.Wait.NotRecorded == 0 {
			t.Errorf("a first token without a prefill: %+v", c)
		}
	}

	// The files alone are analysed as ever; a load without traces says what to do.
	dirs, err := filepath.Glob(filepath.Join(home, "*", "traces"))
	if err != nil || len(dirs) != 1 {
		t.Fatal(dirs, err)
	}
	if status, out, errs := run(t, t.Context(), "analyze", dirs[0]); status != exitOK || strings.Contains(out, "WAITED FOR") {
		t.Errorf("status %d:\n%s%s", status, errs, out)
	}
	bare := keepLoad(t, home, 1, 100)
	if status, _, errs := run(t, t.Context(), "analyze", bare.ID(), "--run-dir", home); status != exitFailed || !strings.Contains(errs, "has no traces: record some with --profile; to show its measurements: stepscope runs show") {
		t.Errorf("status %d: %s", status, errs)
	}
	if status, _, errs := run(t, t.Context(), "analyze", "nowhere", "--run-dir", home); status != exitFailed || !strings.Contains(errs, "nowhere: no such") {
		t.Errorf("status %d: %s", status, errs)
	}
}

func storeRoot(t *testing.T) string {
	t.Helper()
	root, err := runs.DefaultRoot()
	if err != nil {
		t.Fatal(err)
	}
	return root
}
