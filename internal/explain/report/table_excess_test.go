package report

import "testing"

// TestExcess: what is more by so much that a share of it would be read twice is a factor.
func TestExcess(t *testing.T) {
	for f, want := range map[float64]string{0: "0", 0.123: "12.3 %", 8.99: "899.0 %", 9: "×10", 38.59: "×40", 1e6: "×1,000,001"} {
		if got := excessCell(f); got.text != want || got.num != f {
			t.Errorf("%v: %q (%v), want %q", f, got.text, got.num, want)
		}
	}
}
