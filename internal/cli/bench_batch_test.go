package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/trace"
)

// keysOf are the keys of each line of a file of JSON, in their order.
func keysOf(t *testing.T, path string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var keys []string
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.Token() // {
		for dec.More() {
			key, _ := dec.Token()
			keys = append(keys, fmt.Sprint(key))
			var value any
			if err := dec.Decode(&value); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		lines = append(lines, strings.Join(keys, " "))
	}
	return lines
}

var measured = regexp.MustCompile(`-?\d+\.\d+ *`)

// shape is a text without its figures.
func shape(s string) string { return measured.ReplaceAllString(s, "N ") }

const (
	oneBatchKeys = "run_name batch_size input_len output_len prefill_latency prefill_throughput median_decode_latency median_decode_throughput total_latency overall_throughput"
	servedKeys   = "run_name batch_size input_len output_len latency input_throughput output_throughput overall_throughput last_ttft last_gen_throughput acc_length total_output_tokens num_early_stopped steady_state_output_throughput steady_state_window_s cache_hit_rate"
	offlineKeys  = "backend successful_requests total_latency total_input_tokens total_output_tokens request_throughput input_throughput output_throughput total_throughput last_gen_throughput"
)

// TestOneBatch: several batches, one of them too large, with traces of rank 0.
func TestOneBatch(t *testing.T) {
	homes(t)
	dir := t.TempDir()
	t.Setenv("SGLANG_TORCH_PROFILER_DIR", filepath.Join(dir, "traces"))
	results := filepath.Join(dir, "r.jsonl")
	status, out, errs := run(t, t.Context(), "bench", "bench_one_batch", "--model", "builtin:llama-tiny", "--tp", "2", "--max_total_tokens", "1024",
		"--batch-size", "1", "3", "--input-len", "32", "500", "--output-len", "4", "--result-filename", results, "--run-name", "x",
		"--profile", "--profile-prefix", "mine", "--profile-steps", "2", "--profile-start-step", "1", "--trust-remote-code")
	if status != exitIncomplete {
		t.Errorf("status %d, want %d: a batch was skipped\n%s", status, exitIncomplete, errs)
	}
	for _, want := range []string{
		"max_total_num_tokens=1024\n", "\nskipping (3, 500, 4) due to max batch size limit\n", "\nWarmup ...\nPrefill. latency: ", "\nBenchmark ...\n",
		"\nDecode 2. Batch size: 3, latency: ", "\nDecode.  median latency: ", "  Self CUDA %  ", "ncclDevKernel_AllReduce",
		"\ntorch profiler chrome trace for decode saved to " + filepath.Join(dir, "traces", "mine_batch3_input32_output4_decode.trace.json.gz") + "\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not printed:\n%s", want, out)
		}
	}
	keys := keysOf(t, results)
	if len(keys) != 3 || keys[0] != oneBatchKeys || keys[2] != oneBatchKeys {
		t.Errorf("rows %q", keys)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "traces", "*"))
	if len(files) != 6 {
		t.Errorf("files %q", files)
	}
	status, out, errs = run(t, t.Context(), "analyze", filepath.Join(dir, "traces", "mine_batch3_input32_output4_decode.trace.json.gz"))
	if status != exitIncomplete || !strings.Contains(out, "1 rank · 2 decode steps") { // rank 1 has no file
		t.Errorf("analyze: %d\n%s%s", status, out, errs)
	}
}

