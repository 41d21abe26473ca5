package chromejson

import (
	"io"
	"strings"
	"testing"
)

// TestBrokenEvents: a text of only broken events takes linear time. Without a budget, the scanner would look ahead
// through the whole text from each of them.
func TestBrokenEvents(t *testing.T) {
	const n = 60_000
	good := `{"ph":"X","name":"good","pid":1,"tid":1,"ts":1,"dur":1}`
	for _, c := range []struct{ name, broken string }{
		{"an object in a member's place", `,{"ph":"X",`},
		{"strings without an end", `,{"ph":"X","name":"abc}`},
		{"a quote in a string", `,{"ph":"X","name":"a"b`},
		{"an escape at the end", `,{"ph":"X","name":"a\`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := `{"traceEvents":[` + good + strings.Repeat(c.broken, n)
			s := NewScanner(strings.NewReader(text))
			defer s.Close()
			events := 0
			for {
				kind, err := s.Next()
				if err == io.EOF {
					break
				}
				if kind == EventToken {
					events++
				}
			}
			if s.Stats.Unmended == 0 || s.Stats.Skipped < n/2 {
				t.Errorf("%+v", s.Stats)
			}
			if most := int64(guesses + guessShare*len(text) + 2*s.lim.guess); s.wasted > most {
				t.Errorf("%d bytes scanned in vain, over %d", s.wasted, most)
			}
			if events != 1 {
				t.Errorf("%d events", events)
			}
		})
	}
}
