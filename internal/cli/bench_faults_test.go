package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
)

const (
	faultHead  = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
	faultToken = `data: {"text":"a","meta_info":{"id":"r","prompt_tokens":1,"completion_tokens":%d,"finish_reason":%s}}` + "\n\n"
	faultDone  = "data: [DONE]\n\n"
)

// faulty is a server that answers each second request to /generate with the very
// bytes of reply and then closes, or all of them; the others get three tokens. An
// empty reply closes at once.
func faulty(t *testing.T, reply string, all bool) (url string) {
	t.Helper()
	whole := faultHead + fmt.Sprintf(faultToken, 1, "null") + fmt.Sprintf(faultToken, 2, "null") + fmt.Sprintf(faultToken, 3, `{"type":"length","length":3}`) + faultDone
	var n atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/models", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"object":"list","data":[{"id":"m","object":"model"}]}`)
	})
	mux.HandleFunc("/generate", func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		if !all && n.Add(1)%2 == 0 {
			io.WriteString(conn, whole)
			return
		}
		io.WriteString(conn, reply)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// benchFaulty sends six requests.
func benchFaulty(t *testing.T, ctx context.Context, url string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	plan := filepath.Join(t.TempDir(), "plan.jsonl")
	if err := os.WriteFile(plan, []byte(strings.Repeat(`{"prompt":"a","prompt_len":1,"output_len":3}`+"\n", 6)), 0o666); err != nil {
		t.Fatal(err)
	}
	return run(t, ctx, append([]string{"bench", "serving", "--url", url, "--dataset-name", "plan", "--dataset-path", plan, "--num-prompts", "6",
		"--warmup-requests", "0", "--disable-tqdm", "--no-store", "--output-file", filepath.Join(t.TempDir(), "out.jsonl")}, args...)...)
}

// failureLine is the line of a reason in the table of failures: how many, and one
// of them in words.
func failureLine(out, reason string) (count, example string) {
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(reason) + ` +(\d+) +(.*)$`).FindStringSubmatch(out)
	if m == nil {
		return "", ""
	}
	return m[1], strings.TrimSpace(m[2])
}

// TestBenchServingFaults: whatever a server does wrong, the benchmark ends, counts
// it under a name, and says so by its status: 3 if some requests succeeded, 1 if
// none did.
func TestBenchServingFaults(t *testing.T) {
	t.Parallel()
	one := faultHead + fmt.Sprintf(faultToken, 1, "null")
	chunk := func(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }
	for _, c := range []struct{ name, reply, reason, example string }{
		{"500", "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 4\r\n\r\nboom", "http_500", "500 Internal Server Error: boom"},
		{"401", "HTTP/1.1 401 Unauthorized\r\nContent-Length: 34\r\n\r\n" + `{"error":{"message":"no API key"}}`, "http_401", "401 Unauthorized: no API key"},
		{"half an event", one + `data: {"text":"ab","meta_in`, "cut", "the stream ended inside an event"},
		{"closes mid-stream", strings.Replace(faultHead, "Connection: close", "Transfer-Encoding: chunked", 1) + chunk(fmt.Sprintf(faultToken, 1, "null")), "cut", "the connection ended in the middle of the stream"},
		{"[DONE] early", one + faultDone, "cut", "the stream ended without a finish reason"},
		{"an empty stream", faultHead + faultDone, "empty", "the stream had no token"},
		{"an empty body", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "malformed", "the reply is neither an event stream nor a JSON object"},
		{"no reply", "", "reset", "the server closed the connection without a reply"},
		{"no HTTP", "SSH-2.0-OpenSSH_9.6\r\n", "malformed", "the reply is not HTTP/1.1"},
		{"an error in the stream", one + `data: {"error":{"message":"out of memory"}}` + "\n\n", "server_error", "out of memory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // each run rests for a second before its load
			for _, all := range []bool{false, true} {
				status, out, errs := benchFaulty(t, t.Context(), faulty(t, c.reply, all))
				want, failed, ok := exitIncomplete, "3", "3"
				if all {
					want, failed, ok = exitFailed, "6", "0"
				}
				count, example := failureLine(out, c.reason)
				if status != want || count != failed || !strings.HasPrefix(example, c.example) {
					t.Errorf("all %v: status %d, want %d with %s × %s %q:\n%s%s", all, status, want, failed, c.reason, c.example, errs, out)
				}
				if !regexp.MustCompile(`(?m)^Successful requests: +` + ok + ` *$`).MatchString(out) {
					t.Errorf("all %v: the table does not count %s successes:\n%s", all, ok, out)
				}
				if said := strings.Contains(errs, "no request succeeded"); said != all {
					t.Errorf("all %v: %s", all, errs)
				}
			}
		})
	}

	t.Run("the warm-up fails", func(t *testing.T) {
		t.Parallel()
		status, out, errs := benchFaulty(t, t.Context(), faulty(t, "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 4\r\n\r\nboom", true), "--warmup-requests", "2")
		if status != exitFailed || !strings.Contains(errs, "500 Internal Server Error: boom") || out != "" {
			t.Errorf("status %d:\n%s%s", status, errs, out)
		}
	})

	t.Run("hangs, and is interrupted", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var hanging atomic.Int64
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/generate" {
				io.WriteString(w, `{"object":"list","data":[{"id":"m","object":"model"}]}`)
				return
			}
			io.Copy(io.Discard, r.Body)
			if hanging.Add(1) == 2 {
				cancel() // as Ctrl-C does
			}
			<-r.Context().Done()
		}))
		defer s.Close()
		// What was not sent is no failure, and no success.
		status, out, errs := benchFaulty(t, ctx, s.URL, "--max-concurrency", "2")
		if count, _ := failureLine(out, "interrupted"); status != exitInterrupted || count != "2" ||
			!strings.Contains(out, "4 requests of the plan: the load was interrupted") || !strings.Contains(out, "2 of 2 requests (100") {
			t.Errorf("status %d:\n%s%s", status, errs, out)
		}
	})
}

