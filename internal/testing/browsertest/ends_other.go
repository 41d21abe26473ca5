//go:build !unix

package browsertest

import "os/exec"

func ends(*exec.Cmd) {}
