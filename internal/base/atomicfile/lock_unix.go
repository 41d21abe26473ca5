//go:build unix && !solaris && !aix

package atomicfile

import (
	"os"
	"syscall"
)

// lock marks a file as one that is written, for as long as it is open; false: another has done so.
func lock(f *os.File) bool {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return err != syscall.EWOULDBLOCK
}

// keep holds the lock of a file beyond its closing, until release.
func keep(f *os.File) (release func()) {
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		return func() {}
	}
	syscall.CloseOnExec(fd)
	return func() { syscall.Close(fd) }
}
