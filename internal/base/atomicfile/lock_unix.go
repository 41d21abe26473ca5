//go:build unix && !solaris && !aix

package atomicfile

import (
	"os"
	"syscall"
)

// lock marks a file as being written while it is open. It returns false if another process holds the lock.
func lock(f *os.File) bool {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return err != syscall.EWOULDBLOCK
}

// keep holds the lock of a file after the file is closed, until release is called.
func keep(f *os.File) (release func()) {
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		return func() {}
	}
	syscall.CloseOnExec(fd)
	return func() { syscall.Close(fd) }
}
