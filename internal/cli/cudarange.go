package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// noCUDARange is why -c cudaProfilerApi records nothing.
const noCUDARange = "stepscope serve has no GPU and calls no cudaProfilerStart, so that no range can come"

// ownServer tells whether a command is this program's server.
func ownServer(command []string) bool {
	return len(command) > 1 && filepath.Base(command[0]) == "stepscope" && slices.Contains(command[1:], "serve")
}

// waitsForCUDA tells whether a command line is that of an nsys which records from cudaProfilerStart on.
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

// underCUDARange tells whether an nsys that started this process waits for a range of CUDA: Linux says who began whom.
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
