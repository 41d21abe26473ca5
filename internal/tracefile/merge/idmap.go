package merge

import (
	"math"
	"strconv"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
)

// IDMap makes ids that are unique within one file unique in the merged one.
// File k of n maps the integer id i to i·n + k, so no maxima need to be known
// beforehand and the map can be undone. An id that is no integer, or whose
// image a double cannot hold (2^53, for readers in JavaScript), becomes the
// string "k:ID". With one file nothing changes.
//
// Of args, ids ≤ 0 mean "none" and stay as they are; the ids of flows are all
// mapped, for any of them can draw an arrow.
type IDMap struct {
	Stride int `json:"stride"` // n, the number of files
}

// maxID is the largest integer that every JSON reader keeps exactly.
const maxID = 1 << 53

// Map gives the image of an integer id of file k; false: use the string form.
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

// append writes the image of an id given as JSON text. A quoted number stays
// text: it is another id than the number.
func (m IDMap) append(dst, id []byte, k int, flow bool) []byte {
	if m.Stride <= 1 || len(id) == 0 {
		return append(dst, id...)
	}
	if n, ok := chromejson.ParseInt(id); ok {
		if !flow && n <= 0 {
			return append(dst, id...)
		}
		// "-0" and its like are not what Map would write again.
		if to, ok := m.Map(k, n); ok && id[0] != '-' {
			return strconv.AppendInt(dst, to, 10)
		}
	}
	switch c := id[0]; {
	case c == '"':
		id = id[1 : len(id)-1]
	case c == '-', c-'0' <= 9:
	default: // null, true, an object: no id
		return append(dst, id...)
	}
	dst = append(dst, '"')
	dst = strconv.AppendInt(dst, int64(k), 10)
	dst = append(dst, ':')
	dst = append(dst, id...)
	return append(dst, '"')
}

// satAdd adds times; what does not fit sticks at the end of the range.
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
