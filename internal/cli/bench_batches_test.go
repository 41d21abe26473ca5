package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/trace"
)

// lastRun is the newest run of a test.
func lastRun(t *testing.T) *runs.Run {
	t.Helper()
	r, err := runs.Open(storeRoot(t), "last")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestBatchesKept: the three benchmarks of batches leave runs with what they
// measured and recorded, in that order.
func TestBatchesKept(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("SGLANG_TORCH_PROFILER_DIR", filepath.Join(dir, "traces"))
	url, _, stop := serving(t, "serve", "--model", "builtin:llama-tiny", "--port", "0", "--tp", "2", "--max-total-tokens", "16384")
	defer stop()
	const sizes = " --batch-size 2 2 900 --input-len 40 --output-len 6 --profile"
	for _, c := range []struct {
		args     string
		status   int
		figures  string
		batches  string // sizes; * was recorded meanwhile
		windows  string // of its traces
		notes    string
		explains string
	}{
		{
			"one-batch --model builtin:llama-tiny --max-total-tokens 1024" + sizes, exitIncomplete,
			"prefill_latency prefill_throughput decode_latency decode_throughput total_latency overall_throughput", "2 × 40 + 6*, 2 × 40 + 6*",
			"batch2_input40_output6_prefill EXTEND TP00, batch2_input40_output6_decode DECODE TP00, batch2_input40_output6_prefill_2 EXTEND TP00, batch2_input40_output6_decode_2 DECODE TP00",
			"skipping (900, 40, 6) due to max batch size limit", "batch2_input40_output6_decode_2\n",
		},
		{
			"one-batch-server --base-url " + url + sizes + " --profile-steps 3 --profile-output-dir " + filepath.Join(dir, "served"), exitIncomplete,
			"prefill_latency prefill_throughput decode_latency decode_throughput total_latency overall_throughput", "2 × 40 + 6, 2 × 40 + 6, 2 × 40 + 6*, 2 × 40 + 6*",
			"batch2_input40_output6  TP00, batch2_input40_output6  TP01, batch2_input40_output6_2  TP00, batch2_input40_output6_2  TP01",
			"Skip benchmark batch_size=900 > skip_max_running_requests_threshold=64 due to max running requests limit.", "batch2_input40_output6_2\n",
		},
		{
			"offline --model builtin:llama-tiny --tp 2 --max-total-tokens 1024 --dataset-name random --num-prompts 3 --random-input 40 --random-output 6 --profile", exitOK,
			"total_latency request_throughput output_throughput input_throughput total_throughput", "of all requests*", "  TP00,   TP01", "", "GPU time",
		},
	} {
		verb, _, _ := strings.Cut(c.args, " ")
		t.Run(verb, func(t *testing.T) {
			homes(t)
			if status, out, errs := run(t, t.Context(), append([]string{"bench"}, strings.Fields(c.args)...)...); status != c.status || !strings.Contains(errs, "run kept: "+storeRoot(t)) {
				t.Fatalf("status %d\n%s%s", status, out, errs)
			}
			r := lastRun(t)
			m := r.Manifest()
			if r.Status() != runs.Complete || m.Tool != "bench "+verb || m.Model != "builtin:llama-tiny" || m.Args[1] != verb || strings.Join(m.Notes, "|") != c.notes || len(m.Numbers) < 5 {
				t.Errorf("%+v", m)
			}
			batches, err := r.Batches()
			if err != nil {
				t.Fatal(err)
			}
			var sizes, windows []string
			for _, b := range batches {
				var names []string
				for _, f := range b.Figures {
					names = append(names, f.Metric)
					if want := map[string]int{"decode_latency": 5}[f.Metric]; f.Value <= 0 || want > 0 && len(f.Samples) != want {
						t.Errorf("%+v", f)
					}
				}
				if got := strings.Join(names, " "); got != c.figures || len(b.Row) == 0 {
					t.Errorf("figures %s, row %s", got, b.Row)
				}
				size := b.Size()
				if b.Profiled {
					size += "*"
				}
				sizes = append(sizes, size)
			}
			for _, f := range r.Files(runs.KindTrace) {
				windows = append(windows, f.Window+" "+f.Stage+" "+trace.Rank(*f.Rank).String()[:4])
				kept, err := os.Stat(r.Path(f.Path))
				if err != nil || kept.Size() == 0 {
					t.Errorf("%s: %v", f.Path, err)
				}
			}
			if got := strings.Join(sizes, ", "); got != c.batches {
				t.Errorf("batches %s, want %s", got, c.batches)
			}
			if got := strings.Join(windows, ", "); got != c.windows {
				t.Errorf("windows\n%s, want\n%s", got, c.windows)
			}
			var args map[string]any
			if err := r.ReadJSON(runs.KindServerArgs, &args); err != nil || args["model_path"] != "builtin:llama-tiny" {
				t.Errorf("%v: %v", err, args)
			}
			if status, out, errs := run(t, t.Context(), "analyze", "last"); status != exitOK || !strings.Contains(out, c.explains) {
				t.Errorf("analyze: %d\n%s%s", status, out, errs)
			}
			if status, out, errs := run(t, t.Context(), "compare", "last", "last"); status != exitOK || !strings.Contains(out, "batch "+strings.TrimSuffix(sizes[0], "*")+"\n") {
				t.Errorf("compare: %d\n%s%s", status, out, errs)
			}
		})
	}
	// Where the flags say, they are as ever.
	for at, n := range map[string]int{"traces/*.trace.json.gz": 4, "served/*/*-TP-?.trace.json.gz": 4} {
		if files, _ := filepath.Glob(filepath.Join(dir, at)); len(files) != n {
			t.Errorf("%s: %q", at, files)
		}
	}
}

// TestBatchesNotKept: no run is left of what measures nothing, or is not to be kept.
func TestBatchesNotKept(t *testing.T) {
	for _, c := range []struct {
		args   string
		status int
		errs   string
	}{
		{"one-batch --model builtin:llama-tiny --input-len 8 --output-len 2 --no-store", exitOK, ""},
		{"one-batch --model builtin:llama-tiny --correct", exitOK, ""},
		{"one-batch --model builtin:llama-tiny --batch-size 0", exitUsage, "--batch-size 0"},
		{"offline --model builtin:llama-tiny --extra-request-body [", exitUsage, "no JSON object"},
		{"one-batch --model builtin:llama-tiny --run-dir no.txt", exitFailed, "(--run-dir sets the directory, --no-store keeps no run)"},
		{"one-batch-server --base-url http://127.0.0.1:1 --result-filename r.jsonl", exitFailed, "GET http://127.0.0.1:1/server_info: "},
		{"offline --model none --dataset-name random", exitFailed, "none"},
		{"serving --base-url http://127.0.0.1:1 --ready-check-timeout-sec 0", exitFailed, "GET http://127.0.0.1:1/v1/models"},
	} {
		t.Run(c.args, func(t *testing.T) {
			homes(t)
			t.Chdir(t.TempDir())
			if err := os.WriteFile("no.txt", nil, 0o666); err != nil {
				t.Fatal(err)
			}
			status, out, errs := run(t, t.Context(), append([]string{"bench"}, strings.Fields(c.args)...)...)
			if status != c.status || !strings.Contains(errs, c.errs) || strings.Contains(errs, "run kept") {
				t.Errorf("status %d\n%s%s", status, out, errs)
			}
			list, err := runs.List(storeRoot(t))
			if err != nil {
				t.Fatal(err)
			}
			if len(list) > 0 {
				t.Errorf("runs %+v", list)
			}
		})
	}
}
