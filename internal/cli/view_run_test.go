package cli

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/runs"
)

// TestViewRun: a run without steps, or whose traces cannot be read, is shown as the load that it is; what is no run of the
// directory is not.
func TestViewRun(t *testing.T) {
	t.Parallel()
	home, trace := t.TempDir(), filepath.Join(t.TempDir(), "1-TP-0.trace.json.gz")
	if err := os.WriteFile(trace, []byte("no trace"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		run    *runs.Run
		errs   string
		status int
	}{
		{keepLoad(t, home, 1, 100), "", exitOK},
		{keepLoad(t, home, 1, 100, trace), "the load is shown without its window", exitIncomplete},
	} {
		address, errs, end := viewing(t, c.run.ID(), "--run-dir", home)
		for path, want := range map[string]string{
			"api/session":                    `"run":"` + c.run.ID() + `"`,
			"api/load?run=" + c.run.ID():     `"id":"` + c.run.ID() + `"`,
			"api/load/runs":                  c.run.ID(),
			"api/load?run=../" + c.run.ID():  `{"error":`,
			"api/load?run=" + c.run.Dir():    `{"error":`,
			"api/load/request?index=0&run=x": `{"error":`,
		} {
			res, err := http.Get(address + path)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil || !strings.Contains(string(text), want) {
				t.Errorf("%s: %v %.300s", path, err, text)
			}
		}
		for _, says := range []string{"shows the load of run " + c.run.ID(), "the runs in " + home, "Ctrl-C", c.errs} {
			if !strings.Contains(errs.String(), says) {
				t.Errorf("%q is not in %s", says, errs)
			}
		}
		if status := end(); status != c.status && status != exitInterrupted {
			t.Errorf("status %d, want %d: %s", status, c.status, errs)
		}
	}
}

// TestViewElsewhere: a run whose files are links to others' is not opened by its id, nor what has no manifest that names
// its files, nor a run by a part of its id.
func TestViewElsewhere(t *testing.T) {
	t.Parallel()
	home, secret, trace := t.TempDir(), filepath.Join(t.TempDir(), "secret"), filepath.Join(t.TempDir(), "1-TP-0.trace.json")
	for _, path := range []string{secret, trace} {
		if err := os.WriteFile(path, []byte(`{"traceEvents": [{"name": "secret"}]}`), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run := keepLoad(t, home, 1, 100, trace)
	for _, path := range append(run.Traces(), run.Path(run.Files(runs.KindRecords)[0].Path)) {
		if err := errors.Join(os.Remove(path), os.Symlink(secret, path)); err != nil {
			t.Fatal(err)
		}
	}
	bare := "20260101-000000-bare-0000"
	if err := os.Mkdir(filepath.Join(home, bare), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(home, bare, "1-TP-0.trace.json")); err != nil {
		t.Fatal(err)
	}
	address, errs, end := viewing(t, "--run-dir", home)
	defer end()
	const elsewhere = "is a link to a file outside the run"
	for _, c := range [][2]string{
		{"api/session?open=" + run.ID(), elsewhere}, {"api/kernels?c=" + run.ID(), elsewhere}, {"api/load?run=" + run.ID(), elsewhere}, {"api/load/requests?run=" + run.ID(), elsewhere},
		{"api/session?open=" + bare, "manifest.json"}, {"api/kernels?c=" + bare, "manifest.json"},
		{"api/session?open=" + run.ID()[:len(run.ID())-1], "the whole id is " + run.ID()},
	} {
		path := c[0]
		res, err := http.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode < 400 || !strings.Contains(string(text), c[1]) {
			t.Errorf("%s: %v %d %.300s", path, err, res.StatusCode, text)
		}
	}
	if strings.Contains(errs.String(), "panic") {
		t.Error(errs)
	}
}

// TestViewRefused: what cannot be shown is said in one line.
func TestViewRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	none, text := filepath.Join(dir, "none"), filepath.Join(dir, "1-TP-0.trace.json")
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		defer ln.Close()
		err = errors.Join(os.WriteFile(text, []byte("hello"), 0o666), os.Mkdir(filepath.Join(dir, "empty"), 0o777))
	}
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{none}, exitFailed, none + ": no such file or directory"},
		{[]string{filepath.Join(dir, "empty")}, exitFailed, "no trace files found"},
		{[]string{text}, exitFailed, "not a trace"},
		{[]string{"--port", port}, exitFailed, "port " + port + " of 127.0.0.1 is in use"},
		{[]string{"--host", "0.0.0.0"}, exitUsage, "is beyond loopback: give a key with --api-key-file"},
		{[]string{"--url", "localhost:1"}, exitUsage, "is not the URL of a server"},
	} {
		status, out, errs := run(t, t.Context(), append([]string{"view", "--run-dir", filepath.Join(dir, "runs")}, c.args...)...)
		first, hint, _ := strings.Cut(strings.TrimSuffix(errs, "\n"), "\n")
		if status != c.status || out != "" || !strings.Contains(first, c.want) || hint != "" && hint != "  hint: stepscope view --help" {
			t.Errorf("%q: status %d, %q, %q", c.args, status, out, errs)
		}
	}
}
