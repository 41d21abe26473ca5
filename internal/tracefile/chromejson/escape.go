package chromejson

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Escape returns s as the content of a JSON string, without quotes.
func Escape(s string) string {
	plain := true
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == '"' || s[i] == '\\' || s[i] >= 0x7f {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return "unknown"
	}
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
}

// Unescape returns the text that the content of a JSON string (without quotes) represents. Content without escapes, the
// usual case, is returned unchanged.
func Unescape(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	var s string // s is allocated on the heap
	if json.Unmarshal(slices.Concat([]byte{'"'}, raw, []byte{'"'}), &s) != nil {
		return raw
	}
	return []byte(s)
}

// String decodes a JSON string. It returns "" for any other value.
func String(value []byte) (s string) {
	_ = json.Unmarshal(value, &s)
	return s
}
