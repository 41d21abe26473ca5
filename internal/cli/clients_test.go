package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSGLangClients runs SGLang's own Python programs, unmodified, against serve
// as a process. It wants a Python with sglang from PyPI; what that imports of a
// GPU's software is replaced by empty shells. testdata/sglang says how to make
// one.
func TestSGLangClients(t *testing.T) {
	wantSGLang(t)
	t.Parallel()
	t.Run("one rank", func(t *testing.T) {
		s := startServe(t, "--model-path", "builtin:llama-tiny", "--enable-metrics")
		for _, c := range []struct {
			name  string
			args  []string
			steps map[string]int // of each trace, if it profiles; 0: one or more
		}{
			// Neither --model nor --tokenizer: the server names both.
			{"native, profile", []string{"--backend", "sglang", "--flush-cache", "--profile", "--profile-num-steps", "3"}, map[string]int{"TP00": 3}},
			{"token ids, profile by stage", []string{"--backend", "sglang", "--tokenize-prompt", "--profile", "--profile-by-stage"},
				map[string]int{"TP00 EXTEND": 0, "TP00 DECODE": 5}},
			{"without stream", []string{"--backend", "sglang", "--disable-stream", "--return-logprob", "--top-logprobs-num", "2"}, nil},
		} {
			t.Run("bench_serving "+c.name, func(t *testing.T) {
				traces := t.TempDir()
				s.bench(t, traces, c.args...)
				s.profiled(t, traces, c.steps)
			})
		}
		t.Run("profiler", func(t *testing.T) {
			traces := t.TempDir()
			s.client(t, "", "sglang.profiler", "--url", s.url, "--num-steps", "2", "--output-dir", traces)
			s.sendOne(t, "", "--max-new-tokens", "8", "--stream")
			s.profiled(t, traces, map[string]int{"TP00": 2})
		})
		for _, c := range []struct {
			name  string
			args  []string
			steps map[string]int
		}{
			{"batch", []string{"--max-new-tokens", "8", "--batch-size", "3", "--different-prompts"}, nil},
			{"profile", []string{"--max-new-tokens", "8", "--profile", "--profile-steps", "3"}, map[string]int{"TP00": 3}},
			{"stop", []string{"--max-new-tokens", "64", "--stop", "a", "e", "--return-logprob"}, nil},
		} {
			t.Run("send_one "+c.name, func(t *testing.T) {
				traces := t.TempDir()
				s.sendOne(t, traces, c.args...)
				s.profiled(t, traces, c.steps)
			})
		}
	})
	t.Run("completions of two ranks", func(t *testing.T) {
		s := startServe(t, "--model-path", "builtin:qwen3-moe-tiny", "--tp-size", "2")
		traces := t.TempDir()
		s.bench(t, traces, "--backend", "sglang-oai", "--model", "builtin:qwen3-moe-tiny", "--profile", "--profile-num-steps", "3")
		s.profiled(t, traces, map[string]int{"TP00": 3, "TP01": 3})
	})
	t.Run("chat with a key", func(t *testing.T) {
		s := startServe(t, "--model-path", "builtin:llama-tiny", "--api-key", "secret")
		resp, err := http.Get(s.url + "/model_info")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("without the key: %s, want 401", resp.Status)
		}
		s.key = "secret"
		if out := s.bench(t, "", "--backend", "sglang-oai-chat", "--cache-report"); !strings.Contains(out, "Total cached tokens:") {
			t.Errorf("no cached tokens in:\n%s", out)
		}
	})
}

// wantSGLang skips a test where there are no programs of SGLang.
func wantSGLang(t *testing.T) {
	t.Helper()
	if os.Getenv("STEPSCOPE_SGLANG_PYTHON") == "" {
		t.Skip("set STEPSCOPE_SGLANG_PYTHON to a Python that has sglang")
	}
}

// served is a running "stepscope serve", and what SGLang's programs know of it.
type served struct {
	url, key string
}

// startServe starts serve on a free port. At the end of the test it must end on
// SIGTERM with status 0.
func startServe(t *testing.T, args ...string) *served {
	t.Helper()
	return startVerb(t, append([]string{"serve", "--port", "0"}, args...)...)
}

