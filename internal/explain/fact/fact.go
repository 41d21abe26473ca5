// Package fact represents the findings of the packages of explain without words: as a key with named figures and names.
// Package report has the sentence of each key and gives the figures their units.
package fact

import (
	"fmt"
	"strings"
)

// Fact is a key with named values. Its JSON form is its sentence, so a Fact read back from JSON has only Text. The zero Fact
// is empty and has no sentence.
type Fact struct {
	Key  string
	Text string // a name, or the sentence of a fact read back from JSON; otherwise ""
	with []any  // pairs of a name and its value: a number, a name, a list or a Fact
}

// Of returns the fact of a key. with holds pairs of a name and its value.
func Of(key string, with ...any) Fact { return Fact{Key: key, with: with} }

// Name returns a fact that is a name and needs no sentence.
func Name(s string) Fact { return Fact{Text: s} }

// Get returns the value of a name; nil if the fact has none.
func (f Fact) Get(name string) any {
	for i := 0; i+1 < len(f.with); i += 2 {
		if f.with[i] == name {
			return f.with[i+1]
		}
	}
	return nil
}

// With returns a copy of f with another value for a name.
func (f Fact) With(name string, value any) Fact {
	f.with = append([]any(nil), f.with...)
	for i := 0; i+1 < len(f.with); i += 2 {
		if f.with[i] == name {
			f.with[i+1] = value
			return f
		}
	}
	f.with = append(f.with, name, value)
	return f
}

// String returns the key with all names and values, for tests and logs.
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

// MarshalText returns the text, or String for a fact without one.
func (f Fact) MarshalText() ([]byte, error) {
	if f.Text == "" {
		return []byte(f.String()), nil
	}
	return []byte(f.Text), nil
}

// UnmarshalText stores the text.
func (f *Fact) UnmarshalText(text []byte) error {
	*f = Name(string(text))
	return nil
}
