package launch

import (
	"slices"
	"strings"
	"testing"
)

// TestMarkersLog checks the log lines about markers; without a tool the ranks send markers to nobody.
func TestMarkersLog(t *testing.T) {
	t.Setenv("NVTX_INJECTION64_PATH", "")
	for _, tt := range []struct {
		name             string
		markers, noGraph bool
		want             []string // prefixes of lines
	}{
		{"off", false, false, nil},
		{"on", true, true, []string{"NVTX markers: no tool is listening"}},
		{"with graphs", true, false, []string{"NVTX markers: no tool is listening", "NVTX markers: replayed graphs have no per-layer ranges"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var lines []string
			logMarks(tt.markers, !tt.noGraph, func(line string) { lines = append(lines, line) })
			if !slices.EqualFunc(lines, tt.want, strings.HasPrefix) {
				t.Errorf("logged %q, want %q", lines, tt.want)
			}
			if marks(tt.markers) != nil {
				t.Error("a rank sends markers")
			}
		})
	}
}
