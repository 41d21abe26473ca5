package job

import "syscall"

// apart gives a process a session of its own, by which all that it starts is found again. It is told to end when the
// thread that started it does.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM}
}
