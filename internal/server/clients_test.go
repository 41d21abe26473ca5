package server_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/server"
	"github.com/stepscope/stepscope/internal/server/fakeengine"
)

// TestSGLangClients runs SGLang's own Python programs, unmodified, against the
// server. It wants a Python with sglang from PyPI, its GPU parts replaced by the
// shells in testdata/sglang; see there for how to make one.
func TestSGLangClients(t *testing.T) {
	python := os.Getenv("STEPSCOPE_SGLANG_PYTHON")
	if python == "" {
		t.Skip("set STEPSCOPE_SGLANG_PYTHON to a Python that has sglang")
	}
	stubs, err := filepath.Abs("testdata/sglang")
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, "", fakeengine.Options{Pace: time.Millisecond}, server.Options{EnableMetrics: true, NewID: newTestID(), Now: time.Now})
	dir := t.TempDir()
	tokenizer := filepath.Join(dir, "tokenizer")
	run := func(t *testing.T, args ...string) string {
		t.Helper()
		cmd := exec.Command(python, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PYTHONPATH="+stubs+string(os.PathListSeparator)+os.Getenv("PYTHONPATH"), "SGLANG_TORCH_PROFILER_DIR="+filepath.Join(dir, "traces"), "HF_HUB_OFFLINE=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run(t, filepath.Join(stubs, "make_tokenizer.py"), tokenizer)

	_, port, _ := strings.Cut(strings.TrimPrefix(r.url, "http://"), ":")
	bench := []string{"-m", "sglang.bench_serving", "--host", "127.0.0.1", "--port", port, "--model", "fake/model", "--tokenizer", tokenizer,
		"--dataset-name", "random-ids", "--num-prompts", "8", "--random-input-len", "32", "--random-output-len", "16", "--disable-tqdm"}
	for _, c := range []struct {
		name  string
		args  []string
		wants []string
	}{
		{"native", []string{"--backend", "sglang", "--flush-cache"}, nil},
		{"native without stream", []string{"--backend", "sglang", "--disable-stream", "--return-logprob", "--top-logprobs-num", "2"}, nil},
		{"token ids", []string{"--backend", "sglang", "--tokenize-prompt"}, nil},
		{"completions", []string{"--backend", "sglang-oai"}, nil},
		{"chat", []string{"--backend", "sglang-oai-chat", "--cache-report"}, []string{"Total cached tokens:"}},
		{"profile", []string{"--backend", "sglang", "--profile", "--profile-num-steps", "3"}, []string{"Profiler started"}},
		{"profile by stage", []string{"--backend", "sglang", "--profile", "--profile-by-stage"}, []string{"Profiler started"}},
	} {
		t.Run("bench_serving "+c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "out.jsonl")
			out := run(t, append(append(bench[:len(bench):len(bench)], "--output-file", file), c.args...)...)
			for _, want := range append(c.wants, "Serving Benchmark Result") {
				if !strings.Contains(out, want) {
					t.Errorf("output lacks %q:\n%s", want, out)
				}
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var rec struct {
				Completed   int     `json:"completed"`
				OutputTotal int     `json:"total_output_tokens"`
				TTFT        float64 `json:"mean_ttft_ms"`
			}
			// Python writes an infinite rate as no JSON parser wants it.
			if err := json.Unmarshal(bytes.ReplaceAll(text, []byte("Infinity"), []byte("null")), &rec); err != nil {
				t.Fatalf("%v in %s", err, text)
			}
			if rec.Completed != 8 || rec.OutputTotal < 8 || rec.TTFT <= 0 {
				t.Errorf("got %+v\n%s", rec, out)
			}
		})
	}
	t.Run("profiler", func(t *testing.T) {
		run(t, "-m", "sglang.profiler", "--url", r.url, "--num-steps", "2", "--output-dir", filepath.Join(dir, "p"))
		reqs, _ := r.engine.Profiles()
		last := reqs[len(reqs)-1]
		if last.NumSteps != 2 || !strings.HasPrefix(last.OutputDir, filepath.Join(dir, "p")) {
			t.Errorf("got %+v", last)
		}
		if _, err := os.Stat(filepath.Join(last.OutputDir, "server_args.json")); err != nil {
			t.Error(err)
		}
		r.call("POST /stop_profile", "")
	})
	for name, args := range map[string][]string{
		"plain":   {"--max-new-tokens", "8"},
		"stream":  {"--max-new-tokens", "8", "--stream"},
		"batch":   {"--max-new-tokens", "8", "--batch-size", "3", "--different-prompts"},
		"profile": {"--max-new-tokens", "8", "--profile", "--profile-steps", "3"},
		"stop":    {"--max-new-tokens", "64", "--stop", "a", "the", "--return-logprob"},
	} {
		t.Run("send_one "+name, func(t *testing.T) {
			out := run(t, append([]string{"-m", "sglang.test.send_one", "--host", "127.0.0.1", "--port", port}, args...)...)
			if !strings.Contains(out, "Speed (token/s)") {
				t.Errorf("no table in:\n%s", out)
			}
		})
	}
}
