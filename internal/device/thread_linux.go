package device

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// threadID is the kernel's id of the current thread.
func threadID() int { return syscall.Gettid() }

// threadTime is how long the current thread has run on a core, in ns; 0: that is
// not known.
func threadTime() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return t.Nano()
}
