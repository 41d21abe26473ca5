package set

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// export makes the databases of a directory look like exports of reports, in everything that is checked.
func export(t *testing.T, dir string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		st, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte("SQLite format 3\x00 CREATE TABLE StringIds (id, value)"), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(p, st.ModTime(), st.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
}

// Files are listed oldest first.
func TestReports(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []string
		given []string // none: the directory
		want  string
		note  string
	}{
		{"a rank each", []string{"p-1.nsys-rep", "p-0.nsys-rep"}, nil, "p: p-0.nsys-rep p-1.nsys-rep", ""},
		{"a newer export", []string{"p-0.nsys-rep", "p-0.sqlite", "p-1.nsys-rep"}, nil, "p: p-0.sqlite p-1.nsys-rep", ".sqlite is read instead"},
		{"an older export", []string{"p-0.sqlite", "p-0.nsys-rep"}, nil, "p: p-0.nsys-rep", "left out: older than the report"},
		{"exports alone", []string{"a-TP-1.sqlite", "a-TP-0.sqlite"}, nil, "a: a-TP-0.sqlite a-TP-1.sqlite", ""},
		{"prefill and decode", []string{"decode_0.nsys-rep", "prefill_0.nsys-rep"}, nil, "workers: decode_0.nsys-rep prefill_0.nsys-rep", ""},
		{"of an old nsys", []string{"p-0.qdrep", "p-0.sqlite", "p-1.qdrep"}, nil, "p: p-0.sqlite p-1.qdrep", ".sqlite is read instead"},
		{"windows of one process", []string{"run.1.nsys-rep", "run.2.nsys-rep"}, nil, "run.2: run.2.nsys-rep; run.1: run.1.nsys-rep", ""},
		{"beside traces", []string{"7-TP-0.trace.json", "p-0.nsys-rep"}, nil, "p: p-0.nsys-rep; 7: 7-TP-0.trace.json", ""},
		{"given together", []string{"node-b.nsys-rep", "node-a.sqlite", "c.nsys-rep"}, []string{"node-b.nsys-rep", "node-a.sqlite"},
			"node-a: node-a.sqlite node-b.nsys-rep", ""},
		{"a report and its export given", []string{"a.nsys-rep", "a.sqlite"}, []string{"a.sqlite", "a.nsys-rep"}, "a: a.sqlite", ".sqlite is read instead"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := dir(t, c.files...)
			export(t, d)
			paths := []string{d}
			if c.given != nil {
				paths = nil
				for _, f := range c.given {
					paths = append(paths, filepath.Join(d, f))
				}
			}
			sets, err := Find(paths)
			if err != nil {
				t.Fatal(err)
			}
			if got := brief(sets); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			noted := ""
			for _, n := range sets[0].Notes {
				noted += n.Text()
			}
			if !strings.Contains(noted, c.note) || c.note == "" && noted != "" {
				t.Errorf("notes %q, want %q", noted, c.note)
			}
		})
	}
}

// Other databases beside traces are ignored. One given by name is a set, so that its reader can say what it is.
func TestOtherDatabases(t *testing.T) {
	d := dir(t, "7-TP-0.trace.json", "index.sqlite")
	sets, err := Find([]string{d})
	if err != nil || brief(sets) != "7: 7-TP-0.trace.json" {
		t.Errorf("%s, %v", brief(sets), err)
	}
	if sets, err = Find([]string{filepath.Join(d, "index.sqlite")}); err != nil || brief(sets) != "index: index.sqlite" {
		t.Errorf("%s, %v", brief(sets), err)
	}
}

// The files of rocprofv3 in one directory are the processes of one window. Of a process with two files one is read.
func TestProcesses(t *testing.T) {
	d := filepath.Join(t.TempDir(), "node1")
	if err := os.Mkdir(d, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"100_results.json": `{"rocprofiler-sdk-tool": []}`, "101_results.json": `{"rocprofiler-sdk-tool": []}`,
		"101_results.db": "SQLite format 3\x00 CREATE TABLE rocpd_kernel_dispatch_0001", "other.db": "SQLite format 3\x00", "truth.json": "{}",
	} {
		if err := os.WriteFile(filepath.Join(d, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	sets, err := Find([]string{d})
	if err != nil || brief(sets) != "node1: 100_results.json 101_results.db" {
		t.Errorf("%s, %v", brief(sets), err)
	}
}

// Several reports imply ranks by their numbers.
func TestHolesOfReports(t *testing.T) {
	d := dir(t, "p-2.nsys-rep", "q-1.nsys-rep", "q-3.nsys-rep")
	sets, err := Find([]string{d})
	if err != nil {
		t.Fatal(err)
	}
	var holes []string
	for _, s := range sets {
		for _, h := range s.Holes() {
			holes = append(holes, s.ID+" "+h.Rank.String())
		}
	}
	if want := []string{"q TP00", "q TP02"}; !slices.Equal(holes, want) {
		t.Errorf("%v, want %v", holes, want)
	}
}
