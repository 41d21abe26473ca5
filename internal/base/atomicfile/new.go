package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

// New is [Write] for a file that must not be there yet: neither a file nor a link of that name is followed or replaced.
func New(path string, fill func(io.Writer) error) (err error) {
	defer func() { err = named(path, err) }()
	f, err := create(path, 0o666)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 64<<10)
	if err = fill(w); err == nil {
		err = w.Flush()
	}
	defer keep(f)() // until it has its name
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return end(f.Name(), func() error {
		if err != nil {
			os.Remove(f.Name())
			return err
		}
		return settle(f.Name(), path)
	})
}

// settle gives a hidden file the name path, if nothing has it.
func settle(name, path string) error {
	defer os.Remove(name)
	err := os.Link(name, path)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already, and not replaced", path)
	}
	// Not all file systems have links. There the look and the renaming are two steps.
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, errors.ErrUnsupported) {
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s is there already, and not replaced", path)
		}
		return os.Rename(name, path)
	}
	return err
}

// leftOver is a name that create gives.
var leftOver = regexp.MustCompile(`^\.(.+)\.[0-9a-f]{8}\.tmp$`)

// forgotten is after what time an empty hidden file is nobody's any more: whoever writes one has locked it by then.
const forgotten = time.Minute

// Salvage gives files that a process was killed at, while it wrote them, their names: those of a directory whose names
// want chooses, and what there is of each. One that has been written since stays hidden. It gives the names.
func Salvage(dir string, want func(name string) bool) (saved []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		m := leftOver.FindStringSubmatch(e.Name())
		if m == nil || !e.Type().IsRegular() || !want(m[1]) {
			continue
		}
		name := filepath.Join(dir, e.Name())
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		info, err := f.Stat()
		switch {
		case err != nil || !lock(f): // somebody writes it
		case info.Size() == 0:
			if time.Since(info.ModTime()) > forgotten {
				os.Remove(name)
			}
		default:
			if _, err := os.Lstat(filepath.Join(dir, m[1])); err != nil && settle(name, filepath.Join(dir, m[1])) == nil {
				saved = append(saved, m[1])
			}
		}
		f.Close()
	}
	return saved
}
