// Package fact represents statements of the packages of explain without wording, as a key with named values. Package
// report has the sentence for each key and adds the units.
package fact

import (
	"fmt"
	"strings"
)

// Fact is a key with named values. The JSON form of a Fact is its sentence, so a Fact read from JSON has only Text. The
// zero Fact is empty and has no sentence.
type Fact struct {
	Key  string
	Text string // a name, or the sentence of a fact read from JSON; otherwise ""
	with []any  // alternating names and values; a value is a number, a text, a list or a Fact
}

// Of returns a fact with the given key. with alternates names and values.
func Of(key string, with ...any) Fact { return Fact{Key: key, with: with} }

// Name returns a fact that consists of the text s and needs no sentence.
func Name(s string) Fact { return Fact{Text: s} }

// Get returns the value with the given name, or nil if the fact has no such value.
func (f Fact) Get(name string) any {
	for i := 0; i+1 < len(f.with); i += 2 {
		if f.with[i] == name {
			return f.with[i+1]
		}
	}
	return nil
}

// With returns a copy of f in which name has the given value.
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

// Names returns a copy of f in which cut has replaced all texts, such as names of kernels and ranks.
func (f Fact) Names(cut func(string) string) Fact {
	f.Text = cut(f.Text)
	f.with = append([]any(nil), f.with...)
	for i := 1; i < len(f.with); i += 2 {
		switch v := f.with[i].(type) {
		case string:
			f.with[i] = cut(v)
		case Fact:
			f.with[i] = v.Names(cut)
		case []string:
			list := make([]string, len(v))
			for k := range v {
				list[k] = cut(v[k])
			}
			f.with[i] = list
		case []Fact:
			list := make([]Fact, len(v))
			for k := range v {
				list[k] = v[k].Names(cut)
			}
			f.with[i] = list
		}
	}
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

// MarshalText returns f.Text or, if it is empty, f.String().
func (f Fact) MarshalText() ([]byte, error) {
	if f.Text == "" {
		return []byte(f.String()), nil
	}
	return []byte(f.Text), nil
}

// UnmarshalText stores the text in f.Text.
func (f *Fact) UnmarshalText(text []byte) error {
	*f = Name(string(text))
	return nil
}