// TestWrongBackend checks that verbs that use /generate name a server that has none, and what to do.
func TestWrongBackend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, version, want, backend string }{
		{"vLLM", `{"version":"0.26.1"}`, "this is vLLM 0.26.1, ", "vllm"},
		{"any other", "", "this is an OpenAI-compatible server, ", "openai"},
	} {
		mux := http.NewServeMux()
		mux.HandleFunc("/v1/models", func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"object":"list","data":[{"id":"m","object":"model"}]}`)
		})
		if c.version != "" {
			mux.HandleFunc("/version", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, c.version) })
		}
		hs := httptest.NewServer(mux)
		defer hs.Close()
		status, _, errs := benchFaulty(t, t.Context(), hs.URL, "--warmup-requests", "1")
		if status != exitFailed || !strings.Contains(errs, c.want+"which has no /generate: give --backend "+c.backend) {
			t.Errorf("bench serving with %s: status %d: %s", c.name, status, errs)
		}
		status, _, errs = run(t, t.Context(), "send", "--url", hs.URL)
		if status != exitFailed || !strings.Contains(errs, c.want+"and send needs SGLang's /generate: stepscope bench serving") {
			t.Errorf("send to %s: status %d: %s", c.name, status, errs)
		}
	}
	hs := httptest.NewServer(http.NotFoundHandler())
	defer hs.Close()
	if status, _, errs := run(t, t.Context(), "send", "--url", hs.URL); status != exitFailed || !strings.Contains(errs, "404 Not Found") {
		t.Errorf("send to a server without any route: status %d: %s", status, errs)
	}
}

// TestOldPage checks that the page of a kept run is the page that was written after the load, byte for byte.
func TestOldPage(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	now, old := filepath.Join(home, "now.html"), filepath.Join(home, "old.html")
	url := faulty(t, "", false) // every second request fails
	status, _, errs := run(t, t.Context(), "bench", "serving", "--url", url, "--dataset-name", "random-ids", "--random-input", "4", "--random-output", "3", "--num-prompts", "6",
		"--warmup-requests", "0", "--slo", "ttft:500", "--quiet", "--html", now, "--run-dir", home)
	if status != exitIncomplete {
		t.Fatalf("bench serving: status %d: %s", status, errs)
	}
	if status, out, errs := run(t, t.Context(), "runs", "show", "last", "--html", old, "--run-dir", home); status != exitOK || !strings.Contains(out, "bench serving") {
		t.Fatalf("runs show: status %d: %s%s", status, out, errs)
	}
	a, errA := os.ReadFile(now)
	b, errB := os.ReadFile(old)
	if errA != nil || errB != nil || len(a) == 0 || string(a) != string(b) {
		t.Errorf("%d and %d bytes, %v, %v", len(a), len(b), errA, errB)
	}
}

// TestBenchGates: a gate on a latency that was not seen ends with status 3, whatever its limit; a gate on the E2E of the
// same replies is judged.
func TestBenchGates(t *testing.T) {
	t.Parallel()
	body := `{"text":"a b c","meta_info":{"id":"r","prompt_tokens":1,"completion_tokens":3,"finish_reason":{"type":"length","length":3}}}`
	for name, reply := range map[string]string{
		"no stream": fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body),
		"buffered":  faultHead + fmt.Sprintf(faultToken, 1, "null") + fmt.Sprintf(faultToken, 2, "null") + fmt.Sprintf(faultToken, 3, `{"type":"length","length":3}`) + faultDone,
	} {
		url := faulty(t, reply, true)
		for slo, want := range map[string]int{"tpot:60000": exitIncomplete, "ttft:60000": exitIncomplete, "itl:60000": exitIncomplete, "e2e:60000": 0, "e2e:0.001": exitRegression} {
			status, out, errs := benchFaulty(t, t.Context(), url, "--slo", slo, "--fail", "95%")
			if status != want || strings.Contains(errs, "not measured in 6 of 6 requests") != (want == exitIncomplete) {
				t.Errorf("%s, %s: status %d, want %d:\n%s%s", name, slo, status, want, errs, out)
			}
		}
	}
}
