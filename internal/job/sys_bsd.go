//go:build unix && !linux

package job

import "syscall"

// apart starts a process in a session of its own, by which all its descendants can be found.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
