package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/view"
)

// apart is a directory with a directory for each of several servers, of which the first has no trace that could be read.
func apart(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i, name := range names {
		to := filepath.Join(dir, name)
		err := os.CopyFS(to, os.DirFS("../../testdata/traces/graph_work"))
		if i == 0 {
			err = os.WriteFile(filepath.Join(to, "1763750000.graph_work-TP-0.trace.json.gz"), []byte("no trace"), 0o666)
			os.Remove(filepath.Join(to, "1763750000.graph_work-TP-1.trace.json.gz"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestViewServers: a directory of several servers is shown with the first that can be, and the others beside it by their
// names; what cannot be read is said when it is asked for.
func TestViewServers(t *testing.T) {
	t.Parallel()
	dir := apart(t, "prefill-0", "decode-0", "decode-1")
	address, errs, end := viewing(t, dir, "--run-dir", t.TempDir())
	for open, want := range map[string]string{
		"0": "0:decode-0", "0:decode-0": "0:decode-0", "0:decode-1": "0:decode-1", "0:prefill-0": "not a trace", "0:decode-2": `0 has no server \"decode-2\"`,
	} {
		res, err := http.Get(address + "api/session?open=" + open)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		var got view.Session
		if err != nil || json.Unmarshal(text, &got) != nil {
			t.Fatalf("%s: %v %s", open, err, text)
		}
		if res.StatusCode != http.StatusOK {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: %s", open, text)
			}
			continue
		}
		var beside []string
		for _, b := range got.Captures[0].Beside {
			beside = append(beside, b.ID)
		}
		if got.Opened != want || !slices.Equal(beside, []string{"0:prefill-0", "0:decode-0", "0:decode-1"}) {
			t.Errorf("%s opens %q, beside it are %q", open, got.Opened, beside)
		}
	}
	if status := end(); status != exitIncomplete && status != exitInterrupted {
		t.Errorf("status %d", status)
	}
	for _, want := range []string{"prefill-0: ", "of decode-0, the first of 3 servers"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("%q is not in %s", want, errs)
		}
	}
	status, _, said := run(t, t.Context(), "view", dir, "--export", filepath.Join(t.TempDir(), "page.html"), "--run-dir", t.TempDir())
	if status != exitUsage || !strings.Contains(said, "has 3 servers: give the traces of one") {
		t.Errorf("a page of three servers: status %d, %s", status, said)
	}
}

// TestWatchOpens: a window that a watch captured of several servers opens with all of them, whatever they are called.
func TestWatchOpens(t *testing.T) {
	t.Parallel()
	dir, root := t.TempDir(), t.TempDir()
	if err := os.Rename(apart(t, "10.0.0.1-30000", "10.0.0.2-30000"), filepath.Join(dir, "capture-1")); err != nil {
		t.Fatal(err)
	}
	open := (&watchCmd{}).opens(newEnv(strings.NewReader(""), io.Discard, io.Discard), root, dir, nil)
	c, err := open(t.Context(), "capture-1")
	if err != nil || c.ID != "capture-1:10.0.0.2-30000" || len(c.Servers) != 2 || len(c.Traces) != 2 {
		t.Fatalf("%v %+v", err, c)
	}
	for _, id := range []string{"capture-1:..", "../capture-1", "capture-2", "capture-1:10.0.0.1-30000"} {
		if c, err := open(t.Context(), id); err == nil {
			t.Errorf("%s opens %s", id, c.Title())
		}
	}
}
