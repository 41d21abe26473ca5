//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package runs

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// Locks are held by the kernel, so a lock ends with the process, regardless of how the process ends. Locks also work
// between hosts if the file system supports this, as NFS does.

// lock takes the exclusive lock on a file. If another process holds the lock, it returns ErrRunning. On a file system
// without locks it returns a lock that has no effect.
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

// held reports whether a process holds the lock on the file. If this is unknown, held returns true.
func held(name string) bool {
	f, err := atomicfile.Open(name)
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
