package api

import (
	"testing"
	"time"
)

// TestProfileID compares with Python's output for the same time.
func TestProfileID(t *testing.T) {
	for at, want := range map[time.Time]string{
		time.Unix(1769071195, 663459500): "1769071195.6634595",
		time.Unix(1769071195, 0):         "1769071195.0",
		time.Unix(1769071195, 500000000): "1769071195.5",
	} {
		if got := PythonTime(at); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
