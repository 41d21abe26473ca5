//go:build unix

package browsertest

import (
	"os/exec"
	"syscall"
)

// ends makes the end of cmd also end its helpers: a browser is a dozen processes.
func ends(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
