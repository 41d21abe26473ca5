//go:build !linux

package device

import "os"

// threadID stands in where Go knows no ids of threads.
func threadID() int { return os.Getpid() }
