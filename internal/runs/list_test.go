package runs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// runsIn makes n finished runs, a second apart, and returns their ids, newest first.
func runsIn(t *testing.T, root string, n int) (ids []string) {
	t.Helper()
	clock := time.Date(2025, 11, 22, 13, 22, 33, 5e8, time.UTC)
	for i := range n {
		clock = clock.Add(time.Second)
		r, err := create(root, about, 0, func() time.Time { return clock })
		check(t, err)
		check(t, r.Update(func(m *Manifest) { m.Numbers = []Number{{"ttft p50", float64(i) + 0.5, "ms"}} }))
		check(t, r.WriteJSON(File{Path: "summary.json", Kind: KindSummary}, i))
		check(t, r.Finish([]Status{Complete, Failed, Interrupted}[i%3], nil))
		ids = append([]string{r.ID()}, ids...)
	}
	return ids
}

func listed(t *testing.T, root string) (ids []string) {
	t.Helper()
	list, err := List(root)
	check(t, err)
	for _, e := range list {
		ids = append(ids, e.ID)
	}
	return ids
}

func TestList(t *testing.T) {
	root := t.TempDir()
	if list, err := List(filepath.Join(root, "none")); err != nil || len(list) > 0 {
		t.Errorf("without a directory: %v %v", list, err)
	}
	ids := runsIn(t, root, 4)
	list, err := List(root)
	check(t, err)
	if got := listed(t, root); !slices.Equal(got, ids) {
		t.Errorf("listed %q, want %q", got, ids)
	}
	e := list[0]
	size := stat(t, filepath.Join(root, e.ID, manifestFile)).Size() + stat(t, filepath.Join(root, e.ID, "summary.json")).Size()
	if e.Kind != "bench" || e.Tool != "bench serving" || e.Status != Complete || e.Model != "m" || e.Tags[0] != "baseline" ||
		e.Numbers[0] != (Number{"ttft p50", 3.5, "ms"}) || e.Size != size || e.Ended.Before(e.Created) {
		t.Errorf("the newest is %+v; its files have %d bytes", e, size)
	}
}

// The list follows the directories; the index written by older versions is ignored and left unchanged.
func TestListFollows(t *testing.T) {
	root := t.TempDir()
	ids := runsIn(t, root, 3)
	index := filepath.Join(root, "index.sqlite")
	check(t, os.WriteFile(index, []byte("old"), 0o666))

	running := mustCreate(t, root)
	list, err := List(root)
	check(t, err)
	if list[0].ID != running.ID() || list[0].Status != Running {
		t.Errorf("the newest is %s, %s", list[0].ID, list[0].Status)
	}
	check(t, running.Finish(Complete, nil))
	check(t, os.RemoveAll(filepath.Join(root, ids[0])))
	check(t, os.Rename(filepath.Join(root, ids[1]), filepath.Join(root, "my-baseline")))
	check(t, os.Mkdir(filepath.Join(root, "notes"), 0o777))
	check(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o666))
	want := []string{running.ID(), "my-baseline", ids[2]}
	for range 2 {
		if got := listed(t, root); !slices.Equal(got, want) {
			t.Errorf("listed %q, want %q", got, want)
		}
	}
	before, _ := List(root)
	derived := mustOpen(t, root, ids[2])
	check(t, derived.WriteJSON(File{Path: "derived/findings.json", Kind: KindReport}, "much to say"))
	after, _ := List(root)
	check(t, os.RemoveAll(derived.Path("derived")))
	last, _ := List(root)
	if !(after[2].Size > before[2].Size && last[2].Size < after[2].Size) {
		t.Errorf("sizes %d, %d with a derived file, %d without", before[2].Size, after[2].Size, last[2].Size)
	}
	if text, err := os.ReadFile(index); err != nil || string(text) != "old" {
		t.Errorf("the old index holds %q, %v", text, err)
	}
}

