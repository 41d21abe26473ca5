package cli

import (
	"io"
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
		if status := end(); status != c.status && status != exitInterrupted || !strings.Contains(errs.String(), c.errs) {
			t.Errorf("status %d, want %d: %s", status, c.status, errs)
		}
	}
}
