package device

import (
	"math"
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
	if err != nil {
		return "", 0
	}
	// The two clocks cannot be read at once. Of several tries that counts between whose
	// readings least time passed: in another one the thread may have lost its core.
	least := int64(math.MaxInt64)
	for range 32 {
		var t unix.Timespec
		before := Now()
		if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
			return "", 0
		}
		if took := Now() - before; took < least {
			least, ahead = took, before+took/2-t.Nano()
		}
	}
	return strings.TrimSpace(string(text)), ahead
}
