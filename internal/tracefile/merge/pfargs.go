package merge

import (
	"math"
	"strconv"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/internal/tracefile/pftrace"
)

// addArgs adds the members of a valid JSON object to a. If at is not nil, addArgs calls it with the position of each
// value.
func addArgs(a *pftrace.Args, object []byte, at func(lo, hi int)) {
	if len(object) < 2 || object[0] != '{' {
		return
	}
	for i := chromejson.SkipSpace(object, 1); i < len(object) && object[i] == '"'; {
		end := chromejson.SkipValue(object, i)
		key := object[i+1 : end-1]
		i = chromejson.SkipSpace(object, end)
		i = chromejson.SkipSpace(object, i+1) // skip the colon
		lo := i
		i = chromejson.SkipValue(object, i)
		addArg(a, chromejson.Unescape(key), object[lo:i])
		if at != nil {
			at(lo, i)
		}
		if i = chromejson.SkipSpace(object, i); i < len(object) && object[i] == ',' {
			i = chromejson.SkipSpace(object, i+1)
		}
	}
}

func addArg(a *pftrace.Args, key, v []byte) {
	switch c := v[0]; {
	case c == '"':
		a.String(key, chromejson.Unescape(v[1:len(v)-1]))
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
