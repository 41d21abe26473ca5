//go:build unix

package nsys

import (
	"os"
	"os/exec"
	"syscall"
)

// apart starts a process in a session of its own, so that Ctrl-C at the terminal reaches only this process: nsys would
// end the program before its report is complete.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// pass sends a signal to the program, or to its process group for signals that a terminal would send to the group. nsys
// starts the program as the leader of its own group.
func pass(sig os.Signal, pid int) error {
	s, ok := sig.(syscall.Signal)
	if !ok {
		return nil
	}
	if s == syscall.SIGINT {
		if group, err := syscall.Getpgid(pid); err == nil && group == pid {
			return syscall.Kill(-pid, s)
		}
	}
	return syscall.Kill(pid, s)
}
