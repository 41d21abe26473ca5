package atomicfile

import (
	"maps"
	"os"
	"slices"
	"sync"
)

// begun holds the names of unfinished and temporary files and directories. The value of each name is the function that
// removes the file or directory.
var begun = struct {
	sync.Mutex
	remove map[string]func(name string) error
}{remove: map[string]func(string) error{}}

// begin calls open, which creates a file or directory, and records its name.
func begin(open func() (name string, err error), remove func(string) error) error {
	begun.Lock()
	defer begun.Unlock()
	name, err := open()
	if err == nil {
		begun.remove[name] = remove
	}
	return err
}

// end removes name from begun and calls close, which must rename or remove the file or directory.
func end(name string, close func() error) error {
	begun.Lock()
	defer begun.Unlock()
	delete(begun.remove, name)
	return close()
}

// TempDir creates a directory for temporary files. remove deletes it and its contents.
func TempDir(pattern string) (dir string, remove func(), err error) {
	err = begin(func() (string, error) {
		dir, err = os.MkdirTemp("", pattern)
		return dir, err
	}, os.RemoveAll)
	return dir, func() { _ = end(dir, func() error { return os.RemoveAll(dir) }) }, err
}

// Dir creates a directory and its parents, for files to keep. Call done after the files are written: done removes the
// directory if it is empty and did not exist before.
func Dir(path string) (done func(), err error) {
	if _, err := os.Stat(path); err == nil {
		return func() {}, nil
	}
	err = begin(func() (string, error) { return path, os.MkdirAll(path, 0o777) }, os.Remove)
	return func() { _ = end(path, func() error { return os.Remove(path) }) }, err // fails if the directory is not empty
}

// Abandon removes everything that was begun and not finished. It is for a process that is about to exit. It keeps the
// lock, so that later calls of begin or end block until the process exits.
func Abandon() {
	begun.Lock()
	// Remove longer names first, so that the contents of a directory are removed before the directory.
	for _, name := range slices.SortedFunc(maps.Keys(begun.remove), func(a, b string) int { return len(b) - len(a) }) {
		_ = begun.remove[name](name)
	}
}
