package device

import (
	"os"
	"strings"
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

// HostClock names this boot of the host, "" when that is not known, and gives by how
// much Now is ahead, in ns, of the clock that all processes of it share.
func HostClock() (boot string, ahead int64) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	var t unix.Timespec
	if err != nil || unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return "", 0
	}
	return strings.TrimSpace(string(text)), Now() - t.Nano()
}
