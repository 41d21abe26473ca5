package runs

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stepscope/stepscope/trace"
)

var about = About{Kind: "bench", Tool: "bench serving", Args: []string{"bench", "serving", "--num-prompts", "10"}, Tags: []string{"baseline"}, Model: "m"}

func mustCreate(t testing.TB, root string) *Run {
	t.Helper()
	r, err := Create(root, about, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Finish(Failed, nil) })
	return r
}

func mustOpen(t testing.TB, root, ref string) *Run {
	t.Helper()
	r, err := Open(root, ref)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError checks the text of an error.
func wantError(t testing.TB, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want one containing %q", err, text)
	} else if strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q has more than one line", err)
	}
}

// The life of a run: it reads back as written.
func TestRun(t *testing.T) {
	root, out := filepath.Join(t.TempDir(), "data", "runs"), t.TempDir()
	trace0 := filepath.Join(out, "1763-TP-0.trace.json.gz")
	check(t, os.WriteFile(trace0, []byte("events"), 0o666))

	r := mustCreate(t, root)
	if got := mustOpen(t, root, r.ID()).Status(); got != Running {
		t.Errorf("its status while being written is %s", got)
	}
	check(t, r.WriteJSON(File{Path: "summary.json", Kind: KindSummary}, map[string]any{"completed": 10}))
	check(t, r.AddFile(File{
		Path: "traces/1763-TP-0.trace.json.gz", Kind: KindTrace, Format: "kineto.json.gz", Host: "gpu1", Source: trace0,
		Rank: At(trace.Rank{TP: 0, DP: 1, PP: -1, EP: -1}), Role: "decode", Stage: "DECODE",
	}, trace0))
	check(t, os.WriteFile(r.Path("server.log"), []byte("ready\n"), 0o666))
	check(t, r.AddFile(File{Path: "server.log", Kind: KindLog, Format: "text"}, ""))
	check(t, os.WriteFile(r.Path("server.log"), []byte("ready\nstopped\n"), 0o666))
	check(t, r.Update(func(m *Manifest) {
		m.Numbers = append(m.Numbers, Number{"ttft p50", 12.5, "ms"})
		m.Notes = append(m.Notes, "TP01 has no trace")
	}))
	check(t, r.Finish(Complete, nil))
	check(t, r.Finish(Failed, errors.New("too late to fail")))

	back := mustOpen(t, root, r.ID())
	want, got := r.Manifest(), back.Manifest()
	if a, b := toJSON(t, want), toJSON(t, got); a != b {
		t.Errorf("read back\n%s\nwant\n%s", b, a)
	}
	if back.Status() != Complete || got.Error != "" || got.Ended.Before(got.Created) {
		t.Errorf("ended %s %q at %v", back.Status(), got.Error, got.Ended)
	}
	if logs := back.Files(KindLog); len(logs) != 1 || logs[0].Size != 14 {
		t.Errorf("logs %+v, want one of its final size", logs)
	}
	tr := back.Files(KindTrace, KindMerged)
	if len(tr) != 1 || trace.Rank(*tr[0].Rank).String() != "TP00-DP01" || tr[0].Size != 6 {
		t.Errorf("traces %+v", tr)
	}
	if a, b := stat(t, trace0), stat(t, back.Path(tr[0].Path)); !os.SameFile(a, b) {
		t.Error("the trace was copied instead of linked")
	}
	var summary struct{ Completed int }
	check(t, back.ReadJSON(KindSummary, &summary))
	if summary.Completed != 10 {
		t.Errorf("summary %+v", summary)
	}
	if err := back.ReadJSON(KindServerArgs, &summary); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if at, kind, ok := parseID(r.ID()); !ok || kind != "bench" || got.Created.Sub(at).Abs() > time.Second {
		t.Errorf("id %s: %v %s %v", r.ID(), at, kind, ok)
	}
}

func toJSON(t *testing.T, v any) string {
	text, err := json.MarshalIndent(v, "", " ")
	check(t, err)
	return string(text)
}

func stat(t *testing.T, name string) fs.FileInfo {
	st, err := os.Stat(name)
	check(t, err)
	return st
}

