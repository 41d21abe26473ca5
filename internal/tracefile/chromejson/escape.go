package chromejson

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Escape gives the inside of a JSON string.
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

// Unescape gives the text of the inside of a JSON string. Nearly all are plain
// and come back as they are.
func Unescape(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	var s string // which is on the heap
	if json.Unmarshal(slices.Concat([]byte{'"'}, raw, []byte{'"'}), &s) != nil {
		return raw
	}
	return []byte(s)
}

// String gives the text of a value; "" if it is no string.
func String(value []byte) (s string) {
	_ = json.Unmarshal(value, &s)
	return s
}
