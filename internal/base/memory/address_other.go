//go:build !linux

package memory

// addressSpace returns 0: only Linux enforces the limit on the address space.
func addressSpace() int64 { return 0 }

// Supervise does nothing: only Linux enforces the limit on the address space.
func Supervise() (status int, done bool) { return 0, false }