// Evidence is written once; derived files may come and go, also in finished runs.
func TestOnce(t *testing.T) {
	root := t.TempDir()
	other := filepath.Join(t.TempDir(), "other")
	check(t, os.WriteFile(other, []byte("other"), 0o666))
	r := mustCreate(t, root)
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	log, page := File{Path: "a.log", Kind: KindLog}, File{Path: "derived/report.html", Kind: KindReport}
	check(t, r.Write(log, text("first")))
	check(t, r.Write(page, text("first")))

	wantError(t, r.Write(log, text("second")), "a.log: file already exists")
	wantError(t, r.AddFile(log, other), "a.log: file already exists")
	wantError(t, r.AddFile(log, ""), "already has a file a.log")
	check(t, r.Write(page, text("second")))

	failed := errors.New("no more rows")
	if err := r.Write(File{Path: "b.log", Kind: KindLog}, func(w io.Writer) error {
		io.WriteString(w, "half")
		return failed
	}); !errors.Is(err, failed) {
		t.Errorf("%v, want the failure", err)
	}
	check(t, r.Finish(Complete, nil))

	back := mustOpen(t, root, r.ID())
	wantError(t, back.Write(File{Path: "c.log", Kind: KindLog}, text("late")), "has ended: only files under derived/ can be added")
	wantError(t, back.AddFile(File{Path: "d.log", Kind: KindLog}, other), "has ended")
	wantError(t, back.Update(func(m *Manifest) { m.Model = "x" }), "has ended")
	check(t, back.AddFile(page, other))
	check(t, os.RemoveAll(back.Path("derived")))
	check(t, back.Write(page, text("third")))

	var have []string
	files, err := mustOpen(t, root, r.ID()).OnDisk()
	check(t, err)
	for _, f := range files {
		if f.Missing || f.Unlisted {
			t.Errorf("%s: missing %v, unlisted %v", f.Path, f.Missing, f.Unlisted)
		}
		text, err := os.ReadFile(back.Path(f.Path))
		check(t, err)
		have = append(have, f.Path+" "+string(text))
	}
	if want := []string{"a.log first", "derived/report.html third"}; !slices.Equal(have, want) {
		t.Errorf("the run holds %q, want %q", have, want)
	}
}

