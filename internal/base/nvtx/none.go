//go:build !linux || !(amd64 || arm64) || static

package nvtx

import (
	"errors"
	"os"
)

// Attached reports whether a tool is attached. This build does not support tools.
func Attached() (bool, error) {
	if os.Getenv(EnvPath) != "" {
		return false, errors.New("this build cannot load the library that " + EnvPath + " names: it is static, or not for Linux on amd64 or arm64")
	}
	return false, nil
}

// Exit ends the process.
func Exit(status int) { os.Exit(status) }

// Thread is an operating-system thread whose ranges nest.
type Thread struct{}

// NewThread returns nil, because no tool can be attached.
func NewThread() *Thread { return nil }

// Bind, Push and Pop do nothing.
func (*Thread) Bind(string) {}
func (*Thread) Push(string) {}
func (*Thread) Pop()        {}

// Range is a range that any goroutine may start or end.
type Range struct{}

// NewRange returns nil, because no tool can be attached.
func NewRange(domain, name string) *Range { return nil }

// Start and End do nothing.
func (*Range) Start() {}
func (*Range) End()   {}
