package layers

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Markers are printed with Python's str(), so they contain Python literals: strings in single or double quotes,
// numbers, True, False, None, and nested lists, tuples and dicts.

// dict is a Python dict. Entries are in the order in which they were printed.
type dict []entry

type entry struct {
	key   string
	value any // string, int64, float64, bool, nil, []any (lists and tuples), dict
	text  string
}

// get returns the value of a key, or nil if the key is absent.
func (d dict) get(key string) any {
	for i := range d {
		if d[i].key == key {
			return d[i].value
		}
	}
	return nil
}

// maxNesting limits recursion. Markers nest 4 levels deep.
const maxNesting = 32

type literal struct {
	raw string
	i   int
}

func (p *literal) space() {
	for p.i < len(p.raw) && (p.raw[p.i] == ' ' || p.raw[p.i] == '\n' || p.raw[p.i] == '\t' || p.raw[p.i] == '\r') {
		p.i++
	}
}

// next skips white space. If c follows, it skips c and returns true.
func (p *literal) next(c byte) bool {
	p.space()
	if p.i < len(p.raw) && p.raw[p.i] == c {
		p.i++
		return true
	}
	return false
}

// value reads one literal. For a truncated dict, it returns the entries that are complete, and false.
func (p *literal) value(depth int) (any, bool) {
	p.space()
	if p.i >= len(p.raw) || depth > maxNesting {
		return nil, false
	}
	switch c := p.raw[p.i]; {
	case c == '{':
		return p.dict(depth)
	case c == '[':
		p.i++
		return p.list(depth, ']')
	case c == '(':
		p.i++
		return p.list(depth, ')')
	case c == '\'' || c == '"':
		return p.str()
	case c == '-' || c == '+' || c == '.' || '0' <= c && c <= '9':
		return p.number()
	}
	return p.word(depth)
}

func (p *literal) list(depth int, end byte) (any, bool) {
	list := []any{}
	for !p.next(end) {
		v, ok := p.value(depth + 1)
		if !ok {
			return nil, false
		}
		list = append(list, v)
		if !p.next(',') {
			if p.next(end) {
				break
			}
			return nil, false
		}
	}
	return list, true
}

func (p *literal) dict(depth int) (any, bool) {
	p.i++
	var d dict
	for !p.next('}') {
		k, ok := p.value(depth + 1)
		key, isText := k.(string)
		if !ok || !isText || !p.next(':') {
			return d, false
		}
		p.space()
		from := p.i
		v, ok := p.value(depth + 1)
		if !ok {
			return d, false
		}
		d = append(d, entry{key, v, p.raw[from:p.i]})
		if !p.next(',') {
			if p.next('}') {
				break
			}
			return d, false
		}
	}
	return d, true
}

// str reads a string and decodes Python's escape sequences. Unknown sequences stay as written.
func (p *literal) str() (any, bool) {
	quote := p.raw[p.i]
	p.i++
	from := p.i
	for p.i < len(p.raw) && p.raw[p.i] != quote && p.raw[p.i] != '\\' {
		p.i++
	}
	if p.i < len(p.raw) && p.raw[p.i] == quote {
		p.i++
		return p.raw[from : p.i-1], true
	}
	var b strings.Builder
	b.WriteString(p.raw[from:p.i])
	for p.i < len(p.raw) {
		c := p.raw[p.i]
		p.i++
		switch {
		case c == quote:
			return b.String(), true
		case c != '\\':
			b.WriteByte(c)
		case p.i == len(p.raw):
			return nil, false
		default:
			p.escape(&b)
		}
	}
	return nil, false
}

func (p *literal) escape(b *strings.Builder) {
	c := p.raw[p.i]
	p.i++
	if at := strings.IndexByte(`abfnrtv\'"`, c); at >= 0 {
		b.WriteByte("\a\b\f\n\r\t\v\\'\""[at])
		return
	}
	if digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]; digits > 0 && p.i+digits <= len(p.raw) {
		if v, err := strconv.ParseUint(p.raw[p.i:p.i+digits], 16, 32); err == nil && v <= utf8.MaxRune {
			b.WriteRune(rune(v))
			p.i += digits
			return
		}
	}
	b.WriteByte('\\')
	b.WriteByte(c)
}

func (p *literal) number() (any, bool) {
	from := p.i
	for p.i < len(p.raw) && strings.IndexByte("+-.eE0123456789", p.raw[p.i]) >= 0 {
		p.i++
	}
	text := p.raw[from:p.i]
	if v, err := strconv.ParseInt(text, 10, 64); err == nil {
		return v, true
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}

// word reads a name. A call, such as torch.Size([4096]), is replaced by its first argument.
func (p *literal) word(depth int) (any, bool) {
	from := p.i
	for p.i < len(p.raw) && (isLetter(p.raw[p.i]) || p.raw[p.i] == '.' || '0' <= p.raw[p.i] && p.raw[p.i] <= '9') {
		p.i++
	}
	switch word := p.raw[from:p.i]; word {
	case "":
		return nil, false
	case "True", "False":
		return word == "True", true
	case "None":
		return nil, true
	}
	if p.next('(') {
		args, ok := p.list(depth+1, ')')
		if list, _ := args.([]any); ok && len(list) > 0 {
			return list[0], true
		}
		return nil, ok
	}
	return p.raw[from:p.i], true // nan, inf, or the name of a type
}

func isLetter(c byte) bool { return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' }