// startVerb is startServe for any verb that listens.
func startVerb(t *testing.T, args ...string) *served {
	t.Helper()
	cmd := exec.Command("stepscope", args...)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir())
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder // the goroutine's until it has ended
	url, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			fmt.Fprintln(&log, lines.Text())
			if _, at, ok := strings.Cut(lines.Text(), "Listening on "); ok {
				url <- at
			}
		}
	}()
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
		defer kill.Stop()
		<-ended
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s ended with %v", args[0], err)
		}
		if t.Failed() {
			t.Logf("%s wrote:\n%s", strings.Join(args, " "), &log)
		}
	})
	s := &served{}
	select {
	case s.url = <-url:
	case <-ended:
		t.Fatalf("%s ended before it listened", args[0])
	}
	// A router listens before it has found its workers.
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		resp, err := http.Get(s.url + "/health")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return s
		}
		if args[0] != "launch_router" || time.Now().After(end) {
			t.Fatalf("/health: %s", resp.Status)
		}
	}
}

// client runs one of SGLang's programs and returns what it printed. Its profiles
// go below traces.
func (s *served) client(t *testing.T, traces string, args ...string) string {
	t.Helper()
	env := map[string]string{"SGLANG_TORCH_PROFILER_DIR": traces}
	if s.key != "" {
		env["OPENAI_API_KEY"] = s.key
	}
	out, err := pythonModule(3*time.Minute, t.TempDir(), env, args...)
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

// bench runs bench_serving with eight prompts. All must be answered, in the
// length asked for.
func (s *served) bench(t *testing.T, traces string, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "out.jsonl")
	out := s.client(t, traces, append([]string{"sglang.bench_serving", "--base-url", s.url, "--dataset-name", "random-ids", "--num-prompts", "8",
		"--random-input-len", "32", "--random-output-len", "16", "--disable-tqdm", "--output-file", file}, args...)...)
	asked := regexp.MustCompile(`#Output tokens: (\d+)`).FindStringSubmatch(out)
	text, err := os.ReadFile(file)
	if err != nil || asked == nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got struct {
		Completed int     `json:"completed"`
		Output    int     `json:"total_output_tokens"`
		TTFT      float64 `json:"mean_ttft_ms"` // 0 if no text came
	}
	// Python writes an infinite rate as no JSON parser wants it.
	if err := json.Unmarshal(bytes.ReplaceAll(text, []byte("Infinity"), []byte("null")), &got); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if got.Completed != 8 || fmt.Sprint(got.Output) != asked[1] || got.TTFT <= 0 {
		t.Errorf("got %+v, want 8 completed with %s output tokens\n%s", got, asked[1], out)
	}
	return out
}

func (s *served) sendOne(t *testing.T, traces string, args ...string) {
	t.Helper()
	out := s.client(t, traces, append([]string{"sglang.test.send_one", "--base-url", s.url}, args...)...)
	if !strings.Contains(out, "Speed (token/s)") {
		t.Errorf("no table in:\n%s", out)
	}
}

// profiled checks that one profile lies below dir, with a whole trace of so many
// steps for each label. The clients do not wait for the files.
func (s *served) profiled(t *testing.T, dir string, steps map[string]int) {
	t.Helper()
	if steps == nil {
		return
	}
	pattern := filepath.Join(dir, "*", "*.trace.json.gz")
	files, _ := filepath.Glob(pattern)
	for end := time.Now().Add(time.Minute); len(files) < len(steps); files, _ = filepath.Glob(pattern) {
		if time.Now().After(end) {
			t.Fatalf("after a minute there are %d traces %s, want %d", len(files), pattern, len(steps))
		}
		time.Sleep(20 * time.Millisecond)
	}
	text, err := exec.Command("stepscope", "trace", "check", "--json", filepath.Dir(files[0])).Output()
	if err != nil {
		t.Fatalf("trace check: %v\n%s", err, text)
	}
	var report struct {
		Files []struct {
			Label    string
			Complete bool
			Odd      []any
			Steps    map[string]int
		}
	}
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	got := map[string]int{}
	for _, f := range report.Files {
		for _, n := range f.Steps {
			got[f.Label] += n
		}
		if want, ok := steps[f.Label]; ok && want == 0 && got[f.Label] > 0 {
			got[f.Label] = 0
		}
		if !f.Complete || len(f.Odd) > 0 {
			t.Errorf("%s is not whole, or odd", f.Label)
		}
	}
	if !maps.Equal(got, steps) {
		t.Errorf("steps %v, want %v; trace check says\n%s", got, steps, text)
	}
}
