package brief

import (
	"fmt"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/result"
)

func how(f *result.Finding) string { return "" }

// against states what speaks against a finding, or limits what it says.
func against(r *result.Report, f *result.Finding) []string {
	out := []string{}
	say := func(on bool, format string, args ...any) {
		if on {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	w := &f.Worth
	say(f.Profilers, "The profiler slows hosts and may have caused it; measure with little overhead (profile --lean), or give --reference.")
	say(f.Passing, "It ended before the capture did.")
	say(w.Known && w.AtMost, "The gain is an upper bound: it removes all of this time, which no change achieves.")
	say(w.Hidden, "Recording slows the hosts, which may hide the gain.")
	say(w.Little(), "Steps may not become shorter: other causes take its place.")
	_ = strings.Join
	_ = metric.Three
	_ = r
	return out
}