// TestOneBatchCorrect: the check passes, on prompts of a file too.
func TestOneBatchCorrect(t *testing.T) {
	homes(t)
	file := filepath.Join(t.TempDir(), "prompts.txt")
	if err := os.WriteFile(file, []byte("A first prompt that is long enough\n\nand another one of them\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"--correct", "agree on 16 tokens of each of 3 prompts"},
		{"--correctness-test --cut-len 20 --output-len 5 --batch-size 2 --prompt-filename " + file, "agree on 5 tokens of each of 2 prompts"},
	} {
		args := append([]string{"bench", "one-batch", "--model", "builtin:qwen3-moe-tiny", "--tp", "2"}, strings.Fields(c.args)...)
		status, out, errs := run(t, t.Context(), args...)
		if status != exitOK || !strings.Contains(out, c.want) || !strings.Contains(out, "========== Prompt 1 ==========\n") {
			t.Errorf("%s: %d\n%s%s", c.args, status, out, errs)
		}
	}
}

// TestBatchServer: a server in the process; what is recorded is not among the
// results.
func TestBatchServer(t *testing.T) {
	homes(t)
	dir := t.TempDir()
	results := filepath.Join(dir, "r.jsonl")
	flags := []string{"--batch-size", "2", "70", "--input-len", "130", "--output-len", "6", "--result-filename", results}
	status, out, errs := run(t, t.Context(), append([]string{"bench", "one-batch-server", "--model", "builtin:llama-tiny", "--tp", "2", "--max-total-tokens", "16384",
		"--profile", "--profile-steps", "3", "--profile-output-dir", filepath.Join(dir, "traces"), "--profile-prefix", "p-", "--show-report", "--cache-hit-rate", "0.5",
		"--pydantic-result-filename", filepath.Join(dir, "p.json")}, flags...)...)
	if status != exitOK {
		t.Fatalf("status %d\n%s%s", status, out, errs)
	}
	for _, want := range []string{
		"skip_max_running_requests_threshold=70\nskip_token_capacity_threshold=16384\n======== Warmup Begin ========\nWarmup with batch_size=[2, 70]\n",
		"batch size: 70\ninput_len: 130\noutput_len: 6\nlatency: ", "cache hit rate: 0.4923\n", // 64 of 130
		"\nDump profiling traces to " + filepath.Join(dir, "traces"), "\n2 traces in ", "\nResults are saved to " + results + "\n", "| batch size | input len | latency (s) |",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not printed:\n%s", want, out)
		}
	}
	if keys := keysOf(t, results); len(keys) != 2 || keys[0] != servedKeys {
		t.Errorf("rows %q", keys)
	}
	for _, name := range []string{"p-bs-2-il-130", "p-bs-70-il-130"} {
		files, _ := filepath.Glob(filepath.Join(dir, "traces", "*", name+"-*-TP-?.trace.json.gz"))
		if len(files) != 2 {
			t.Fatalf("files of %s: %q", name, files)
		}
		_, out, errs := run(t, t.Context(), "trace", "check", files[0])
		steps := 0
		for _, m := range regexp.MustCompile(`(\d+) (?:decode|prefill)`).FindAllStringSubmatch(out, -1) {
			n, _ := strconv.Atoi(m[1])
			steps += n
		}
		if steps != 3 {
			t.Errorf("%s: %d steps\n%s%s", name, steps, out, errs)
		}
		// What its steps took in the pass that was not recorded.
		var ref trace.Reference
		text, err := os.ReadFile(filepath.Join(filepath.Dir(files[0]), trace.ReferenceFile))
		if err == nil {
			err = json.Unmarshal(text, &ref)
		}
		if err != nil || len(ref.Paces) != 1 || !strings.Contains(name, fmt.Sprintf("-bs-%d-", ref.Batch)) {
			t.Errorf("%s: %+v, %v", name, ref, err)
		}
	}
	var list []map[string]any
	text, _ := os.ReadFile(filepath.Join(dir, "p.json"))
	if err := json.Unmarshal(text, &list); err != nil || len(list) != 2 || list[1]["model_path"] != "builtin:llama-tiny" || list[1]["batch_size"] != 70.0 {
		t.Errorf("%s: %v", text, err)
	}

	// The same against a server that runs. It has no metrics and runs 64 at once.
	url, _, stop := serving(t, "serve", "--model", "builtin:llama-tiny", "--port", "0", "--max-total-tokens", "16384")
	defer stop()
	status, out, errs = run(t, t.Context(), append([]string{"bench", "one-batch-server", "--base-url", url, "--dataset-name", "random-ids", "--skip-warmup"}, flags...)...)
	if status != exitIncomplete || !strings.Contains(out, "Skip benchmark batch_size=70 > skip_max_running_requests_threshold=64") || strings.Contains(out, "cache hit rate") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
	if keys := keysOf(t, results); len(keys) != 3 {
		t.Errorf("rows %q", keys)
	}

	// Prompts of several lengths, sequences that may end, and a batch that has to wait for room.
	status, out, errs = run(t, t.Context(), "bench", "one-batch-server", "--base-url", url, "--skip-warmup", "--batch-size", "3", "--input-len-list", "20,301",
		"--output-len", "6", "--disable-ignore-eos", "--result-filename", results)
	if status != exitOK || !strings.Contains(out, "input_len: 113\n") || !strings.Contains(out, "total output tokens: ") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
	for flag, want := range map[string]string{"": "due to kv cache limit", "--skip-token-capacity-check": "skip_token_capacity_threshold=inf\n"} {
		args := []string{"bench", "one-batch-server", "--base-url", url, "--skip-warmup", "--batch-size", "3", "--input-len", "6000", "--output-len", "2", "--result-filename", results}
		if status, out, errs = run(t, t.Context(), append(args, strings.Fields(flag)...)...); (status == exitOK) != (flag != "") || !strings.Contains(out, want) {
			t.Errorf("%s: status %d\n%s%s", flag, status, out, errs)
		}
	}
	status, _, errs = run(t, t.Context(), "bench", "one-batch-server", "--base-url", url, "--skip-warmup", "--flush-hicache-storage", "--input-len", "8", "--result-filename", results)
	if status != exitFailed || !strings.Contains(errs, "/hicache/storage-backend/clear: 400 Bad Request: ") || strings.Count(errs, "\n") != 2 { // and one of what prompts are made of
		t.Errorf("status %d\n%s", status, errs)
	}
}

