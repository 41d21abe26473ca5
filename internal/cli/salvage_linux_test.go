package cli

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// recorded is a server with a window open while it answers a long request.
func recorded(t *testing.T, dir string) *spawned {
	t.Helper()
	s := spawn(t, "serve", "--model-path", "builtin:llama-tiny", "--port", "0", "--tp-size", "2", "--max-total-tokens", "4096")
	begin := func(route, body string) *http.Response {
		resp, err := http.Post(s.url+route, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	if resp := begin("/start_profile", fmt.Sprintf(`{"output_dir":%q,"profile_id":"w"}`, dir)); resp.StatusCode != 200 {
		t.Fatal(resp.Status)
	}
	resp := begin("/generate", `{"text":"a","stream":true,"sampling_params":{"max_new_tokens":3500,"ignore_eos":true}}`)
	if _, err := resp.Body.Read(make([]byte, 1)); err != nil { // it is under way
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return s
}

// TestSecondSignal: the second SIGTERM ends the waiting for requests, and the window that is open is written.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := recorded(t, dir)
	s.Process.Signal(syscall.SIGTERM)
	for !strings.Contains(s.log(), "shutting down") {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(2 * sentTwice) // the same signal again, soon after, is a copy
	s.Process.Signal(syscall.SIGTERM)
	s.Wait()
	if log := s.log(); !strings.Contains(log, "aborting requests at the second signal") {
		t.Fatal(log)
	}
	if out, err := exec.Command("stepscope", "trace", "check", dir).CombinedOutput(); err != nil || strings.Count(string(out), " complete\n") != 2 {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestKilled: what a killed server has written of a trace is found, named and read.
func TestKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := recorded(t, dir)
	time.Sleep(300 * time.Millisecond) // so that there is something to write
	go http.Post(s.url+"/stop_profile", "", nil)
	var hidden []string
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); {
		hidden, _ = filepath.Glob(filepath.Join(dir, ".*.tmp"))
		if len(hidden) > 0 {
			if st, err := os.Stat(hidden[0]); err == nil && st.Size() > 0 {
				break
			}
		}
		time.Sleep(time.Millisecond)
	}
	s.Process.Kill()
	s.Wait()
	if hidden, _ = filepath.Glob(filepath.Join(dir, ".*.tmp")); len(hidden) == 0 {
		t.Skip("the export was over before the server was killed")
	}
	out, err := exec.Command("stepscope", "trace", "check", dir).CombinedOutput()
	if status, ok := err.(*exec.ExitError); !ok || status.ExitCode() != exitIncomplete {
		t.Errorf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "the server was killed while writing this trace") {
		t.Errorf("nothing is said of it:\n%s", out)
	}
}

// TestSalvagedAtStart: the next server finds it, too, in the profile directory and in those of windows below it.
func TestSalvagedAtStart(t *testing.T) {
	root := t.TempDir()
	t.Setenv("SGLANG_TORCH_PROFILER_DIR", root)
	for _, dir := range []string{".", "1700000000.5"} {
		os.Mkdir(filepath.Join(root, dir), 0o777)
		if err := os.WriteFile(filepath.Join(root, dir, ".1-TP-0.trace.json.gz.0123abcd.tmp"), []byte("\x1f\x8b"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s := spawn(t, "serve", "--model-path", "builtin:llama-tiny", "--port", "0", "--max-total-tokens", "4096")
	for _, dir := range []string{".", "1700000000.5"} {
		if _, err := os.Stat(filepath.Join(root, dir, "1-TP-0.trace.json.gz")); err != nil {
			t.Errorf("%v\n%s", err, s.log())
		}
	}
}
