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

// New is like [Write] for a file that must not exist yet. It does not replace an existing file and does not follow a
// link.
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
	defer keep(f)() // hold the lock until the file has its final name
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

// settle renames a temporary file to path unless path exists.
func settle(name, path string) error {
	defer os.Remove(name)
	err := os.Link(name, path)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s already exists and is not replaced", path)
	}
	// Not all file systems support links. On file systems without links, the check and the renaming are two separate
	// steps.
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, errors.ErrUnsupported) {
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s already exists and is not replaced", path)
		}
		return os.Rename(name, path)
	}
	return err
}

// leftOver matches the names that create gives to temporary files.
var leftOver = regexp.MustCompile(`^\.(.+)\.[0-9a-f]{8}\.tmp$`)

// forgotten is the age above which an empty, unlocked temporary file counts as abandoned. A live writer would have
// locked it by then.
const forgotten = time.Minute

// Salvage recovers the temporary files in dir that killed processes left behind, if want accepts the final name. It
// renames each file to its final name, even if only a part was written, and returns the final names. If a file with the
// final name already exists, the temporary file stays hidden.
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
		case err != nil || !lock(f): // the file is still being written
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