const offlineTable = `
====== Offline Throughput Benchmark Result =======
Backend:                                 BACKEND
Successful requests:                     6         
Benchmark duration (s):                  N 
Total input tokens:                      TOKENS        
Total generated tokens:                  24        
Last generation throughput (tok/s):      N 
Request throughput (req/s):              N 
Input token throughput (tok/s):          N 
Output token throughput (tok/s):         N 
Total token throughput (tok/s):          N 
==================================================
`

// TestOffline: data sets, backends, and a profile whose files are whole.
func TestOffline(t *testing.T) {
	homes(t)
	dir := t.TempDir()
	results := filepath.Join(dir, "r.jsonl")
	sharegpt := filepath.Join(dir, "sharegpt.json")
	turn := `{"conversations":[{"value":"What is a river made of, would you say?"},{"value":"Water, as a rule."}]}`
	if err := os.WriteFile(sharegpt, []byte("["+strings.Repeat(turn+",", 5)+turn+"]"), 0o600); err != nil {
		t.Fatal(err)
	}
	model := []string{"bench", "offline", "--model", "builtin:llama-tiny", "--tp", "2", "--max-total-tokens", "8192", "--result-filename", results}
	for _, c := range []struct{ args, backend string }{
		{"--dataset-name random --num-prompts 6 --random-input 40 --random-output 4 --random-range-ratio 1", "engine"},
		{"--dataset-name random --num-prompts 6 --random-input 40 --random-output 4 --random-range-ratio 1 --backend runtime", "runtime"},
		{"--dataset-path " + sharegpt + " --num-prompts 6 --sharegpt-output-len 4 --skip-warmup", "engine"},
		{"--dataset-name generated-shared-prefix --gsp-num-groups 2 --gsp-prompts-per-group 3 --gsp-system-prompt-len 100 --gsp-question-len 20 --gsp-output-len 4", "engine"},
		{`--dataset-name random --num-prompts 6 --random-input 40 --random-output 9 --extra-request-body {"max_new_tokens":4,"top_k":5,"temperature":1} --return-logprob`, "engine"},
	} {
		status, out, errs := run(t, t.Context(), append(model, strings.Fields(c.args)...)...)
		want := strings.Replace(offlineTable, "BACKEND", fmt.Sprintf("%-10s", c.backend), 1)
		got := regexp.MustCompile(`(input tokens:  +)\d+ *`).ReplaceAllString(shape(out), "${1}TOKENS        ")
		if status != exitOK || got != want {
			t.Errorf("%s: %d\n%s\nwant\n%s\n%s", c.args, status, got, want, errs)
		}
	}
	keys := keysOf(t, results)
	if len(keys) != 5 || keys[0] != offlineKeys || keys[1] != offlineKeys {
		t.Errorf("rows %q", keys)
	}

	traces := filepath.Join(dir, "traces")
	t.Setenv("SGLANG_TORCH_PROFILER_DIR", traces)
	status, out, errs := run(t, t.Context(), append(model, "--dataset-name", "random", "--num-prompts", "3", "--random-input", "40", "--random-output", "4", "--random-range-ratio", "1", "--profile")...)
	files, _ := filepath.Glob(filepath.Join(traces, "*-TP-?.trace.json.gz"))
	if status != exitOK || len(files) != 2 || !strings.Contains(out, "Monitoring "+traces+" for new trace files...\nNew file detected: "+filepath.Base(files[0])+"\n") {
		t.Fatalf("status %d, files %q\n%s%s", status, files, out, errs)
	}
	if status, out, errs := run(t, t.Context(), "trace", "check", traces); status != exitOK {
		t.Errorf("trace check: %d\n%s%s", status, out, errs)
	}

	// Requests that do not fit are counted, and the others measured.
	status, out, errs = run(t, t.Context(), append(model, "--dataset-name", "random", "--num-prompts", "20", "--random-input", "90", "--random-output", "40", "--context-length", "100", "--skip-warmup")...)
	if status != exitIncomplete || !strings.Contains(errs, "requests failed: too long for the model") || !strings.Contains(out, "Successful requests:") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
}

