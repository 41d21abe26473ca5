//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package runs

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// A lock is the kernel's, so it ends with its process however that ends, and
// holds between hosts where the file system has such (NFS does).

// lock locks a file of that name, for this process alone, or says ErrRunning. A
// file system without locks gives one that nobody sees.
func lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if errors.Is(flock(f, unix.LOCK_EX), unix.EWOULDBLOCK) {
		f.Close()
		return nil, ErrRunning
	}
	return f, nil
}

// held tells whether a process has the lock; true where that cannot be known.
func held(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	defer f.Close()
	return flock(f, unix.LOCK_SH) != nil
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB); err != unix.EINTR {
			return err
		}
	}
}
