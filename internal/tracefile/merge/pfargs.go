package merge

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/internal/tracefile/pftrace"
)

// unescape gives the text of a JSON string without its quotes. Nearly all are
// plain and come back as they are.
func unescape(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	var s string
	if json.Unmarshal(append(append([]byte{'"'}, raw...), '"'), &s) != nil {
		return raw
	}
	return []byte(s)
}

// addArgs unfolds the members of a JSON object, which is known to be valid.
func addArgs(a *pftrace.Args, object []byte) {
	if len(object) < 2 || object[0] != '{' {
		return
	}
	for i := skipSpace(object, 1); i < len(object) && object[i] == '"'; {
		end := skipString(object, i)
		key := object[i+1 : end-1]
		i = skipSpace(object, end)
		i = skipSpace(object, i+1) // past the colon
		at := i
		i = skipValue(object, i)
		addArg(a, unescape(key), object[at:i])
		if i = skipSpace(object, i); i < len(object) && object[i] == ',' {
			i = skipSpace(object, i+1)
		}
	}
}

func addArg(a *pftrace.Args, key, v []byte) {
	switch c := v[0]; {
	case c == '"':
		a.String(key, unescape(v[1:len(v)-1]))
	case c == '{' || c == '[':
		a.JSON(key, v)
	case c == 't' || c == 'f':
		a.Bool(key, c == 't')
	case c == 'n':
		a.String(key, v)
	default:
		if n, ok := chromejson.ParseInt(v); ok {
			a.Int(key, n)
		} else if u, err := strconv.ParseUint(string(v), 10, 64); err == nil {
			a.Uint(key, u)
		} else if f, err := strconv.ParseFloat(string(v), 64); err == nil && !math.IsInf(f, 0) {
			a.Float(key, f)
		} else {
			a.String(key, v)
		}
	}
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' {
		i++
	}
	return i
}

// skipString takes the index of an opening quote, and gives that after the closing one.
func skipString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

func skipValue(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // the object around ends
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}
