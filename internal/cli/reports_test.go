package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// TestReports runs the verbs that work on text on reports of Nsight Systems.
// What stands for a report here holds the paths of traces, which are what its
// reader gives: ONE holds both ranks, A and B one each, BAD is none.
func TestReports(t *testing.T) {
	source := folder(t, map[string]string{
		"w-TP-0.trace.json": strings.Replace(stepTrace, "RANK", "0", 1), "w-TP-1.trace.json": strings.Replace(stepTrace, "RANK", "1", 1),
	})
	reader := func(ctx context.Context, f set.File) ([]*trace.Trace, error) {
		b, err := os.ReadFile(f.Path)
		if err != nil {
			return nil, err
		}
		if string(b) == "bad" {
			return nil, errors.New("no table of a report")
		}
		sets, err := set.Find(strings.Fields(string(b)))
		if err != nil {
			return nil, err
		}
		traces, _, err := read.ReadSet(ctx, sets[0], read.Options{})
		if strings.Contains(f.Path, "lossy") {
			traces[0].Notes = append(traces[0].Notes, trace.Note{Kind: trace.NoteNsysLost, Names: []string{"3 ranges lost"}, Count: 3})
		}
		return traces, err
	}
	rank := func(n string) string { return filepath.Join(source, "w-TP-"+n+".trace.json") }
	for _, c := range []struct {
		args   string
		status int
		stdout string // is in it
		stderr string
		files  string // in SET besides the reports, by name
	}{
		{"merge SET/one.nsys-rep", 0, "merged 2 of 2 files, ", "", "merged-one.trace.json.gz"},
		{"merge SET/a-0.nsys-rep SET/b-1.nsys-rep -o SET/x.pftrace", 0, "merged 2 of 2 files", "", "x.pftrace"},
		{"merge SET/one.nsys-rep -o SET/one.nsys-rep", exitFailed, "", "is one of the inputs", ""},
		{"merge SET/bad.nsys-rep", exitFailed, "", "bad.nsys-rep: no table of a report", ""},
		{"merge SET/bad.nsys-rep SET/one.nsys-rep", exitIncomplete, "merged 2 of 2", "bad.nsys-rep: no table of a report", "merged-bad.trace.json.gz"},
		{"merge SET/lossy.nsys-rep", exitIncomplete, "merged 2 of 2", "lossy.nsys-rep: nsys: 3 ranges lost", "merged-lossy.trace.json.gz"},
		{"cut SET/one.nsys-rep --steps 1 -o SET/out", 0, "cut-one-TP-1.trace.json.gz: ", "", "out"},
		{"cut SET/one.nsys-rep --steps 0-1 --merge", 0, "merged-cut-one.trace.json.gz", "", "merged-cut-one.trace.json.gz"},
		{"cut SET/one.nsys-rep --steps 1-5 -o SET/out", exitIncomplete, "", "SET/one.nsys-rep (TP00): has only 2 steps", "out"},
		{"check SET/one.nsys-rep", 0, "2 decode", "", ""},
		{"check SET/one.nsys-rep --json", 0, `"path": "SET/one.nsys-rep (TP00)"`, "", ""},
		{"open SET/bad.nsys-rep", exitFailed, "", "bad.nsys-rep: no table of a report", ""},
	} {
		t.Run(c.args, func(t *testing.T) {
			tmp := t.TempDir()
			t.Setenv("TMPDIR", tmp)
			reports := map[string]string{
				"one.nsys-rep": rank("0") + " " + rank("1"), "lossy.nsys-rep": rank("0") + " " + rank("1"),
				"a-0.nsys-rep": rank("0"), "b-1.nsys-rep": rank("1"), "bad.nsys-rep": "bad",
			}
			set := folder(t, reports)
			put := strings.NewReplacer("SET", set)
			var stdout, stderr strings.Builder
			e := newEnv(strings.NewReader(""), &stdout, &stderr)
			e.report = reader
			if got := e.main(context.Background(), strings.Fields("trace "+put.Replace(c.args))); got != c.status {
				t.Errorf("status %d, want %d", got, c.status)
			}
			if want := put.Replace(c.stdout); !strings.Contains(stdout.String(), want) {
				t.Errorf("stdout %q", stdout.String())
			}
			if want := put.Replace(c.stderr); !strings.Contains(stderr.String(), want) || c.status == 0 && stderr.Len() > 0 {
				t.Errorf("stderr %q", stderr.String())
			}
			if strings.Contains(stdout.String()+stderr.String(), tmp) {
				t.Errorf("files of our own are named: %s%s", stdout.String(), stderr.String())
			}
			var have []string
			for _, f := range list(t, set) {
				if reports[f] == "" {
					have = append(have, f)
				}
			}
			if want := strings.Fields(c.files); !slices.Equal(have, want) {
				t.Errorf("files %q, want %q", have, want)
			}
			if left := list(t, tmp); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range entries {
		names = append(names, f.Name())
	}
	return names
}

// An interrupted conversion leaves nothing behind.
func TestReportsInterrupted(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	ctx, cancel := context.WithCancel(context.Background())
	e := newEnv(nil, io.Discard, io.Discard)
	e.report = func(context.Context, set.File) ([]*trace.Trace, error) {
		cancel()
		return []*trace.Trace{{}}, nil
	}
	set := set.Set{Files: []set.File{{Path: "a.nsys-rep"}}}
	if _, err := e.asText(ctx, read.Options{}, set, false); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left := list(t, tmp); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
