package prep

import (
	"strings"

	"github.com/stepscope/stepscope/trace"
)

// overhead is the kind of a span of category Overhead. In this category, CUPTI reports the cost of its own records. It
// also reports work that the driver does for the program whether or not the program is recorded.
type overhead uint8

const (
	profilers    overhead = iota // the profiler's instrumentation, buffers and resources, and unknown kinds
	loading                      // the driver loads or compiles code on first use
	backPressure                 // the host ran ahead until no more work could be queued
)

// overheads lists the kinds of overhead that the profiler does not cause, by substrings of the names that libkineto
// (overheadKindString) and nsys give to CUPTI's kinds.
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

// overheadSpans returns the intervals of one kind of overhead on any thread, since the tracks of such spans do not
// identify the thread.
func overheadSpans(t *trace.Trace, kind overhead) []Interval {
	return intervals(t, func(s *trace.Span) bool {
		return s.Cat == trace.Overhead && overheadOf(t.Strings.Get(s.Name)) == kind
	})
}
