package jsonscan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// walk returns a text as the scanner sees it: objects and lists entered, everything else as written.
func walk(s *Scanner, out *strings.Builder) {
	switch s.Peek() {
	case '{':
		out.WriteByte('{')
		for k := range s.Object {
			fmt.Fprintf(out, "%s:", k)
			walk(s, out)
		}
		out.WriteByte('}')
	case '[':
		out.WriteByte('[')
		for range s.List {
			walk(s, out)
			out.WriteByte(' ')
		}
		out.WriteByte(']')
	default:
		out.Write(s.Value())
	}
}

func TestScanner(t *testing.T) {
	long := "[" + strings.Repeat("1,", 100) + "2]"
	for text, want := range map[string]string{
		`{"a":1,"b":[true,"x\"y",{}],"c":{"d":null}}`: `{a:1b:[true "x\"y" {} ]c:{d:null}}`,
		" { \"a\" : [ ] , \"b\" : -1.5e3 } \n":        `{a:[]b:-1.5e3}`,
		`"alone"`:                                     `"alone"`,
		`{"a":` + long + `}`:                          "{a:[" + strings.Repeat("1 ", 100) + "2 ]}",
	} {
		s := New([]byte(text))
		var out strings.Builder
		if walk(&s, &out); s.End() != nil || out.String() != want || s.At() != len(text) {
			t.Errorf("%s: %s, %v, want %s", text, &out, s.End(), want)
		}
		s = New([]byte(text))
		if v := s.Value(); s.End() != nil || string(v) != strings.TrimSpace(text) {
			t.Errorf("%s: skipped as %s, %v", text, v, s.End())
		}
	}
	for _, text := range []string{"", `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,}`, `{"a":1 "b":2}`, `{a:1}`, `[1,]`, `[1 2]`, `[1`, `"x`, `{"a":"x}`, `{} {}`} {
		s := New([]byte(text))
		if walk(&s, &strings.Builder{}); s.End() == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

func TestNum(t *testing.T) {
	for text, want := range map[string]int{"12": 12, "-3": -3, "4.9": 4, "1e5": -99, `"7"`: -99, "null": -99, "12345678901234567890": -99} {
		s := New([]byte(text))
		n, ok := s.Num()
		if !ok {
			n = -99
		}
		if n != want || s.End() != nil {
			t.Errorf("%s: %d, %v, want %d", text, n, s.End(), want)
		}
	}
}

func FuzzUnquote(f *testing.F) {
	for _, s := range []string{"plain", `a\"b\\`, `\ud83d\ude00\u00e9\n`, `\ud83d`, "\xff", `\x`, "\x01"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		var want string
		got := Unquote([]byte(raw))
		if json.Unmarshal([]byte(`"`+raw+`"`), &want) == nil && got != want {
			t.Errorf("%q is %q, want %q", raw, got, want)
		}
	})
}
