//go:build unix

package runs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stepscope/stepscope/bench"
)

// The crashes are real: the test runs itself again as a process that writes a run and kills itself at a given step.

const crashAt, crashIn = "STORE_TEST_CRASH_AT", "STORE_TEST_CRASH_IN"

func TestMain(m *testing.M) {
	if step := os.Getenv(crashAt); step != "" {
		writeUntil(step, os.Getenv(crashIn))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// writeUntil writes a run and is killed after the named step.
func writeUntil(last, root string) {
	step := func(name string, err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, name, err)
			os.Exit(1)
		}
		if name == last {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	r, err := Create(root, about, 0)
	step("create", err)
	step("log", os.WriteFile(r.Path("server.log"), []byte("ready\n"), 0o666))
	step("named", r.AddFile(File{Path: "server.log", Kind: KindLog}, ""))
	w, err := r.WriteRecords()
	step("records", err)
	for i := range 100 {
		err = errors.Join(err, w.Add(&bench.Record{ID: "r", Index: i}))
	}
	step("flush", errors.Join(err, w.Flush()))
	step("add", w.Add(&bench.Record{Index: 100}))
	if last == "rename" { // the middle of Close
		step(last, errors.Join(w.Flush(), os.Rename(r.Path(RecordsFile+partSuffix), r.Path(RecordsFile))))
	}
	step("close", w.Close())
	step("trace", r.Write(File{Path: "traces/t", Kind: KindTrace}, func(w io.Writer) error {
		fmt.Fprint(w, "half")
		step("half", nil)
		return nil
	}))
	step("finish", r.Finish(Complete, nil))
}

func TestCrash(t *testing.T) {
	self, err := os.Executable()
	check(t, err)
	for _, c := range []struct {
		step    string
		status  Status
		records int    // -1: there are none
		end     error  // from reading them
		files   string // on disk; "?": not in the manifest
	}{
		{"create", Broken, -1, os.ErrNotExist, ""},
		{"log", Broken, -1, os.ErrNotExist, "?server.log"},
		{"named", Broken, -1, os.ErrNotExist, "server.log"},
		{"records", Broken, 0, ErrCut, "?records.jsonl.zst.part server.log"},
		{"flush", Broken, 100, ErrCut, "?records.jsonl.zst.part server.log"},
		{"add", Broken, 100, ErrCut, "?records.jsonl.zst.part server.log"},
		{"rename", Broken, 101, nil, "?records.jsonl.zst server.log"},
		{"close", Broken, 101, nil, "records.jsonl.zst server.log"},
		{"half", Broken, 101, nil, "records.jsonl.zst server.log ?traces/.t.*.tmp"},
		{"trace", Broken, 101, nil, "records.jsonl.zst server.log traces/t"},
		{"finish", Complete, 101, nil, "records.jsonl.zst server.log traces/t"},
	} {
		t.Run(c.step, func(t *testing.T) {
			root := t.TempDir()
			cmd := exec.CommandContext(t.Context(), self)
			cmd.Env = append(os.Environ(), crashAt+"="+c.step, crashIn+"="+root)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the process was not killed: %v\n%s", err, out)
			}

			list, err := List(root)
			check(t, err)
			if len(list) != 1 || list[0].Status != c.status || list[0].Model != "m" {
				t.Fatalf("the list is %+v, want one run with status %s", list, c.status)
			}
			r := mustOpen(t, root, list[0].ID)
			n, end := 0, error(nil)
			for rec, err := range r.Records() {
				if end = err; err == nil {
					if rec.Index != n {
						t.Errorf("record %d is number %d", n, rec.Index)
					}
					n++
				}
			}
			if n != max(c.records, 0) || !errors.Is(end, c.end) {
				t.Errorf("%d records, then %v; want %d, then %v", n, end, c.records, c.end)
			}
			found, err := r.OnDisk()
			check(t, err)
			var files []string
			for _, f := range found {
				name := f.Path
				if ok, _ := filepath.Match("traces/.t.*.tmp", name); ok {
					name = "traces/.t.*.tmp"
				}
				if f.Unlisted {
					name = "?" + name
				}
				files = append(files, name)
			}
			if got := strings.Join(files, " "); got != c.files {
				t.Errorf("on disk are %s, want %s", got, c.files)
			}
			check(t, Remove(r.Dir(), false))
			if list, err := List(root); err != nil || len(list) > 0 {
				t.Errorf("after removal: %v %v", list, err)
			}
		})
	}
}

// The leftovers of a process that dies while creating or removing a run are not a run, and are removed when the next
// one begins.
func TestSweep(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{".new-20251122-132233-bench-0001", ".new-20251122-132233-bench-0002", ".rm-20251122-132233-bench-0003-00000000"} {
		check(t, os.Mkdir(filepath.Join(root, dir), 0o777))
	}
	check(t, os.Chtimes(filepath.Join(root, ".new-20251122-132233-bench-0001"), time.Unix(1, 0), time.Unix(1, 0)))
	if list, err := List(root); err != nil || len(list) > 0 {
		t.Errorf("the list is %v, %v", list, err)
	}
	r := mustCreate(t, root)
	entries, err := os.ReadDir(root)
	check(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	// The second may belong to a run that is being created.
	if want := ".new-20251122-132233-bench-0002 " + r.ID(); strings.Join(names, " ") != want {
		t.Errorf("left %q, want %s", names, want)
	}
}

func TestRemove(t *testing.T) {
	root := t.TempDir()
	r := mustCreate(t, root)
	if err := Remove(r.Dir(), false); !errors.Is(err, ErrRunning) {
		t.Errorf("a run being written: %v", err)
	}
	check(t, Remove(r.Dir(), true))
	if err := r.Finish(Complete, nil); err == nil || r.Status() != Broken {
		t.Errorf("a removed run finished: %v, %s", err, r.Status())
	}

	notes := filepath.Join(root, "notes")
	check(t, os.Mkdir(notes, 0o777))
	if err := Remove(notes, true); !errors.Is(err, ErrNotFound) {
		t.Errorf("a directory that is not a run: %v", err)
	}
	damaged := mustCreate(t, root)
	check(t, damaged.Finish(Complete, nil))
	check(t, os.WriteFile(damaged.Path(manifestFile), []byte("{"), 0o666))
	check(t, Remove(damaged.Dir(), false))
	if entries, err := os.ReadDir(root); err != nil || len(entries) != 1 {
		t.Errorf("%v %v, want only the notes", entries, err)
	}
}
