package torch

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/api/wire"
)

// TestCollectHostile checks a server whose files change size at each request and have names that point elsewhere: the
// user does not wait, the files are reported as broken, and nothing is written outside the directory.
func TestCollectHostile(t *testing.T) {
	f := newFake(t, false, `{"tp_size":1,"version":"stepscope 1"}`)
	name, size := fixedID+"-TP-0.trace.json", 1
	f.routes["GET /profile_files"] = func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		dir, _ := f.body["output_dir"].(string)
		size++
		json.NewEncoder(w).Encode(wire.ProfileFiles{Windows: []wire.ProfileWindow{{ID: "w", Dir: dir, Files: []wire.ProfileFile{
			{Name: name, Size: int64(size)}, {Name: "../" + name, Size: 1}, {Name: "\x1b[2J.trace.json", Size: 1},
		}}}})
	}
	f.routes["GET /profile_files/w/"+name] = func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		fmt.Fprint(w, strings.Repeat("{", size))
	}
	above := t.TempDir()
	dir := filepath.Join(above, "here")
	s, err := Start(t.Context(), []Target{{URL: f.url}}, Window{OutputDir: "/there", NumSteps: 1}, quick(Options{Now: fixed}))
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.Collect(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Join(res.Servers[0].Lines(), "\n")
	for _, want := range []string{"broken: " + name + ": incomplete", "2 files of the window were left on the server"} {
		if !res.Incomplete() || !strings.Contains(lines, want) {
			t.Errorf("got\n%s\nwant %q", lines, want)
		}
	}
	for dir, want := range map[string]string{above: "here", dir: name + " server_args.json"} {
		var got []string
		left, _ := os.ReadDir(dir)
		for _, e := range left {
			got = append(got, e.Name())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s has %q, want %s", dir, got, want)
		}
	}
}
