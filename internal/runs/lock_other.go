//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package runs

import "io"

// Without flock, a manifest with status running is trusted.

func lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

func held(string) bool { return true }
