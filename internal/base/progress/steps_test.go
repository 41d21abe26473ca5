package progress

import (
	"regexp"
	"strings"
	"sync"
	"testing"
)

// TestSteps: messages stay separate from the drawn line, and work that stops early leaves no line open.
func TestSteps(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := &Console{W: &out, Terminal: true}
	s := c.Steps("Work")
	s.Done(1, 2)
	c.Line("a word")
	s.Done(2, 2)
	s.Close()
	c.Line("the end")
	s = c.Steps("More")
	s.Done(1, 3)
	s.Close()
	s.Close()
	const part = ` \[[^]]+\]`
	if want := regexp.MustCompile(`^\rWork  50%\|#{15} {15}\| 1/2` + part + `\na word\n\rWork 100%\|#{30}\| 2/2` + part + `\nthe end\n\rMore  33%\|#{10} {20}\| 1/3` + part + `\n$`); !want.MatchString(out.String()) {
		t.Errorf("%q", out.String())
	}
	var wg sync.WaitGroup
	for n := range 4 { // as a load does, with its warnings
		wg.Go(func() { s.Done(n, 9) })
		wg.Go(func() { c.Warn("a word") })
	}
	wg.Wait()
	s = (&Console{W: &out}).Steps("no terminal")
	s.Done(1, 1)
	s.Close()
	if strings.Contains(out.String(), "no terminal") {
		t.Error("drawn without a terminal")
	}
}
