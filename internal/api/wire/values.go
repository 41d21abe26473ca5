package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
)

// OneOrMany is a field that holds a single value, or a list with one value per request of a batch. The zero value
// represents an absent field.
type OneOrMany[T any] struct {
	Many   bool
	Values []T
}

// One returns a field with the single value v.
func One[T any](v T) OneOrMany[T] { return OneOrMany[T]{Values: []T{v}} }

// IsZero reports whether the field is absent. encoding/json calls IsZero for the option omitzero.
func (o OneOrMany[T]) IsZero() bool { return o.Values == nil }

// At returns the value for request i of a batch. A single value applies to all requests.
func (o OneOrMany[T]) At(i int, absent T) T {
	switch {
	case o.Values == nil:
		return absent
	case !o.Many:
		return o.Values[0]
	case i < len(o.Values):
		return o.Values[i]
	}
	return absent
}

// MarshalJSON writes a single value without brackets, and a list of values as a list.
func (o OneOrMany[T]) MarshalJSON() ([]byte, error) {
	if o.Values == nil {
		return []byte("null"), nil
	}
	if !o.Many {
		return json.Marshal(o.Values[0])
	}
	return json.Marshal(o.Values)
}

// maxElements is the maximum length of a list whose elements are not numbers. It limits the memory, because an element
// of two bytes may take hundreds of bytes when parsed.
const maxElements = 1 << 16

// elements counts the elements of a JSON list. For an empty list it returns 1.
func elements(raw json.RawMessage) int {
	n, depth, quoted := 1, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case c == ',' && depth == 1:
			n++
		}
	}
	return n
}

// parseList returns a parser of JSON lists that parses each element with parse.
func parseList[T any](parse func(json.RawMessage) (T, error)) func(json.RawMessage) ([]T, error) {
	return func(raw json.RawMessage) ([]T, error) {
		if raw[0] != '[' {
			return nil, Refuse("", "want a list, got %s", kind(raw))
		}
		if n := elements(raw); n > maxElements {
			return nil, Refuse("", "want a list of at most %d elements, got %d", maxElements, n)
		}
		var items []json.RawMessage
		if err := json.Unmarshal(raw, &items); err != nil {
			return nil, Refuse("", "want a list: %v", err)
		}
		out := make([]T, 0, len(items))
		for i, item := range items {
			v, err := parse(item)
			if err != nil {
				return nil, Within(fmt.Sprintf("[%d]", i), err)
			}
			out = append(out, v)
		}
		return out, nil
	}
}

// parseOneOrMany returns a parser that parses a list if raw starts with '[', and otherwise a single value.
func parseOneOrMany[T any](parse func(json.RawMessage) (T, error)) func(json.RawMessage) (OneOrMany[T], error) {
	list := parseList(parse)
	return func(raw json.RawMessage) (OneOrMany[T], error) {
		if raw[0] == '[' {
			v, err := list(raw)
			return OneOrMany[T]{Many: true, Values: v}, err
		}
		v, err := parse(raw)
		return One(v), err
	}
}

// parseStrings parses a string or a list of strings.
func parseStrings(raw json.RawMessage) ([]string, error) {
	if raw[0] != '[' {
		s, err := parseString(raw)
		return []string{s}, err
	}
	return parseList(parseString)(raw)
}

// parseTokens parses a list of token ids. Prompts are long, so an id of plain digits has a fast path. Any other element
// is parsed by parseInt.
func parseTokens(raw json.RawMessage) ([]int32, error) {
	if raw[0] != '[' {
		return nil, Refuse("", "want a list of token ids, got %s", kind(raw))
	}
	out := make([]int32, 0, bytes.Count(raw, []byte{','})+1)
	n, digits := int64(0), 0
	for _, c := range raw[1:] {
		switch {
		case c >= '0' && c <= '9' && digits < 10:
			n = n*10 + int64(c-'0')
			digits++
		case c == ',' || c == ']':
			if digits > 0 {
				if n > math.MaxInt32 {
					return nil, Refuse(fmt.Sprintf("[%d]", len(out)), "%d is not a token id", n)
				}
				out = append(out, int32(n))
			}
			n, digits = 0, 0
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
		default:
			return parseOddTokens(raw)
		}
	}
	return out, nil
}

func parseOddTokens(raw json.RawMessage) ([]int32, error) {
	if elements(raw) > maxElements {
		return nil, Refuse("", "not all of its elements are token ids")
	}
	return parseList(func(raw json.RawMessage) (int32, error) {
		n, err := parseInt(raw)
		if err != nil {
			return 0, err
		}
		if n < 0 || n > math.MaxInt32 {
			return 0, Refuse("", "%d is not a token id", n)
		}
		return int32(n), nil
	})(raw)
}

// parseTokenLists parses a list of token ids, or a list of such lists.
func parseTokenLists(raw json.RawMessage) (OneOrMany[[]int32], error) {
	if raw[0] == '[' {
		if inner := bytes.TrimSpace(raw[1:]); len(inner) > 0 && inner[0] == '[' {
			lists, err := parseList(parseTokens)(raw)
			return OneOrMany[[]int32]{Many: true, Values: lists}, err
		}
	}
	ids, err := parseTokens(raw)
	return One(ids), err
}