// TestBatchesWrong: one line each, before anything is loaded.
func TestBatchesWrong(t *testing.T) {
	t.Setenv("HF_HUB_CACHE", t.TempDir()) // where ShareGPT may be
	homes(t)
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("SGLANG_TORCH_PROFILER_DIR", "")
	const one, srv, off = "one-batch --model builtin:llama-tiny ", "one-batch-server --model builtin:llama-tiny ", "offline --model builtin:llama-tiny "
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"one-batch", exitUsage, "missing flags: --model-path="},
		{one + "--batch-size 0", exitUsage, "--batch-size 0: give 1 or more"},
		{one + "--dp 2", exitUsage, "--dp-size 2: one batch runs on one replica"},
		{one + "--profile --profile-activities CUDA_PROFILER", exitUsage, "--profile-activities CUDA_PROFILER: the embedded engine records CPU and GPU"},
		{one + "--profile-stage both", exitUsage, "--profile-stage must be one of"},
		{one + "--profile-steps 0", exitUsage, "--profile-steps 0: give 1 or more"},
		{one + "--profile-prefix a/b", exitUsage, "it is part of a file name"},
		{one + "--prompt-filename none.txt", exitFailed, "--prompt-filename: open none.txt: no such file"},
		{one + "--result-filename no/dir.jsonl", exitFailed, "--result-filename: open no/dir.jsonl: no such file"},
		{one + "--max-total-tokens 64 --input-len 100", exitFailed, "no batch fits"},
		{one + "--correct --cut-len 100", exitFailed, "--cut-len 100 must be less"},
		{one + "--correct --skip-tokenizer-init", exitFailed, "prompts need a tokenizer"},
		{"one-batch --model none", exitFailed, "none"},
		{"one-batch-server", exitUsage, "missing flags: --model-path="},
		{"one-batch-server --base-url nowhere", exitUsage, `"nowhere" is not the URL of a server`},
		{"one-batch-server --base-url http://127.0.0.1:1", exitFailed, "GET http://127.0.0.1:1/server_info: "},
		{srv + "--backend vllm", exitUsage, "give the server with --url"},
		{srv + "--cache-hit-rate 1.5", exitUsage, "--cache-hit-rate 1.5: give 0 to 1"},
		{srv + "--apply-chat-template", exitUsage, "needs --fixed-prompt-file"},
		{srv + "--dataset-name sharegpt", exitUsage, "--dataset-name must be one of"},
		{srv + "--input-len-list 10,20 --input-len 5 6", exitUsage, "--input-len-list sets the lengths"},
		{srv + "--input-len-list 10,0", exitUsage, "--input-len-list 0: give 1 or more"},
		{srv + "--input-len-list 10,x", exitUsage, "--input-len-list"},
		{srv + "--disable-ignore-eos --fake-prefill", exitUsage, "--disable-ignore-eos and --fake-prefill: each sequence's tokens are counted as they come"},
		{srv + "--flush-hicache-storage", exitUsage, "needs --url: an SGLang server with such a cache"},
		{srv + "--profile-by-stage --profile-start-step 5", exitUsage, "a window by stage cannot have a start step"},
		{srv + "--profile-activities NOTHING", exitUsage, `activity "NOTHING"`},
		{srv + "--max-running-requests 2 --batch-size 3", exitFailed, "no batch fits the server"},
		{srv + "--lora-name a --batch-size 1 --input-len 8 --output-len 2", exitFailed, "lora_path"},
		{off, exitFailed, "--dataset-path is not set: give ShareGPT_V3_unfiltered_cleaned_split.json"},
		{off + "--profile", exitUsage, "set SGLANG_TORCH_PROFILER_DIR"},
		{off + "--profile-steps 3", exitUsage, "--profile-steps is a flag of SGLang's client that is missing here: the whole run is recorded"},
		{off + "--extra-request-body [", exitUsage, "--extra-request-body: no JSON object"},
		{off + `--dataset-name random --num-prompts 2 --extra-request-body {"stop":"x"}`, exitFailed, "use --backend runtime"},
		{off + `--dataset-name random --num-prompts 2 --extra-request-body {"top_p":7}`, exitFailed, "top_p"},
		{off + "--dataset-name random --num-prompts 2 --random-input 9000 --random-range-ratio 1 --skip-warmup", exitFailed, "no request succeeded: too long"},
		{off + "--dataset-name image", exitUsage, "more than text prompts"},
	} {
		t.Run(c.args, func(t *testing.T) {
			status, _, errs := run(t, t.Context(), append([]string{"bench"}, strings.Fields(c.args)...)...)
			if status != c.status || !strings.Contains(errs, c.want) {
				t.Errorf("status %d, want %d\n%swant %q", status, c.status, errs, c.want)
			}
		})
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) > 0 {
		t.Errorf("left behind: %q", files)
	}
}

