package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// TestRecording takes a lean window in a load: the tokens outside of it tell what decode
// steps take that are not recorded, also to who analyses the files later.
func TestRecording(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	url, log, stop := serving(t, "serve", "--model", "builtin:llama-tiny", "--port", "0", "--tp", "2", "--max-total-tokens", "8192")
	defer func() {
		if status := stop(); status != exitOK {
			t.Errorf("the server ended with %d:\n%s", status, log)
		}
	}()
	status, out, errs := run(t, t.Context(), "bench", "serving", "--url", url, "--dataset-name", "random", "--random-input", "16", "--random-output", "300", "--random-range-ratio", "1", "--disable-tqdm",
		"--num-prompts", "12", "--max-concurrency", "2", "--profile", "--profile-num-steps", "8", "--lean", "--output-file", filepath.Join(home, "out.jsonl"), "--run-dir", filepath.Join(home, "runs"))
	if status != exitOK {
		t.Fatalf("status %d:\n%s%s", status, errs, out)
	}
	dirs, err := filepath.Glob(filepath.Join(home, "runs", "*", "traces"))
	if err != nil || len(dirs) != 1 {
		t.Fatal(dirs, err)
	}
	of := func(args ...string) (r result.Report) {
		status, out, errs := run(t, t.Context(), append([]string{"analyze", dirs[0], "--json"}, args...)...)
		if err := json.Unmarshal([]byte(out), &r); err != nil || status != exitOK {
			t.Fatalf("status %d, %v:\n%s", status, err, errs)
		}
		return r
	}
	// On a loaded machine, the steps outside may vary by more than a factor of 2, or take longer than those of the
	// window. The cost of recording is then not known, and the report says why.
	unknown := func(o result.Recording) bool {
		return !o.Known && o.Outside == 0 && strings.HasPrefix(o.Says.Text, "profiler overhead not known: decode steps")
	}
	r := of()
	if o := r.Recording; o.From != trace.FromTokens || len(r.CPU.Frames) > 0 || o.Stacks {
		t.Errorf("%+v, %d frames", o, len(r.CPU.Frames))
	} else if !unknown(o) && (!o.Known || o.Batch != 2 || o.Ratio < o.RatioLow || o.Ratio > o.RatioHigh || o.Inside <= 0 || o.Outside <= 0) {
		t.Errorf("%+v", o)
	}
	if o := of("--reference", "1ms").Recording; o.From != trace.FromUser || !unknown(o) && (!o.Known || o.Outside != 1_000_000 || o.Inside <= 0) {
		t.Errorf("%+v", o)
	}
	if status, _, errs := run(t, t.Context(), "analyze", dirs[0], "--reference", "0ms"); status != exitUsage || !strings.Contains(errs, "--reference 0s: give the time of a step") {
		t.Errorf("status %d: %s", status, errs)
	}
	if status, _, errs := run(t, t.Context(), "profile", "--lean", "--with-stack", "--url", url); status != exitUsage || !strings.Contains(errs, "--lean and --with-stack: only kernels and launches are recorded") {
		t.Errorf("status %d: %s", status, errs)
	}
}
