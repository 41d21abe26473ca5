package set

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/packedtest"
	"github.com/stepscope/stepscope/trace"
)

// TestCopies copies and renames the files of a real capture; as recorded, each rank has its own file and no note.
func TestCopies(t *testing.T) {
	files, err := filepath.Glob("../../../testdata/traces/graphs/*TP-*")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	var texts [][]byte
	for _, f := range files[:2] {
		texts = append(texts, packedtest.Read(t, f))
	}
	rank0, rank1 := texts[0], texts[1]
	as1 := bytes.Replace(rank0, []byte(`"rank": 0`), []byte(`"rank": 1`), 1)
	if bytes.Equal(as1, rank0) {
		t.Fatal("the capture has no rank to change")
	}
	const name0, name1 = "9-TP-0.trace.json", "9-TP-1.trace.json"
	for _, c := range []struct {
		name  string
		files map[string][]byte
		keeps []string
		want  trace.NoteKind
	}{
		{"as recorded", map[string][]byte{name0: rank0, name1: rank1}, []string{name0, name1}, trace.NoNote},
		{"a copy under another rank's name", map[string][]byte{name0: rank0, name1: rank0}, []string{name0}, trace.NoteCopy},
		{"with the other rank in it", map[string][]byte{name0: rank0, name1: as1}, []string{name0}, trace.NoteCopy},
		{"shifted in time", map[string][]byte{name0: rank0, name1: shifted(as1)}, []string{name0}, trace.NoteCopy},
		{"names swapped", map[string][]byte{name0: rank1, name1: rank0}, []string{name0, name1}, trace.NoteOtherRank},
		{"a copy beside the window", map[string][]byte{name0: rank0, name1: rank1, "copy of " + name0: rank0}, []string{name0, name1}, trace.NoteRepeat},
		{"a copy with a number", map[string][]byte{name0: rank0, name1: rank1, "9-TP-0 (1).trace.json": rank0}, []string{name0, name1}, trace.NoteRepeat},
		{"a copy without a rank in its name", map[string][]byte{"trace.json": rank0, "trace (1).json": rank1, "trace copy.json": rank0}, []string{"trace (1).json", "trace.json"}, trace.NoteRepeat},
	} {
		dir := t.TempDir()
		for name, text := range c.files {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		sets, err := Find([]string{dir})
		if err != nil || len(sets) != 1 {
			t.Errorf("%s: got %d windows, %v, want one", c.name, len(sets), err)
			continue
		}
		var keeps []string
		for _, f := range sets[0].Files {
			keeps = append(keeps, filepath.Base(f.Path))
		}
		slices.Sort(keeps)
		if !slices.Equal(keeps, c.keeps) {
			t.Errorf("%s: kept %q, want %q", c.name, keeps, c.keeps)
		}
		if got := sets[0].Notes; c.want == trace.NoNote && len(got) > 0 || c.want != trace.NoNote && !slices.ContainsFunc(got, func(n trace.Note) bool { return n.Kind == c.want }) {
			t.Errorf("%s: got notes %q, want kind %d", c.name, got, c.want)
		}
	}
}

// shifted moves all times of a trace by 1 ms.
func shifted(text []byte) []byte {
	var b strings.Builder
	for i, part := range strings.Split(string(text), `"ts": `) {
		if i == 0 {
			b.WriteString(part)
			continue
		}
		var us float64
		number, rest, _ := strings.Cut(part, ",")
		if _, err := fmt.Sscan(number, &us); err != nil {
			b.WriteString(`"ts": ` + part)
			continue
		}
		fmt.Fprintf(&b, `"ts": %.3f,%s`, us+1000, rest)
	}
	return []byte(b.String())
}

// TestRankDirectories: if each rank wrote to its own directory, the hint gives all of them.
func TestRankDirectories(t *testing.T) {
	for _, c := range []struct {
		name  string
		ranks []int
		want  bool
	}{
		{"different ranks", []int{0, 1}, true},
		{"two servers", []int{0, 0}, false},
	} {
		dir := t.TempDir()
		for i, rank := range c.ranks {
			in := filepath.Join(dir, fmt.Sprintf("r%d", i))
			text := fmt.Sprintf(`{"distributedInfo": {"rank": %d, "world_size": 2}, "baseTimeNanoseconds": 5, "traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 1, "tid": 1, "ts": 1, "dur": %d}]}`, rank, i+1)
			if err := os.Mkdir(in, 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(in, "trace.json"), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		_, _, err := Choose(nil, []string{dir}, "")
		if err == nil || strings.HasSuffix(err.Error(), filepath.Join(dir, "*")) != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestCopiesOfCopies: the notes about copies are at the window that is kept, and each file is read to its end once.
func TestCopiesOfCopies(t *testing.T) {
	files, err := filepath.Glob("../../../testdata/traces/graphs/*TP-*")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, c := range []struct {
		name  string
		sizes []int // number of ranks of each window
		want  string
	}{
		{"largest last", []int{1, 2, 3}, "id2: 3 files, 3 notes"},
		{"largest first", []int{3, 2, 1}, "id0: 3 files, 3 notes"},
		{"no copy", []int{3}, "id0: 3 files, 0 notes"},
	} {
		dir := t.TempDir()
		for i, n := range c.sizes {
			for rank := range n {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("id%d-TP-%d.trace.json", i, rank)), packedtest.Read(t, files[rank]), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
		sets, err := Find([]string{dir})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range sets {
			got = append(got, fmt.Sprintf("%s: %d files, %d notes", s.ID, len(s.Files), len(s.Notes)))
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	path := filepath.Join(t.TempDir(), "a.json")
	if err := os.WriteFile(path, packedtest.Read(t, files[0]), 0o666); err != nil {
		t.Fatal(err)
	}
	h := ReadHead(File{Path: path}, nil)
	first := h.events()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if again := h.events(); first == 0 || again != first {
		t.Errorf("got hash %d and then %d", first, again)
	}
}
