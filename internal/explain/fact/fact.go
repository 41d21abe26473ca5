// Package fact is how the packages of explain say what they found: as a key with
// figures and names, and without words. Package report has the words of each
// key, and gives the figures their units.
package fact

import (
	"fmt"
	"strings"
)

// Fact is one of them. JSON shows its words, so a Fact that was read back has
// nothing else. The zero Fact is nothing, and has no words.
type Fact struct {
	Key  string
	Text string // its words: of a name, or of what was read back; else ""
	with []any  // a name, and what it stands for: a number, a name, a list, a Fact
}

// Of is the fact of a key. with are pairs, each a name and what it stands for.
func Of(key string, with ...any) Fact { return Fact{Key: key, with: with} }

// Name is a name, which needs no words.
func Name(s string) Fact { return Fact{Text: s} }

// Get is what a name stands for; nil: the fact has none.
func (f Fact) Get(name string) any {
	for i := 0; i+1 < len(f.with); i += 2 {
		if f.with[i] == name {
			return f.with[i+1]
		}
	}
	return nil
}

// With is the fact with something else for a name.
func (f Fact) With(name string, stands any) Fact {
	f.with = append([]any(nil), f.with...)
	for i := 0; i+1 < len(f.with); i += 2 {
		if f.with[i] == name {
			f.with[i+1] = stands
			return f
		}
	}
	f.with = append(f.with, name, stands)
	return f
}

// String shows the key and all there is to it, for tests and logs.
func (f Fact) String() string {
	if f.Key == "" {
		return f.Text
	}
	var b strings.Builder
	b.WriteString(f.Key)
	for i := 0; i+1 < len(f.with); i += 2 {
		fmt.Fprintf(&b, " %s=%v", f.with[i], f.with[i+1])
	}
	return b.String()
}

// MarshalText gives the words.
func (f Fact) MarshalText() ([]byte, error) {
	if f.Text == "" {
		return []byte(f.String()), nil
	}
	return []byte(f.Text), nil
}

// UnmarshalText keeps the words.
func (f *Fact) UnmarshalText(text []byte) error {
	*f = Name(string(text))
	return nil
}
