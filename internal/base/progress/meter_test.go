package progress

import (
	"strings"
	"testing"
)

func TestMeter(t *testing.T) {
	var none *Meter
	none.Add(1)
	none.Close()
	m := &Meter{}
	for _, want := range []string{
		"merge ░░░░░░░░░░ 0 B of 2.00 kB, 0 %",
		"merge █████░░░░░ 1.00 kB of 2.00 kB, 50 %",
		"merge ██████████ 2.00 kB of 2.00 kB, 100 %",
		"merge ██████████ 2.00 kB of 2.00 kB, 100 %", // a file that grew during the work
	} {
		if got := m.line("merge", 2000, 20); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		m.Add(1000)
	}
}

// TestQuiet: progress is suppressed, problems are not.
func TestQuiet(t *testing.T) {
	var out strings.Builder
	c := &Console{W: &out, Quiet: true}
	c.Line("goes on")
	c.Told("run kept")
	c.Warn("is wrong")
	c.Lack("is lacking")
	if want := "stepscope: is wrong\nstepscope: is lacking\n"; out.String() != want || !c.Lacks() {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
