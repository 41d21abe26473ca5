package merge

import (
	"math"
	"strconv"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
)

// IDMap makes ids unique in the merged file. The integer id i of file k of n becomes i·n + k. So the largest ids need
// not be known in advance, and the map is reversible. An id that is not an integer becomes the string "k:ID". So does
// an id whose image exceeds 2^53, the limit of a double, because some readers are written in JavaScript. If there is
// only one file, ids do not change.
//
// In args, ids ≤ 0 mean "none" and stay unchanged. Flow ids are mapped even if they are ≤ 0, because any flow id can
// draw an arrow.
type IDMap struct {
	Stride int `json:"stride"` // n, the number of files
}

// maxID is the largest integer that every JSON reader represents exactly.
const maxID = 1 << 53

// Map returns the image of an integer id of file k. It returns false if the string form is needed.
func (m IDMap) Map(k int, id int64) (int64, bool) {
	n := int64(m.Stride)
	if n <= 1 {
		return id, true
	}
	if id < 0 || id > (maxID-int64(k))/n {
		return 0, false
	}
	return id*n + int64(k), true
}

// append appends the image of an id given as JSON text. A quoted number remains a string, because as an id it differs
// from the same number without quotes.
func (m IDMap) append(dst, id []byte, k int, flow bool) []byte {
	if m.Stride <= 1 || len(id) == 0 {
		return append(dst, id...)
	}
	if n, ok := chromejson.ParseInt(id); ok {
		if !flow && n <= 0 {
			return append(dst, id...)
		}
		// Map cannot restore ids such as "-0".
		if to, ok := m.Map(k, n); ok && id[0] != '-' {
			return strconv.AppendInt(dst, to, 10)
		}
	}
	switch c := id[0]; {
	case c == '"':
		id = id[1 : len(id)-1]
	case c == '-', c-'0' <= 9:
	default: // null, true or an object is not an id
		return append(dst, id...)
	}
	dst = append(dst, '"')
	dst = strconv.AppendInt(dst, int64(k), 10)
	dst = append(dst, ':')
	dst = append(dst, id...)
	return append(dst, '"')
}

// satAdd adds two times; the sum saturates at the limits of int64.
func satAdd(a, b int64) int64 {
	s := a + b
	if a > 0 && b > 0 && s < 0 {
		return math.MaxInt64
	}
	if a < 0 && b < 0 && s >= 0 {
		return math.MinInt64
	}
	return s
}
