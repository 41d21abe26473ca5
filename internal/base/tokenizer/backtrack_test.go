package tokenizer

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestBacktracking cuts a text by a pattern that backtracks for ever, and by one that does not.
func TestBacktracking(t *testing.T) {
	text := strings.Repeat("a", 60) + "b"
	for pattern, want := range map[string][]string{
		"(a|aa)+$": {text},
		"b":        {text[:60], "b"},
	} {
		made, err := newSplit(pattern, "Isolated", false)
		if err != nil {
			t.Fatal(err)
		}
		s := made.(split)
		if s.re.MatchTimeout != matchTime {
			t.Errorf("%s: limit %v", pattern, s.re.MatchTimeout)
		}
		s.re.MatchTimeout = 100 * time.Millisecond
		if got := s.cut(nil, text); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
}
