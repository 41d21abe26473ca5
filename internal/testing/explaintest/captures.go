// Package explaintest reads real captures, puts faults into them, makes captures from toy traces, analyses them, and
// checks the reports. The tests of explain and of the packages below it share it.
package explaintest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/packedtest"
	"github.com/stepscope/stepscope/internal/testing/retime"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// Traces is the directory of the real captures in the repository.
var Traces = filepath.Join(root(), "testdata", "traces")

// root returns the root of the repository, seen from the folder of the package under test.
func root() string {
	dir := "."
	for range 9 {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Join("..", dir)
	}
	panic("the test does not run in the repository")
}

// ReadDir reads the newest window of directories, files, or a mixture.
func ReadDir(t testing.TB, paths ...string) []*trace.Trace {
	t.Helper()
	sets, err := set.Find(paths)
	if err != nil {
		t.Fatal(err)
	}
	ts, failures, err := read.ReadSet(context.Background(), sets[0], read.Options{})
	if err != nil || len(failures) > 0 {
		t.Fatal(err, failures)
	}
	return ts
}

// RealSet returns a copy of a set in the repository, which is read once.
func RealSet(t testing.TB, name string) []*trace.Trace {
	t.Helper()
	realSets.Lock()
	defer realSets.Unlock()
	if realSets.of[name] == nil {
		realSets.of[name] = ReadDir(t, filepath.Join(Traces, name))
	}
	return retime.Copy(realSets.of[name])
}

var realSets = struct {
	sync.Mutex
	of map[string][]*trace.Trace
}{of: map[string][]*trace.Trace{}}

// TextOf returns one rank's file of a set in the repository, decompressed.
func TextOf(t testing.TB, capture string, rank int) []byte {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(Traces, capture, fmt.Sprintf("*-TP-%d.trace.json*", rank)))
	if len(paths) != 1 {
		t.Fatalf("%s has no file of rank %d", capture, rank)
	}
	return packedtest.Read(t, paths[0])
}

// DirOf writes files, given as alternating NAME and text, into a new directory.
func DirOf(t testing.TB, files ...any) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, files[i].(string)), files[i+1].([]byte), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
