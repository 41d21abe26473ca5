package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/reference/server"
	"github.com/stepscope/stepscope/internal/testing/fakeengine"
)

func (r *rig) windows() []wire.ProfileWindow {
	r.t.Helper()
	var list wire.ProfileFiles
	if a := r.call("GET /profile_files", ""); a.status != 200 || json.Unmarshal([]byte(a.body), &list) != nil {
		r.t.Fatalf("GET /profile_files: %+v", a)
	}
	return list.Windows
}

// TestProfileFiles checks a window whose files are fetched over HTTP.
func TestProfileFiles(t *testing.T) {
	r := newRig(t, "", fakeengine.Options{}, server.Options{})
	if got := r.windows(); len(got) != 0 {
		t.Errorf("windows of a new server: %+v", got)
	}
	dir := t.TempDir()
	start := func(id, prefix string) {
		t.Helper()
		a := r.call("POST /start_profile", fmt.Sprintf(`{"output_dir":%q,"profile_id":%q,"profile_prefix":%q}`, dir, id, prefix))
		if a.status != 200 {
			t.Fatalf("start: %+v", a)
		}
	}
	start("1.5", "run")
	if got := r.windows(); len(got) != 1 || got[0].ID != "1.5" || got[0].Dir != dir || len(got[0].Files) != 0 {
		t.Errorf("windows after the start: %+v", got)
	}
	r.call("POST /stop_profile", "")
	start("2", "")
	r.call("POST /stop_profile", "")

	windows := r.windows()
	if len(windows) != 2 || windows[0].ID != "2" {
		t.Fatalf("the newest comes first: %+v", windows)
	}
	for i, name := range []string{"2-TP-0.trace.json.gz", "run-1.5-TP-0.trace.json.gz"} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if f := windows[i].Files; len(f) != 1 || f[0] != (wire.ProfileFile{Name: name, Size: int64(len(want))}) {
			t.Errorf("files %+v, want %s", f, name)
		}
		a := r.call("GET /profile_files/"+windows[i].ID+"/"+name, "")
		if a.status != 200 || a.body != string(want) || a.header.Get("Content-Length") != fmt.Sprint(len(want)) || a.header.Get("Etag") == "" {
			t.Errorf("%s: %+v", name, a)
		}
		if a := r.call("GET /profile_files/"+windows[i].ID+"/"+name, "", "Range", "bytes=2-4"); a.status != 206 || a.body != string(want[2:5]) {
			t.Errorf("a part of %s: %+v", name, a)
		}
	}
}

// TestProfileFilesOthers checks that only files written by windows are served, whatever else lies in their directory or
// is requested.
func TestProfileFilesOthers(t *testing.T) {
	r := newRig(t, "", fakeengine.Options{}, server.Options{})
	tmp := t.TempDir()
	dir := filepath.Join(tmp, "out")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(path string) {
		t.Helper()
		if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(tmp, "secret"))
	r.call("POST /start_profile", fmt.Sprintf(`{"output_dir":%q,"profile_id":"7"}`, dir))
	r.call("POST /stop_profile", "")
	for name, given := range map[string]bool{
		"merged-7.trace.json.gz": true, "7-TP-1-DP-0.trace.json.gz": true, "1700000009.5-TP-0-DP-1-memory-DECODE.pickle": true,
		"secret": false, "77-TP-0.trace.json.gz": false, "x-7-TP-0.trace.json.gz": false, "7-TP-0.txt": false,
		"1600000000.5-TP-0-memory.pickle": false, ".7-TP-0.trace.json.gz.0a.tmp": false,
	} {
		write(filepath.Join(dir, name))
		if a := r.call("GET /profile_files/7/"+name, ""); (a.status == 200) != given {
			t.Errorf("%s: %+v, want served %t", name, a, given)
		}
	}
	for name, to := range map[string]string{"7-TP-8.trace.json.gz": filepath.Join(tmp, "secret"), "7-TP-9.trace.json.gz": "secret"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{
		"7/7-TP-8.trace.json.gz", "7/7-TP-9.trace.json.gz", "7/..%2Fsecret", "7/%2Fetc%2Fpasswd", "7/", "7/.", "..%2F7/secret", "8/7-TP-0.trace.json.gz", "7",
	} {
		if a := r.call("GET /profile_files/"+path, ""); a.status != 404 {
			t.Errorf("%s: %+v", path, a)
		}
	}
	if got := r.windows(); len(got) != 1 || len(got[0].Files) != 4 {
		t.Errorf("windows %+v, want the window's trace and the three files that look like its own", got)
	}
	if a := r.call("POST /profile_files", ""); a.status != 405 {
		t.Errorf("POST: %+v", a)
	}
}

// TestProfileFilesBounds checks that a server remembers its last 64 windows, each id once, and requires the admin key
// for them.
func TestProfileFilesBounds(t *testing.T) {
	r := newRig(t, "", fakeengine.Options{}, server.Options{APIKey: "user", AdminAPIKey: "admin"})
	dir := t.TempDir()
	for i := range 70 {
		id := fmt.Sprint(max(i, 2)) // 0, 1 and 2 are the same
		r.call("POST /start_profile", fmt.Sprintf(`{"output_dir":%q,"profile_id":%q}`, dir, id), "Authorization", "Bearer admin")
		r.call("POST /stop_profile", "", "Authorization", "Bearer admin")
	}
	for _, path := range []string{"/profile_files", "/profile_files/69/69-TP-0.trace.json.gz"} {
		if a := r.call("GET "+path, "", "Authorization", "Bearer user"); a.status != 401 {
			t.Errorf("%s with the user's key: %+v", path, a)
		}
	}
	a := r.call("GET /profile_files", "", "Authorization", "Bearer admin")
	var list wire.ProfileFiles
	if err := json.Unmarshal([]byte(a.body), &list); err != nil || len(list.Windows) != 64 || list.Windows[0].ID != "69" || list.Windows[63].ID != "6" {
		t.Errorf("%v: %d windows, from %s", err, len(list.Windows), strings.Split(a.body, ",")[0])
	}
}
