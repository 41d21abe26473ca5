//go:build unix

package browsertest

import (
	"os/exec"
	"syscall"
)

// ends makes the helper processes of cmd end together with cmd. A browser has about a dozen helper processes.
func ends(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// kill kills cmd and its helper processes.
func kill(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
