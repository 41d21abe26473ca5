package nsys

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// parents returns a map from each visible process to its parent. The map is empty on systems without /proc.
func parents() map[int]int {
	out := map[int]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		pid, parent, ok := parseStat(text)
		if ok {
			out[pid] = parent
		}
	}
	return out
}

// parseStat parses /proc/PID/stat: pid (name) state ppid …. The name may contain any characters, such as parentheses.
func parseStat(text []byte) (pid, parent int, ok bool) {
	end := bytes.LastIndexByte(text, ')')
	begin := bytes.IndexByte(text, '(')
	if begin < 1 || end < begin {
		return 0, 0, false
	}
	rest := strings.Fields(string(text[end+1:]))
	if len(rest) < 2 {
		return 0, 0, false
	}
	pid, err1 := strconv.Atoi(strings.TrimSpace(string(text[:begin])))
	parent, err2 := strconv.Atoi(rest[1])
	return pid, parent, err1 == nil && err2 == nil
}

func children(all map[int]int, pid int) (out []int) {
	for p, parent := range all {
		if parent == pid {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// arguments returns the arguments of a process, or nil if the process has ended or is not readable.
func arguments(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
}

// target returns the process of the program that nsys started. In the process tree, nsys is the parent of
// nsys-launcher, and nsys-launcher is the parent of the program and of nsys-tee.
func target(nsys int) int {
	all := parents()
	for _, launcher := range children(all, nsys) {
		args := arguments(launcher)
		if len(args) == 0 || filepath.Base(args[0]) != "nsys-launcher" {
			continue
		}
		for _, p := range children(all, launcher) {
			// Skip the fork of the launcher that has not yet executed the program.
			if args := arguments(p); len(args) > 0 && !slices.Contains([]string{"nsys-tee", "nsys-launcher"}, filepath.Base(args[0])) {
				return p
			}
		}
	}
	return 0
}

// SessionOf returns the id of the session to which a process belongs, or "" if the session is unknown. nsys puts the id
// into the environment of the program, and child processes inherit the environment. If pid is nsys itself, SessionOf
// searches the descendants of nsys.
func SessionOf(pid int) string {
	all := parents()
	for next := []int{pid}; len(next) > 0; next = next[1:] {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", next[0]))
		if err == nil {
			for e := range bytes.SplitSeq(text, []byte{0}) {
				if id, ok := bytes.CutPrefix(e, []byte("NSYS_PROFILING_SESSION_ID=")); ok {
					return string(id)
				}
			}
		}
		next = append(next, children(all, next[0])...)
	}
	return ""
}

// Alive reports whether a process is running.
func Alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	end := bytes.LastIndexByte(text, ')')
	return end >= 0 && !bytes.HasPrefix(text[end+1:], []byte(" Z"))
}

// orphan kills the agent that nsys left behind when it failed to start the session.
func orphan(session string) {
	for pid := range parents() {
		args := arguments(pid)
		if slices.Contains(args, "--start-agent") && slices.Contains(args, "--session-name="+session) {
			if p, err := os.FindProcess(pid); err == nil {
				p.Kill()
			}
		}
	}
}
