package cli

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// syncBuffer is stderr of a verb that runs beside the test.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// serving runs a verb that listens, until stop, and tells where.
func serving(t *testing.T, args ...string) (url string, log *syncBuffer, stop func() int) {
	t.Helper()
	log = &syncBuffer{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int, 1)
	go func() {
		e := newEnv(strings.NewReader(""), io.Discard, log)
		done <- e.main(ctx, args)
	}()
	at := regexp.MustCompile(`Listening on (http://\S+)`)
	for range 1200 {
		if m := at.FindStringSubmatch(log.String()); m != nil {
			return m[1], log, func() int { cancel(); return <-done }
		}
		select {
		case status := <-done:
			cancel()
			t.Fatalf("%v ended with %d:\n%s", args, status, log)
		case <-time.After(50 * time.Millisecond):
		}
	}
	cancel()
	t.Fatalf("%v does not listen:\n%s", args, log)
	return "", nil, nil
}

// workersUp waits until a router has so many workers.
func workersUp(t *testing.T, log *syncBuffer, workers int) {
	t.Helper()
	for range 1200 {
		if strings.Count(log.String(), "worker is up") >= workers {
			return
		}
		<-time.After(50 * time.Millisecond)
	}
	t.Fatalf("the router has not found its %d workers within a minute:\n%s", workers, log)
}

func call(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// TestServe is one life of a server: it answers, says what it was started with,
// profiles, logs, and ends in order.
func TestServe(t *testing.T) {
	t.Parallel()
	url, log, stop := serving(t, "launch_server", "--model", "builtin:llama-tiny", "--port", "0", "--tp", "2", "--max_total_tokens", "4096",
		"--enable-metrics", "--decode-log-interval", "4", "--cuda-graph-bs", "1", "4", "--served-model-name", "tiny")
	dir := filepath.Join(t.TempDir(), "traces")
	for _, c := range []struct {
		what, body string
		status     int
		want       string
	}{
		{"GET /health", "", 200, ""},
		{"GET /server_info", "", 200, `"tp_size":2`},
		{"GET /server_info", "", 200, `"cuda_graph_bs":[1,4]`},
		{"GET /v1/models", "", 200, `"id":"tiny"`},
		{"POST /start_profile", `{"output_dir":"` + dir + `","num_steps":5,"profile_id":"w"}`, 200, "Start profiling."},
		{"POST /generate", `{"text":"hello","sampling_params":{"max_new_tokens":8,"ignore_eos":true}}`, 200, `"completion_tokens":8`},
		{"POST /stop_profile", "", 409, "not in progress"}, // five steps are over
		{"GET /metrics", "", 200, `sglang:generation_tokens_total{model_name="tiny"`},
		{"POST /generate", `{"text":7}`, 400, "text"},
	} {
		method, path, _ := strings.Cut(c.what, " ")
		status, text := call(t, method, url+path, c.body)
		if status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s %s: %d %s, want %d with %q", c.what, c.body, status, text, c.status, c.want)
		}
	}
	if status := stop(); status != exitOK {
		t.Errorf("ended with %d", status)
	}
	// Closing waits for the files.
	if files, _ := filepath.Glob(filepath.Join(dir, "w-TP-?.trace.json.gz")); len(files) != 2 {
		t.Errorf("files %q", files)
	}
	for _, want := range []string{
		`\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d TP0\] Prefill batch, #new-seq: 1, #new-token: 6,`,
		`\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d TP0\] Decode batch, #running-req: 1, .*cuda graph: True, gen throughput`,
		`\[[^]]*\] Profiling done. Traces are saved to: `,
	} {
		if !regexp.MustCompile(want).MatchString(log.String()) {
			t.Errorf("the log lacks %s:\n%s", want, log)
		}
	}
}
