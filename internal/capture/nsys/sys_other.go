//go:build !unix

package nsys

import (
	"os"
	"os/exec"
)

func apart(*exec.Cmd) {}

func pass(_ os.Signal, pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}
