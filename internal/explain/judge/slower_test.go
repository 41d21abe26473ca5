package judge

import "testing"

func TestSlower(t *testing.T) {
	for by, want := range map[float64]string{0.655: "65.5 % more than", 8.99: "899 % more than", 9: "10 times as long as", 1382.74: "1,383 times as long as"} {
		if got := timesLike(by); got != want {
			t.Errorf("%v: %q, want %q", by, got, want)
		}
	}
}
