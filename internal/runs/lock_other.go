//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package runs

import "io"

// Without flock, the status "running" in a manifest is assumed to be true.

func lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

func held(string) bool { return true }
