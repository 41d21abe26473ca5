package columns

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestShortLongest compares Short with its definition: the longest beginning that fits with the ellipsis.
func TestShortLongest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	letters := []rune("ab 世é\u0301<")
	for range 500 {
		var r []rune
		for range rng.IntN(30) {
			r = append(r, letters[rng.IntN(len(letters))])
		}
		width := 1 + rng.IntN(20)
		want := string(r)
		if Width(want) > width {
			n := len(r)
			for n > 0 && Width(string(r[:n]))+1 > width {
				n--
			}
			want = string(r[:n]) + "…"
		}
		if got := Short(string(r), width); got != want {
			t.Fatalf("Short(%q, %d) = %q, want %q", string(r), width, got, want)
		}
	}
	if got := Short(strings.Repeat("A", 1<<20), 10); got != "AAAAAAAAA…" {
		t.Errorf("a long name: %q", got)
	}
}
