package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// noCUDARange explains why nsys -c cudaProfilerApi records nothing.
const noCUDARange = "stepscope serve has no GPU and never calls cudaProfilerStart, so no range can begin"

// ownServer reports whether a command is stepscope serve.
func ownServer(command []string) bool {
	return len(command) > 1 && filepath.Base(command[0]) == "stepscope" && slices.Contains(command[1:], "serve")
}

// waitsForCUDA reports whether a command line runs nsys in such a way that nsys starts recording at cudaProfilerStart.
func waitsForCUDA(args []string) bool {
	if len(args) == 0 || !strings.HasPrefix(filepath.Base(args[0]), "nsys") {
		return false
	}
	for i, a := range args[1:] {
		name, value, _ := strings.Cut(a, "=")
		if (name == "-c" || name == "--capture-range") && value == "" && i+2 < len(args) {
			value = args[i+2]
		}
		if slices.Contains([]string{"-c", "--capture-range", "-ccudaProfilerApi"}, name) && (value == "cudaProfilerApi" || name == "-ccudaProfilerApi") {
			return true
		}
	}
	return false
}

// underCUDARange reports whether this process runs under an nsys that waits for a CUDA profiler range. It finds the
// ancestors of this process in /proc, so it works only on Linux.
func underCUDARange() bool {
	for pid, n := os.Getppid(), 0; pid > 1 && n < 6; n++ {
		dir := filepath.Join("/proc", strconv.Itoa(pid))
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil {
			return false
		}
		if waitsForCUDA(strings.Split(string(line), "\x00")) {
			return true
		}
		stat, _ := os.ReadFile(filepath.Join(dir, "stat"))
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 2 {
			return false
		}
		if pid, err = strconv.Atoi(string(fields[1])); err != nil {
			return false
		}
	}
	return false
}
