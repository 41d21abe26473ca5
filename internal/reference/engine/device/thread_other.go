//go:build !linux

package device

import "os"

// threadID returns the process id, because Go exposes no thread ids on this system.
func threadID() int { return os.Getpid() }

// threadTime returns 0: the time is unknown on this system.
func threadTime() int64 { return 0 }

// HostClock returns nothing on this system.
func HostClock() (boot string, ahead int64) { return "", 0 }
