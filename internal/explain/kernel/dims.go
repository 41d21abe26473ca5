package kernel

import (
	"errors"
	"fmt"
)

// Kineto's shapes are small JSON texts on every operator, hundreds of thousands a capture. These parsers read just
// them, with one allocation for the numbers and one for the rows.

// ErrDims is what ParseDims and ParseStrings return, wrapped with the place, for text they do not understand.
var ErrDims = errors.New("not a list of shapes")

// ParseDims reads the JSON text of "Input Dims": `[[16, 512], [], []]` has one row an argument, empty for what is no
// tensor. A list of tensors, `[[16, 512], [16, 8]]` in place of a row, has no single shape and becomes an empty row too;
// so do strings and other scalars that older writers put there.
func ParseDims[T ~string | ~[]byte](raw T) ([][]int64, error) {
	p := dimParser[T]{raw: raw}
	rows, numbers := p.count()
	dims := make([][]int64, 0, rows)
	p.flat = make([]int64, 0, numbers)
	if !p.next('[') {
		return nil, p.wrong()
	}
	for first := true; !p.next(']'); first = false {
		if !first && !p.next(',') {
			return nil, p.wrong()
		}
		row, ok := p.row()
		if !ok {
			return nil, p.wrong()
		}
		dims = append(dims, row)
	}
	if err := p.end(); err != nil {
		return nil, err
	}
	return dims, nil
}

// ParseStrings reads the JSON text of "Input type" or "Concrete Inputs": a flat list of strings. An escape in a string
// is kept as it is written; type names have none. What is not a string becomes "".
func ParseStrings[T ~string | ~[]byte](raw T) ([]string, error) {
	p := dimParser[T]{raw: raw}
	if !p.next('[') {
		return nil, p.wrong()
	}
	var list []string
	for first := true; !p.next(']'); first = false {
		if !first && !p.next(',') {
			return nil, p.wrong()
		}
		p.space()
		start := p.i
		if !p.skip(0) {
			return nil, p.wrong()
		}
		s := ""
		if p.raw[start] == '"' {
			s = string(p.raw[start+1 : p.i-1])
		}
		list = append(list, s)
	}
	if err := p.end(); err != nil {
		return nil, err
	}
	return list, nil
}

type dimParser[T ~string | ~[]byte] struct {
	raw  T
	i    int
	flat []int64
}

// count returns upper bounds of the rows and the numbers, so that neither slice grows.
func (p *dimParser[T]) count() (rows, numbers int) {
	numbers = 1
	for i := range len(p.raw) {
		switch p.raw[i] {
		case '[':
			rows++
		case ',':
			numbers++
		}
	}
	return rows, numbers
}

func (p *dimParser[T]) space() {
	for p.i < len(p.raw) && (p.raw[p.i] == ' ' || p.raw[p.i] == '\n' || p.raw[p.i] == '\t' || p.raw[p.i] == '\r') {
		p.i++
	}
}

// next skips white space and c, if c is there.
func (p *dimParser[T]) next(c byte) bool {
	p.space()
	if p.i < len(p.raw) && p.raw[p.i] == c {
		p.i++
		return true
	}
	return false
}

func (p *dimParser[T]) wrong() error {
	return fmt.Errorf("%w at byte %d of %d", ErrDims, p.i, len(p.raw))
}

func (p *dimParser[T]) end() error {
	p.space()
	if p.i != len(p.raw) {
		return p.wrong()
	}
	return nil
}

// row reads one shape; what is well formed but no shape is skipped and gives none.
func (p *dimParser[T]) row() ([]int64, bool) {
	p.space()
	start, n := p.i, len(p.flat)
	if !p.next('[') {
		return nil, p.skip(0)
	}
	for first := true; !p.next(']'); first = false {
		if !first && !p.next(',') {
			return nil, false
		}
		v, ok := p.number()
		if !ok {
			p.i, p.flat = start, p.flat[:n]
			return nil, p.skip(0)
		}
		p.flat = append(p.flat, v)
	}
	return p.flat[n:len(p.flat):len(p.flat)], true
}

// number reads a decimal int64.
func (p *dimParser[T]) number() (int64, bool) {
	p.space()
	neg := p.next('-')
	start := p.i
	var v int64
	for p.i < len(p.raw) && '0' <= p.raw[p.i] && p.raw[p.i] <= '9' {
		d := int64(p.raw[p.i] - '0')
		if v > (1<<63-1-d)/10 {
			return 0, false
		}
		v = v*10 + d
		p.i++
	}
	if p.i == start {
		return 0, false
	}
	if neg {
		v = -v
	}
	return v, true
}

// maxNesting bounds recursion; a list of lists of tensors has 4.
const maxNesting = 16

// skip passes over one JSON value: a string, a list, or a scalar without white space.
func (p *dimParser[T]) skip(depth int) bool {
	p.space()
	if p.i >= len(p.raw) || depth > maxNesting {
		return false
	}
	switch c := p.raw[p.i]; c {
	case '"':
		for p.i++; p.i < len(p.raw); p.i++ {
			switch p.raw[p.i] {
			case '\\':
				p.i++
			case '"':
				p.i++
				return true
			}
		}
		p.i = len(p.raw)
		return false
	case '[':
		p.i++
		for first := true; !p.next(']'); first = false {
			if !first && !p.next(',') || !p.skip(depth+1) {
				return false
			}
		}
		return true
	default:
		start := p.i
		for p.i < len(p.raw) && (isWord(p.raw[p.i]) || p.raw[p.i] == '-' || p.raw[p.i] == '+' || p.raw[p.i] == '.') {
			p.i++
		}
		return p.i > start
	}
}
