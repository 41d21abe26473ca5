package job

import "syscall"

// apart starts a process in a session of its own, by which all its descendants can be found. The process receives TERM
// when the thread that started it ends.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM}
}
