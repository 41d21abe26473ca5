// Package memory limits the memory of a process, so that the machine does not swap.
package memory

import (
	"errors"
	"math"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// Parse parses a number of bytes with an optional unit. Units are powers of 1000 (kB, MB, GB, TB, or only the first
// letter) or powers of 1024 (KiB, MiB, and so on).
func Parse(s string) (int64, error) {
	number := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	unit := strings.ToLower(strings.TrimSpace(s[len(number):]))
	base := 1000.0
	if rest, ok := strings.CutSuffix(unit, "ib"); ok {
		unit, base = rest, 1024
	}
	power := 0
	if unit = strings.TrimSuffix(unit, "b"); unit != "" {
		if power = strings.Index(" kmgt", unit); len(unit) > 1 {
			power = -1
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if n *= math.Pow(base, float64(power)); err != nil || power < 0 || !(n >= 1 && n < 1<<62) {
		return 0, errors.New("give a number of bytes, such as 8GB or 512MiB")
	}
	return int64(n), nil
}

// Machine returns the memory in bytes of this machine, of the process's control group, or of the address space that the
// process may use, whichever is least. It returns 0 if the system does not report it.
func Machine() int64 {
	most := machine("/")
	if limit := addressSpace(); limit > 0 {
		// The runtime reserves most of the first gigabyte of the address space for its tables.
		if limit = max(limit-1e9, 1e8); most == 0 || limit < most {
			most = limit
		}
	}
	return most
}

func machine(root string) (most int64) {
	less := func(n int64) {
		if n > 0 && (most == 0 || n < most) {
			most = n
		}
	}
	read := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(root, name))
		return string(text)
	}
	for line := range strings.Lines(read("proc/meminfo")) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			less(kib << 10)
		}
	}
	// A line is ID:CONTROLLERS:PATH. The limits of parent groups also apply. In a container the path may be the host's
	// path, which does not exist in the container. In that case the root directory describes the container's group.
	for line := range strings.Lines(read("proc/self/cgroup")) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, ok := strings.Cut(rest, ":")
		dir, file := "sys/fs/cgroup", "memory.max"
		if controllers != "" {
			dir, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		if !ok || controllers != "" && !strings.Contains(","+controllers+",", ",memory,") {
			continue
		}
		for group = path.Join("/", group); ; group = path.Dir(group) {
			n, _ := strconv.ParseInt(strings.TrimSpace(read(filepath.Join(dir, group, file))), 10, 64) // "max" parses as 0
			less(n)
			if group == "/" {
				break
			}
		}
	}
	return most
}

// look is the interval between checks of the memory in use. In that time a process allocates about ten megabytes.
const look = 10 * time.Millisecond

// share is the GOGC percentage, half of Go's default. This value saves a third of the memory, and the additional
// collections cost next to nothing because tables without pointers need no scan.
const share = 50

// Watch makes the garbage collector run more often, especially when the memory in use is near limit. If the memory in
// use exceeds limit nevertheless, Watch calls over once. stop ends the check and restores the settings of the
// collector.
func Watch(limit int64, over func()) (stop func()) {
	before := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(before, limit))
	percent := debug.SetGCPercent(share)
	if os.Getenv("GOGC") != "" { // the user has set the percentage
		debug.SetGCPercent(percent)
	}
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(look)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if exceeds(limit) {
				select {
				case <-done: // stop was called while the collector was running
				default:
					over()
				}
				return
			}
		}
	}()
	return func() {
		close(done)
		debug.SetMemoryLimit(before)
		debug.SetGCPercent(percent)
	}
}

// exceeds reports whether the live heap is larger than limit. The collector stays within the limit as long as it can.
// If the heap exceeds the limit by more than a quarter, the excess may be garbage. So exceeds then runs the collector
// before it decides.
func exceeds(limit int64) bool {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	if s[1].Value.Uint64() > uint64(limit)+uint64(limit)/4 {
		runtime.GC()
		metrics.Read(s)
	}
	return s[0].Value.Uint64() > uint64(limit)
}
