package prep

import (
	"strings"

	"github.com/stepscope/stepscope/trace"
)

// overhead is the kind of a span of category overhead. CUPTI reports there the cost of its own records, but also work
// of the driver for the program, recorded or not.
type overhead uint8

const (
	profilers    overhead = iota // instrumentation, buffers, resources, and unknown kinds
	loading                      // the driver loads or compiles code on first use
	backPressure                 // the host ran ahead until no more work could be queued
)

// overheads are substrings of the names that libkineto (overheadKindString) and nsys give to CUPTI's kinds of overhead
// that are not the profiler's.
var overheads = []struct {
	part string
	kind overhead
}{
	{"module loading", loading},
	{"lazy function loading", loading},
	{"driver compiler", loading},
	{"command buffer full", backPressure},
}

func overheadOf(name string) overhead {
	name = strings.ToLower(strings.ReplaceAll(name, "_", " "))
	for _, o := range overheads {
		if strings.Contains(name, o.part) {
			return o.kind
		}
	}
	return profilers
}

// overheadSpans returns the times of one kind of overhead. The spans' rows do not name the thread.
func overheadSpans(t *trace.Trace, kind overhead) []Interval {
	return intervals(t, func(s *trace.Span) bool {
		return s.Cat == trace.Overhead && overheadOf(t.Strings.Get(s.Name)) == kind
	})
}
