//go:build !linux

package device

import "os"

// threadID stands in where Go knows no ids of threads.
func threadID() int { return os.Getpid() }

// threadTime is how long the current thread has run on a core: not known here.
func threadTime() int64 { return 0 }

// HostClock tells nothing here.
func HostClock() (boot string, ahead int64) { return "", 0 }
