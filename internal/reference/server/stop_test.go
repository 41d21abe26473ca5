package server

import (
	"strings"
	"testing"
)

// run feeds pieces and returns the released text and the stop string found.
func run(stops []string, pieces ...string) (string, string) {
	s := newStopper(stops)
	var out strings.Builder
	for _, p := range pieces {
		text, matched, _ := s.feed(p)
		out.WriteString(text)
		if matched != nil {
			return out.String(), *matched
		}
	}
	return out.String() + s.flush(), ""
}

func TestStopStrings(t *testing.T) {
	for _, c := range []struct {
		name       string
		stops      []string
		pieces     []string
		text, stop string
	}{
		{"none", nil, []string{"a", "b"}, "ab", ""},
		{"empty one is ignored", []string{""}, []string{"ab"}, "ab", ""},
		{"inside a piece", []string{"x"}, []string{"axb"}, "a", "x"},
		{"over a boundary", []string{"stop"}, []string{"ast", "opb"}, "a", "stop"},
		{"letter by letter", []string{"stop"}, strings.Split("astop", ""), "a", "stop"},
		{"started and dropped", []string{"stop"}, []string{"sto", "ck"}, "stock", ""},
		{"overlapping start", []string{"aab"}, []string{"aa", "ab"}, "a", "aab"},
		{"cut at the end", []string{"stop"}, []string{"a sto"}, "a sto", ""},
		{"first to end counts", []string{"abcd", "bc"}, []string{"abcd"}, "a", "bc"},
		{"the longer of two", []string{"c", "abc"}, []string{"ab", "c"}, "", "abc"},
		{"runes", []string{"日本"}, []string{"x日", "本y"}, "x", "日本"},
	} {
		text, stop := run(c.stops, c.pieces...)
		if text != c.text || stop != c.stop {
			t.Errorf("%s: got %q, %q, want %q, %q", c.name, text, stop, c.text, c.stop)
		}
	}
}

// TestHoldsBack checks which text may be released before the end of the text is known.
func TestHoldsBack(t *testing.T) {
	s := newStopper([]string{"\n\nHuman:", "ns"})
	for _, c := range []struct{ in, out string }{
		{"a\n", "a"}, {"\nH", ""}, {"um", ""}, {"x", "\n\nHumx"}, {"n", ""}, {"n", "n"},
	} {
		if got, _, _ := s.feed(c.in); got != c.out {
			t.Errorf("after %q: released %q, want %q", c.in, got, c.out)
		}
	}
}

// FuzzStop checks the automaton against a search in the whole text, and against other ways to split the text.
func FuzzStop(f *testing.F) {
	f.Add("the quick brown fox", "qu", "own", uint8(3))
	f.Add("aaaaab", "aab", "ab", uint8(1))
	f.Add("日本語", "本", "語", uint8(2))
	f.Fuzz(func(t *testing.T, text, a, b string, size uint8) {
		stops := []string{a, b}
		wantText, wantStop := text, ""
		for end := range len(text) + 1 {
			for _, s := range stops {
				if s != "" && strings.HasSuffix(text[:end], s) && len(s) > len(wantStop) {
					wantText, wantStop = text[:end-len(s)], s
				}
			}
			if wantStop != "" {
				break
			}
		}
		var pieces []string
		for rest, n := text, int(size%7)+1; rest != ""; {
			k := min(n, len(rest))
			pieces, rest = append(pieces, rest[:k]), rest[k:]
		}
		gotText, gotStop := run(stops, pieces...)
		if gotText != wantText || gotStop != wantStop {
			t.Errorf("%q with %q in %d pieces: got %q, %q, want %q, %q", text, stops, len(pieces), gotText, gotStop, wantText, wantStop)
		}
	})
}
