package judge

import (
	"testing"

	"github.com/stepscope/stepscope/internal/explain/result"
)

// TestTogether: only findings on the same steps may become one finding on equally late ranks.
func TestTogether(t *testing.T) {
	of := func(steps ...int) *result.Finding {
		return &result.Finding{FirstStep: steps[0], LastStep: steps[len(steps)-1], Steps: steps}
	}
	for _, c := range []struct {
		name string
		f, o *result.Finding
		want bool
	}{
		{"the same steps", of(3, 4, 5, 6), of(3, 4, 5, 6), true},
		{"three of four steps", of(3, 4, 5, 6), of(4, 5, 6), true},
		{"steps in turn over the same time", of(2, 12, 22, 32), of(3, 13, 23, 33), false},
		{"another time", of(3, 4, 5, 6), of(7, 8, 9, 10), false},
	} {
		if got := together(c.f, c.o); got != c.want {
			t.Errorf("%s: together = %v, want %v", c.name, got, c.want)
		}
	}
}