// Several processes may add derived files to a finished run.
func TestDerivedAtOnce(t *testing.T) {
	root := t.TempDir()
	r := mustCreate(t, root)
	check(t, r.Finish(Complete, nil))
	var wg sync.WaitGroup
	names := []string{"derived/a", "derived/b", "derived/c", "derived/d"}
	for _, name := range names {
		one := mustOpen(t, root, r.ID())
		wg.Go(func() {
			if err := one.Write(File{Path: name, Kind: KindReport}, func(w io.Writer) error { return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if files := mustOpen(t, root, r.ID()).Files(KindReport); len(files) != len(names) {
		t.Errorf("%d files of %d are named", len(files), len(names))
	}
}

// Only files inside the run directory become part of a run.
func TestAddFileRefuses(t *testing.T) {
	r, out := mustCreate(t, t.TempDir()), t.TempDir()
	file := filepath.Join(out, "file")
	check(t, os.WriteFile(file, nil, 0o666))
	check(t, os.Mkdir(r.Path("dir"), 0o777))
	for _, c := range []struct{ path, from, want string }{
		{"../out", file, "is not in the run directory"},
		{"a/../../out", file, "is not in the run directory"},
		{"/tmp/out", file, "is not in the run directory"},
		{"a//b", file, "is not in the run directory"},
		{`a\b`, file, "is not in the run directory"},
		{"", file, "is not in the run directory"},
		{"manifest.json", file, "has a reserved name"},
		{".lock", file, "has a reserved name"},
		{"a", filepath.Join(out, "none"), "no such file"},
		{"a", out, "is not a regular file"},
		{"a", "", "no such file"},
		{"dir", "", "is not a regular file"},
		{"dir", file, "file already exists"},
	} {
		wantError(t, r.AddFile(File{Path: c.path, Kind: KindLog}, c.from), c.want)
	}
	wantError(t, r.AddFile(File{Path: "a"}, file), "has no kind")
	if files := r.Files(); len(files) > 0 {
		t.Errorf("the manifest names %+v", files)
	}
}

// A symbolic link is followed once; a trace on another file system is copied.
func TestAddFileLinks(t *testing.T) {
	r, out := mustCreate(t, t.TempDir()), t.TempDir()
	check(t, os.WriteFile(filepath.Join(out, "real"), []byte("events"), 0o666))
	link := filepath.Join(out, "link")
	if err := os.Symlink("real", link); err != nil {
		t.Skip(err)
	}
	check(t, r.AddFile(File{Path: "traces/t", Kind: KindTrace}, link))
	if st, err := os.Lstat(r.Path("traces/t")); err != nil || !st.Mode().IsRegular() || st.Size() != 6 {
		t.Errorf("%v %v, want the file behind the link", st, err)
	}
	check(t, copyFile(link, r.Path("traces/copy")))
	if text, err := os.ReadFile(r.Path("traces/copy")); err != nil || string(text) != "events" {
		t.Errorf("the copy holds %q, %v", text, err)
	}
}

// Create fails early for errors that would otherwise follow the load.
func TestCreateRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(file, nil, 0o666))
	locked := filepath.Join(t.TempDir(), "locked")
	check(t, os.Mkdir(locked, 0o555))
	type row struct {
		name, root string
		kind       string
		want       int64
		text       string
	}
	rows := []row{
		{"a file in the way", file, "bench", 0, "not a directory"},
		{"below a file", filepath.Join(file, "runs"), "bench", 0, "not a directory"},
		{"more than any disk has", t.TempDir(), "bench", 1 << 60, "no space left on device: 1099511627776 MB needed, "},
		{"no kind", t.TempDir(), "Bench 1", 0, "lower-case letters"},
	}
	if os.Getuid() != 0 {
		rows = append(rows, row{"not ours to write", locked, "bench", 0, "permission denied; choose another directory with --run-dir"})
	}
	for _, c := range rows {
		r, err := Create(c.root, About{Kind: c.kind}, c.want)
		if r != nil {
			t.Errorf("%s: a run in %s", c.name, r.Dir())
		}
		wantError(t, err, c.text)
		if left, _ := os.ReadDir(c.root); len(left) > 0 {
			t.Errorf("%s: %s is left behind", c.name, left[0].Name())
		}
	}
	if _, err := Create(t.TempDir(), about, 1<<60); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v is not ENOSPC", err)
	}
}

// Ids are unique and sort by time, however many runs begin in one second.
func TestIDs(t *testing.T) {
	root := t.TempDir()
	clock := time.Date(2025, 11, 22, 14, 22, 33, 0, time.FixedZone("", 3600))
	ids := make([]string, 60)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			r, err := create(root, about, 0, func() time.Time { return clock })
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = r.ID()
			if err := r.Finish(Complete, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	slices.Sort(ids)
	if n := len(slices.Compact(slices.Clone(ids))); n != len(ids) {
		t.Errorf("%d runs share %d ids", len(ids), n)
	}
	for _, id := range ids {
		if !strings.HasPrefix(id, "20251122-132233-bench-") {
			t.Errorf("id %s, want the time in UTC first", id)
		}
	}
	if later := newID(clock.Add(time.Second), "bench"); later <= ids[len(ids)-1] {
		t.Errorf("%s does not sort after %s", later, ids[len(ids)-1])
	}
}

func TestDataHome(t *testing.T) {
	for _, c := range []struct {
		system string
		env    map[string]string
		want   string // "": an error
	}{
		{"linux", map[string]string{"HOME": "/home/u"}, "/home/u/.local/share"},
		{"linux", map[string]string{"HOME": "/home/u", "XDG_DATA_HOME": "/data"}, "/data"},
		{"linux", map[string]string{"HOME": "/home/u", "XDG_DATA_HOME": "data"}, "/home/u/.local/share"},
		{"darwin", map[string]string{"HOME": "/Users/u"}, "/Users/u/Library/Application Support"},
		{"darwin", map[string]string{"HOME": "/Users/u", "XDG_DATA_HOME": "/data"}, "/data"},
		{"linux", nil, ""},
		{"linux", map[string]string{"HOME": "."}, ""},
	} {
		got, err := dataHome(c.system, func(name string) string { return c.env[name] })
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s with %v: %q, %v; want %q", c.system, c.env, got, err, c.want)
		}
	}
}

func TestRedact(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"--model m --num-prompts 10", "--model m --num-prompts 10"},
		{"--api-key k --model m", "--api-key *** --model m"},
		{"--api-key=k m", "--api-key=*** m"},
		{"--api-key -k --seed 1", "--api-key *** --seed 1"},
		{"--admin_api_key k", "--admin_api_key ***"},
		{"--hf-token t --tokenizer t", "--hf-token *** --tokenizer t"},
		{"--num-tokens 5 --tokens-per-second 7", "--num-tokens 5 --tokens-per-second 7"},
		{"--header Authorization=k X-Id:1 --seed 1", "--header Authorization=*** X-Id:*** --seed 1"},
		{"-H Authorization:k", "-H Authorization:***"},
		{"--header=Authorization=k", "--header=Authorization=***"},
		{"--base-url http://u:p@host:1/v1", "--base-url http://u:***@host:1/v1"},
		{"--alertmanager http://token@am:1/p --alertmanager=https://u:p@am?q=token --seed 1", "--alertmanager http://***@am:1/p --alertmanager=https://***@am?*** --seed 1"},
		{"--base-url=http://host:1/a@b", "--base-url=http://host:1/a@b"},
	} {
		if got := strings.Join(redact(strings.Split(c.in, " ")), " "); got != c.want {
			t.Errorf("%s is stored as %s, want %s", c.in, got, c.want)
		}
	}
}
