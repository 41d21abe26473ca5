package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// stepscope runs a command line and gives its outputs.
func stepscope(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	e := newEnv(strings.NewReader(""), &stdout, &stderr)
	status = e.main(t.Context(), args)
	return status, stdout.String(), stderr.String()
}

// TestProfile profiles a server as a user does: a window from start to findings,
// one that is started and stopped apart, and what is said of a server that is busy.
func TestProfile(t *testing.T) {
	t.Parallel()
	url, _, end := serving(t, "serve", "--model-path", "builtin:llama-tiny", "--port", "0", "--tp", "2", "--max-total-tokens", "4096")
	defer end()
	root := t.TempDir()

	local := filepath.Join(t.TempDir(), "local")
	page := filepath.Join(t.TempDir(), "page.html")
	status, out, errs := stepscope(t, "profile", "--url", url, "--output-dir", root, "-o", local, "--probe", "--num-steps", "4", "--html", page)
	if status != exitOK {
		t.Fatalf("status %d:\n%s%s", status, out, errs)
	}
	for _, want := range []string{"  2 traces in " + local, "  merged: " + local, "2 ranks · 4 steps", "Tables (stepscope analyze with --full"} {
		// Tiny requests run before the window does, so it may hold steps of one kind alone.
		if !strings.Contains(strings.Replace(out, "4 decode steps", "4 steps", 1), want) {
			t.Errorf("stdout lacks %q:\n%s", want, out)
		}
	}
	for _, want := range []string{"Dump profiling traces to " + local, "Waiting for 4 steps and the trace to be flushed.... (profile_by_stage=False)", "stepscope ", "TP 2"} {
		if !strings.Contains(errs, want) {
			t.Errorf("stderr lacks %q:\n%s", want, errs)
		}
	}
	for _, path := range []string{page, filepath.Join(local, "server_args.json")} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}

	status, out, errs = stepscope(t, "profile", "--url", url, "--output-dir", root, "--probe", "--profile-by-stage", "--no-merge-profiles", "--json")
	var doc struct {
		Servers []struct {
			Kind   string
			Traces []string
			Merged string
		}
		Reports []json.RawMessage
	}
	if err := json.Unmarshal([]byte(out), &doc); status != exitOK || err != nil || len(doc.Servers) != 1 || len(doc.Servers[0].Traces) != 4 ||
		doc.Servers[0].Kind != "stepscope" || doc.Servers[0].Merged != "" || len(doc.Reports) != 1 || len(doc.Reports[0]) < 100 {
		t.Errorf("status %d, %v:\n%s%s", status, err, out, errs)
	}

	status, out, errs = stepscope(t, "profile", "start", "--url", url, "--output-dir", root, "--num-steps", "0")
	dir := strings.TrimSpace(out)
	if !strings.Contains(errs, "is idle, so its profiler records idle time until load arrives") {
		t.Errorf("start: %s", errs)
	}
	if status != exitOK || filepath.Dir(dir) != root {
		t.Fatalf("start: status %d, %q", status, out)
	}
	// A window that gets no load is not armed, unless that is what is wanted.
	status, _, errs = stepscope(t, "profile", "--url", url, "--output-dir", root, "--wait", "300ms")
	if status != exitFailed || !strings.Contains(errs, url+": no load arrived in 300ms") || !strings.Contains(errs, "give --probe") {
		t.Errorf("an idle server: status %d, %s", status, errs)
	}
	status, _, errs = stepscope(t, "profile", "--url", url, "--output-dir", root, "--wait", "0")
	if status != exitFailed || !strings.Contains(errs, "a profile is already being recorded there: wait for it, or end it with: stepscope profile stop --url "+url) {
		t.Errorf("a busy server: status %d, %s", status, errs)
	}
	res, err := http.Post(url+"/generate", "application/json", strings.NewReader(`{"text":"hello","sampling_params":{"max_new_tokens":8,"ignore_eos":true}}`))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	// Among the traces others may put what they like.
	if err := os.WriteFile(filepath.Join(dir, "session.json"), []byte(`{"format":1,"servers":[{"url":"http://127.0.0.1:1"}]}`), 0o666); err != nil {
		t.Fatal(err)
	}
	status, out, errs = stepscope(t, "profile", "stop", dir)
	if status != exitOK || !strings.Contains(out, "2 traces in "+dir) || !strings.Contains(out, "2 ranks · 8 steps") {
		t.Errorf("stop: status %d\n%s%s", status, out, errs)
	}
	if status, _, errs = stepscope(t, "profile", "stop", filepath.Base(dir)); status != exitFailed || !strings.Contains(errs, "you started no session there") {
		t.Errorf("the session is over, and known: status %d, %s", status, errs)
	}
	if status, out, _ = stepscope(t, "profile", "stop", "--url", url); status != exitOK || out != url+": was not recording\n" {
		t.Errorf("stop: status %d, %s", status, out)
	}
}