// stopAt is an output that ends ctx when a text has been written to it.
type stopAt struct {
	syncBuffer
	text string
	stop func()
}

func (s *stopAt) Write(p []byte) (int, error) {
	n, err := s.syncBuffer.Write(p)
	if strings.Contains(s.String(), s.text) {
		s.stop()
	}
	return n, err
}

// TestBatchesInterrupted: what was measured is told and kept, and the status says
// why it ended.
func TestBatchesInterrupted(t *testing.T) {
	for _, c := range []struct {
		args string
		at   string // interrupt when this is printed
		want string // is printed after it
		rows int
	}{
		{"one-batch --batch-size 1 2 --input-len 64 --output-len 1000", "Decode 3. Batch size: 2", "\nInterrupted after ", 1},
		{"one-batch-server --batch-size 1 2 --input-len 64 --output-len 200 --skip-warmup", "last generation", "\nResults are saved to ", 1},
		{"offline --dataset-name random --num-prompts 50 --random-input 64 --random-output 2000 --skip-warmup", "Benchmark...", "", 0},
	} {
		t.Run(c.args, func(t *testing.T) {
			homes(t)
			results := filepath.Join(t.TempDir(), "r.jsonl")
			ctx, cancel := context.WithCancel(t.Context())
			out := &stopAt{text: c.at, stop: cancel}
			e := newEnv(strings.NewReader(""), out, out)
			args := append(append([]string{"bench"}, strings.Fields(c.args)...), "--model", "builtin:llama-tiny", "--result-filename", results)
			if status := e.main(ctx, args); status != exitInterrupted || !strings.Contains(out.String(), c.want) || !strings.HasSuffix(out.String(), "stepscope: interrupted\n") {
				t.Errorf("status %d\n%s", status, out)
			}
			if c.rows == 0 {
				if list, err := runs.List(storeRoot(t)); err != nil || len(list) > 0 {
					t.Errorf("a run is left that has nothing: %+v, %v", list, err)
				}
				if _, err := os.Stat(results); err == nil {
					t.Error("a file of results is left that has none")
				}
				return
			}
			last := lastRun(t)
			if kept, _ := last.Batches(); last.Status() != runs.Interrupted || len(kept) != c.rows {
				t.Errorf("the run is %s, and has %d batches", last.Status(), len(kept))
			}
			if keys := keysOf(t, results); len(keys) != c.rows {
				t.Errorf("rows %q", keys)
			}
		})
	}
}
