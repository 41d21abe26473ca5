//go:build unix

package job

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// processes returns the processes that belong to a session and the processes that have the variable in their
// environment. The variable is needed because a program may start children in other sessions, as nsys does. seen is
// false on systems where processes cannot be listed.
func processes(leader int, variable string) (pids []int, seen bool) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		// Format: pid (name) state ppid pgrp session …; the name may contain any character, including ')'.
		f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if len(f) < 4 || f[0] == "Z" {
			continue
		}
		if f[3] != strconv.Itoa(leader) {
			env, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "environ"))
			if !slices.Contains(strings.Split(string(env), "\x00"), variable) {
				continue
			}
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, len(stats) > 0
}

// signalAll signals all processes of a task. If processes cannot be listed, it signals the process group of the task's
// first process.
func signalAll(leader int, variable string, sig syscall.Signal) error {
	pids, seen := processes(leader, variable)
	for _, pid := range pids {
		syscall.Kill(pid, sig)
	}
	if !seen {
		return syscall.Kill(-leader, sig)
	}
	return nil
}

// alive reports whether a process with this id exists.
func alive(pid int) bool { return syscall.Kill(pid, 0) != syscall.ESRCH }
