package kernel

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
)

// Kineto records shapes on every operator as a short JSON text. The parsers in this file read only such texts, with one
// allocation for the numbers and one for the rows.

// ErrDims is returned by ParseDims and ParseStrings for invalid text.
var ErrDims = errors.New("not a list of shapes")

// ParseDims parses the JSON text of "Input Dims": `[[16, 512], [], []]` has one row per argument, which is empty for an
// argument that is not a tensor. A list of tensors, which has `[[16, 512], [16, 8]]` in place of a row, has no single
// shape and also becomes an empty row. Strings and other scalars, which older versions of Kineto write in place of a
// row, also become empty rows.
func ParseDims[T ~string | ~[]byte](raw T) ([][]int64, error) {
	list, ok := wellFormed([]byte(raw))
	if !ok {
		return nil, ErrDims
	}
	dims := make([][]int64, 0, bytes.Count(list, []byte("[")))
	flat := make([]int64, 0, bytes.Count(list, []byte(","))+1)
	for {
		row := element(&list)
		if row == nil {
			return dims, nil
		}
		from := len(flat)
		for isList := row[0] == '['; isList; {
			number := element(&row)
			if number == nil {
				break
			}
			n, err := strconv.ParseInt(string(number), 10, 64)
			if err != nil {
				flat = flat[:from]
				break
			}
			flat = append(flat, n)
		}
		dims = append(dims, flat[from:len(flat):len(flat)])
	}
}

// ParseStrings parses the JSON text of "Input type" or "Concrete Inputs": a flat list of strings. Escape sequences are
// not decoded, since type names have none. Elements that are not strings become "".
func ParseStrings[T ~string | ~[]byte](raw T) ([]string, error) {
	list, ok := wellFormed([]byte(raw))
	if !ok {
		return nil, ErrDims
	}
	var out []string
	for {
		s := element(&list)
		switch {
		case s == nil:
			return out, nil
		case s[0] == '"':
			out = append(out, string(s[1:len(s)-1]))
		default:
			out = append(out, "")
		}
	}
}

const space = " \t\r\n"

// wellFormed returns the text of a JSON list without surrounding white space.
func wellFormed(raw []byte) (list []byte, ok bool) {
	list = bytes.Trim(raw, space)
	return list, len(list) > 0 && list[0] == '[' && json.Valid(list)
}

// element removes the next element from a well-formed list and returns it, or nil if there is none. The remaining list
// begins with the bracket or comma before the following element.
func element(list *[]byte) []byte {
	if (*list)[0] == ']' {
		return nil
	}
	b := bytes.TrimLeft((*list)[1:], space)
	end, depth := 0, 0
	for ; depth > 0 || b[end] != ',' && b[end] != ']'; end++ {
		switch b[end] {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '"':
			for end++; b[end] != '"'; end++ {
				if b[end] == '\\' {
					end++
				}
			}
		}
	}
	*list = b[end:]
	if end == 0 {
		return nil
	}
	return bytes.TrimRight(b[:end], space)
}
