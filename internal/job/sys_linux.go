package job

import "syscall"

// apart returns attributes that start a process in a new session. All descendants of the process can be found by this
// session. The process receives TERM when the thread that started the process ends.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM}
}
