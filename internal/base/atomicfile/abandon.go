package atomicfile

import (
	"maps"
	"os"
	"slices"
	"sync"
)

// begun are the files and directories that have no name of their own yet, or never get one, and what removes each.
var begun = struct {
	sync.Mutex
	remove map[string]func(name string) error
}{remove: map[string]func(string) error{}}

// begin notes what open makes, a file or a directory, of the name that it gives.
func begin(open func() (name string, err error), remove func(string) error) error {
	begun.Lock()
	defer begun.Unlock()
	name, err := open()
	if err == nil {
		begun.remove[name] = remove
	}
	return err
}

// end forgets what close renames or removes.
func end(name string, close func() error) error {
	begun.Lock()
	defer begun.Unlock()
	delete(begun.remove, name)
	return close()
}

// TempDir makes a directory for files that nobody keeps. remove removes it and what is in it.
func TempDir(pattern string) (dir string, remove func(), err error) {
	err = begin(func() (string, error) {
		dir, err = os.MkdirTemp("", pattern)
		return dir, err
	}, os.RemoveAll)
	return dir, func() { _ = end(dir, func() error { return os.RemoveAll(dir) }) }, err
}

// Dir makes a directory, with those above it, for files that are kept. done is called when these are written: if there
// are none it removes the directory again, unless it was there before.
func Dir(path string) (done func(), err error) {
	if _, err := os.Stat(path); err == nil {
		return func() {}, nil
	}
	err = begin(func() (string, error) { return path, os.MkdirAll(path, 0o777) }, os.Remove)
	return func() { _ = end(path, func() error { return os.Remove(path) }) }, err // refused where files are in it
}

// Abandon removes all that was begun and not finished, for a process that ends at once: nothing is begun or finished
// after it, who tries to waits for the end.
func Abandon() {
	begun.Lock()
	// What lies in a directory goes before it.
	for _, name := range slices.SortedFunc(maps.Keys(begun.remove), func(a, b string) int { return len(b) - len(a) }) {
		_ = begun.remove[name](name)
	}
}
