package scatter

import (
	"strings"
	"testing"
)

func TestReason(t *testing.T) {
	for _, c := range []struct {
		stderr string
		status int
		want   string
	}{
		{"stepscope: no such file\nsrun: error: node3: task 0: Exited with exit code 1", 1, "no such file"},
		{"srun: error: node3: task 0: Exited with exit code 1\nstepscope: no such file", 1, "no such file"},
		{"stepscope: a.json: 3 events are lost\nstepscope: open b: permission denied", 1, "open b: permission denied"},
		{"stepscope: a.json: 3 events are lost\nslurmstepd: error: out of memory\nsrun: error: node3: task 0: Killed", 137, "out of memory"},
		{"srun: error: node3: task 0: Killed\nslurmstepd: error: out of memory", 137, "out of memory"},
		{"srun: error: Unable to allocate resources", 1, "Unable to allocate resources"},
		{"killed\nby something", 1, "killed"},
	} {
		if got := reason(strings.Split(c.stderr, "\n"), c.status); got != c.want {
			t.Errorf("%q: %q, want %q", c.stderr, got, c.want)
		}
	}
}
