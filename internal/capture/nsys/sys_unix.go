//go:build unix

package nsys

import (
	"os"
	"os/exec"
	"syscall"
)

// apart makes cmd start in a separate session (setsid), so that Ctrl-C at the terminal reaches only this process. If
// Ctrl-C reached nsys, nsys would end the program before the report is complete.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// pass sends a signal to the program. Signals that a terminal would send to a process group are sent to the program's
// process group. nsys starts the program as the leader of that process group.
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
