//go:build unix && !linux

package job

import "syscall"

// apart gives a process a session of its own, by which all that it starts is found again.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