// Runs are added and removed while others list: a run that exists throughout is never missing.
func TestListAtOnce(t *testing.T) {
	root := t.TempDir()
	ids := runsIn(t, root, 5)
	done := make(chan struct{})
	var writers, readers sync.WaitGroup
	for range 3 {
		writers.Go(func() {
			for range 8 {
				r, err := Create(root, about, 0)
				if err == nil {
					err = r.Finish(Complete, nil)
				}
				if err == nil {
					err = Remove(r.Dir(), false)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
		readers.Go(func() {
			for {
				list, err := List(root)
				if err != nil {
					t.Error(err)
				}
				for _, id := range ids {
					if !slices.ContainsFunc(list, func(e Entry) bool { return e.ID == id && e.Status != Running && e.Status != Broken }) {
						t.Errorf("%s is missing", id)
					}
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	if got := listed(t, root); !slices.Equal(got, ids) {
		t.Errorf("listed %q, want %q", got, ids)
	}
}

func TestOpen(t *testing.T) {
	root := t.TempDir()
	for i, id := range []string{
		"20251122-132233-bench-a1b2", "20251122-132233-bench-c3d4", "20251123-090000-profile-a1b2", "20251124-090000-bench-beef", "baseline",
	} {
		check(t, os.Mkdir(filepath.Join(root, id), 0o777))
		created := fmt.Sprintf("2025-11-2%dT00:00:00.5Z", i)
		check(t, os.WriteFile(filepath.Join(root, id, manifestFile), []byte(strings.Replace(good, "2025-11-22T13:22:33.5Z", created, 1)), 0o666))
	}
	elsewhere := t.TempDir()
	for _, c := range []struct{ ref, want, text string }{
		{"20251122-132233-bench-a1b2", "20251122-132233-bench-a1b2", ""},
		{"20251124", "20251124-090000-bench-beef", ""},
		{"beef", "20251124-090000-bench-beef", ""},
		{"profile-a1b2", "20251123-090000-profile-a1b2", ""},
		{"base", "baseline", ""},
		{"last", "baseline", ""}, // by the creation time in its manifest
		{filepath.Join(root, "baseline"), "baseline", ""},
		{filepath.Join(root, "baseline") + "/", "baseline", ""},
		{"20251122", "", `"20251122" could be any of 20251122-132233-bench-a1b2, 20251122-132233-bench-c3d4`},
		{"a1b2", "", `"a1b2" could be any of 20251122-132233-bench-a1b2, 20251123-090000-profile-a1b2`},
		{"2", "", `c3d4, 20251123-`},
		{"nope", "", `no such run: "nope" in ` + root},
		{"", "", `no such run: "" in ` + root},
		{"eef", "", `no such run: "eef"`},
		{elsewhere, "", "no such run: " + elsewhere + " has no manifest.json"},
		{filepath.Join(elsewhere, "none"), "", "no such file or directory"},
		{"..", "", "no such run: .. has no manifest.json"},
	} {
		r, err := Open(root, c.ref)
		if c.text != "" {
			wantError(t, err, c.text)
			continue
		}
		if err != nil || r.ID() != c.want || r.Dir() != filepath.Join(root, c.want) {
			t.Errorf("%q is %+v, %v; want %s", c.ref, r, err, c.want)
		}
	}
	_, err := Open(t.TempDir(), "last")
	wantError(t, err, "no such run: there are none yet in ")
	if !errors.Is(err, ErrNotFound) {
		t.Error("not ErrNotFound")
	}
	// A directory here without a run of that name in the root.
	t.Chdir(root)
	if r, err := Open(elsewhere, "baseline"); err != nil || r.Dir() != filepath.Join(root, "baseline") {
		t.Errorf("%+v %v", r, err)
	}
}

// A run on another disk, linked from the root.
func TestLinkedRun(t *testing.T) {
	root, other := t.TempDir(), filepath.Join(t.TempDir(), "other")
	ids := runsIn(t, root, 1)
	check(t, os.Rename(filepath.Join(root, ids[0]), other))
	if err := os.Symlink(other, filepath.Join(root, ids[0])); err != nil {
		t.Skip(err)
	}
	list, err := List(root)
	check(t, err)
	if len(list) != 1 || list[0].ID != ids[0] || list[0].Size < stat(t, filepath.Join(other, manifestFile)).Size() {
		t.Errorf("listed %+v", list)
	}
	found, err := mustOpen(t, root, ids[0]).OnDisk()
	if err != nil || len(found) != 1 || found[0].Missing || found[0].Unlisted {
		t.Errorf("its files are %+v, %v", found, err)
	}
}

// BenchmarkList lists a thousand runs of five traces each.
func BenchmarkList(b *testing.B) {
	m, err := parseManifest([]byte(good))
	check(b, err)
	trace := m.Files[0]
	m.Files = nil
	for i := range 5 {
		trace.Path = fmt.Sprintf("traces/TP%02d.trace.json.gz", i)
		m.Files = append(m.Files, trace)
	}
	root := b.TempDir()
	for i := range 1000 {
		r := &Run{dir: filepath.Join(root, newID(time.Unix(int64(i), 0), "bench")), m: m}
		check(b, os.MkdirAll(r.Path("traces"), 0o777))
		check(b, m.write(r.dir))
		for _, f := range m.Files {
			check(b, os.WriteFile(r.Path(f.Path), []byte("trace"), 0o666))
		}
	}
	for b.Loop() {
		list, err := List(root)
		check(b, err)
		if len(list) != 1000 {
			b.Fatal(len(list))
		}
	}
}
