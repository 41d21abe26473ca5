package atomicfile

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// Open opens a regular file for reading. For a pipe, a socket or a device, which could block the reader for ever, it
// returns an error at once. A descriptor that the shell has opened for the process (/dev/fd/63) may be a pipe.
func Open(path string) (*os.File, error) {
	if strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/self/fd/") {
		return os.Open(path)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() && !st.IsDir() {
		err = fmt.Errorf("%s is not a regular file: remove it, or write its content to a file", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ReadAtMost is ReadFile for files of at most n bytes. It returns an error for larger ones.
func ReadAtMost(path string, n int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, n+1))
	if err == nil && int64(len(text)) > n {
		return nil, fmt.Errorf("%s: larger than %d MB", path, n>>20)
	}
	return text, err
}

// ReadFile is [os.ReadFile] for regular files.
func ReadFile(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}
