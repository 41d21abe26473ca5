//go:build !unix

package nsys

import (
	"errors"
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

// Become makes this process the program.
func Become(string, []string, []string) error { return errors.ErrUnsupported }
