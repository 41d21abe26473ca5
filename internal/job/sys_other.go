//go:build !unix

package job

import (
	"os"
	"syscall"
)

func apart() *syscall.SysProcAttr { return nil }

func processes(int, string) ([]int, bool) { return nil, false }

func signalAll(leader int, _ string, _ syscall.Signal) error {
	p, err := os.FindProcess(leader)
	if err != nil {
		return err
	}
	return p.Kill()
}

func alive(int) bool { return true }
