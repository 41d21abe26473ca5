package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const good = `{"format": 1, "id": "x", "kind": "bench", "tool": "bench serving", "status": "complete",
 "created": "2025-11-22T13:22:33.5Z", "ended": "2025-11-22T13:23:33Z",
 "machine": {"host": "h", "os": "linux", "arch": "amd64", "cpus": 2}, "pid": 7,
 "files": [{"path": "traces/t.json.gz", "kind": "trace", "size": 5, "rank": {"tp": 0, "pp": 3}}],
 "numbers": [{"name": "ttft p50", "value": 12.5, "unit": "ms"}], "from": "a later stepscope"}`

func TestParseManifest(t *testing.T) {
	m, err := parseManifest([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	if r := m.Files[0].Rank; *r != (Rank{TP: 0, DP: -1, PP: 3, EP: -1}) {
		t.Errorf("rank %+v", r)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"format": 1`, `"format": 2`, "format 2, this stepscope reads format 1"},
		{`"format": 1`, `"Format": 0`, "format 0"},
		{`"status": "complete"`, `"status": ""`, "no status"},
		{`"created": "2025-11-22T13:22:33.5Z", `, ``, "no time"},
		{`traces/t.json.gz`, `../../etc/passwd`, "is not in the run directory"},
		{`traces/t.json.gz`, `/etc/passwd`, "is not in the run directory"},
		{`traces/t.json.gz`, `C:\\t`, "is not in the run directory"},
		{`traces/t.json.gz`, `manifest.json`, "has a reserved name"},
		{`"tp": 0`, `"tp": -2`, "rank coordinate -2"},
		{`"files": [`, `"files": [{"path": "traces/t.json.gz"}, `, "is listed twice"},
		{good[20:], "", "unexpected end of JSON input"},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		if text == good {
			t.Fatalf("%s is not in the manifest", c.old)
		}
		_, err := parseManifest([]byte(text))
		wantError(t, err, c.want)
	}
}

// TestInside: a file that links outside the run is reported; a link within the run and a missing file are not, and the
// run's directory may itself be a link.
func TestInside(t *testing.T) {
	root := t.TempDir()
	r := mustCreate(t, root)
	check(t, os.WriteFile(filepath.Join(root, "secret"), []byte("s"), 0o600))
	for _, name := range []string{"a", "b", "gone"} {
		check(t, os.WriteFile(filepath.Join(root, "f"), []byte(name), 0o600))
		check(t, r.AddFile(File{Path: "traces/" + name, Kind: KindTrace}, filepath.Join(root, "f")))
	}
	check(t, r.Finish(Complete, nil))
	link := func(to, name string) {
		check(t, os.Remove(r.Path(name)))
		check(t, os.Symlink(to, r.Path(name)))
	}
	check(t, os.Remove(r.Path("traces/gone")))
	link("a", "traces/b")
	check(t, os.Symlink(r.Dir(), filepath.Join(root, "elsewhere")))
	check(t, mustOpen(t, root, filepath.Join(root, "elsewhere")).Inside())
	for _, to := range []string{filepath.Join(root, "secret"), "../../secret", "/etc/passwd"} {
		link(to, "traces/b")
		wantError(t, mustOpen(t, root, r.ID()).Inside(), "traces/b is a link to a file outside the run")
	}
}

// FuzzManifest: a parsed manifest writes back equal, and names no file outside the run.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(`{"format":1,"status":"running","created":"2025-11-22T13:22:33+01:00","files":[{"path":"a/../b"}]}`))
	f.Add([]byte(`{"format":1,"status":"running","created":"2025-11-22T13:22:33Z","files":[{"path":"a","rank":{}}],"numbers":[{"value":1e308}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := parseManifest(text)
		if err != nil {
			return
		}
		for _, file := range m.Files {
			rel, err := filepath.Rel("/run", filepath.Join("/run", filepath.FromSlash(file.Path)))
			if err != nil || rel == "." || strings.HasPrefix(rel, "..") {
				t.Errorf("the file %q is outside", file.Path)
			}
		}
		one, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseManifest(one)
		if err != nil {
			t.Fatalf("%s does not parse: %v", one, err)
		}
		if two, _ := json.Marshal(again); !bytes.Equal(one, two) {
			t.Errorf("%s becomes %s", one, two)
		}
	})
}

// An unreadable manifest hides neither the run nor its files.
func TestDamagedManifest(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty, as after a crash of the machine", "", "unexpected end of JSON input"},
		{"of zeros", "\x00\x00\x00", "invalid character"},
		{"gone", "-", "no such file"},
		{"of a later format", `{"format": 9}`, "format 9"},
	} {
		root := t.TempDir()
		r := mustCreate(t, root)
		check(t, r.Finish(Complete, nil))
		if c.text == "-" {
			check(t, os.Remove(r.Path(manifestFile)))
		} else {
			check(t, os.WriteFile(r.Path(manifestFile), []byte(c.text), 0o666))
		}
		list, err := List(root)
		check(t, err)
		if len(list) != 1 || list[0].ID != r.ID() || list[0].Status != Broken || list[0].Kind != "bench" {
			t.Errorf("%s: the list is %+v", c.name, list)
			continue
		}
		wantError(t, errors.New(list[0].Problem), c.want)
		_, err = Open(root, r.ID())
		wantError(t, err, "is damaged, its files are in "+r.Dir())
		wantError(t, err, c.want)
	}
}
