package scatter

import (
	"strings"
	"testing"
)

func TestReason(t *testing.T) {
	for _, c := range []struct{ stderr, want string }{
		{"stepscope: no such file\nsrun: error: node3: task 0: Exited with exit code 1", "no such file"},
		{"srun: error: node3: task 0: Exited with exit code 1\nstepscope: no such file", "no such file"},
		{"srun: error: node3: task 0: Killed\nslurmstepd: error: out of memory", "out of memory"},
		{"srun: error: Unable to allocate resources", "Unable to allocate resources"},
		{"killed\nby something", "killed"},
	} {
		if got := reason(strings.Split(c.stderr, "\n")); got != c.want {
			t.Errorf("%q: %q, want %q", c.stderr, got, c.want)
		}
	}
}
