//go:build unix && !linux

package job

import "syscall"

// apart returns attributes that start a process in a new session. All descendants of the process can be found by this
// session.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
