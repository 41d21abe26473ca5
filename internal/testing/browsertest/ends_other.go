//go:build !unix

package browsertest

import "os/exec"

func ends(*exec.Cmd) {}

func kill(cmd *exec.Cmd) { cmd.Process.Kill() }
