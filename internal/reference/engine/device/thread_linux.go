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

// threadTime is the current thread's CPU time in ns; 0: unknown.
func threadTime() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return t.Nano()
}

// HostClock returns the id of this boot of the host, or "" if it is unknown, and the number of ns by which Now is ahead
// of the clock that all processes of the host share.
func HostClock() (boot string, ahead int64) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", 0
	}
	// The two clocks cannot be read at the same time. Therefore read them several times and use the attempt in which
	// the two readings are closest together. In the other attempts the thread may have lost its core between the
	// readings.
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
