package redact

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// A walk through JSON text that is known to be well-formed: events and members
// as chromejson gives them. What stays is copied with its white space.

// object appends the object at src[i] with the members that keys knows, and
// gives the index after it.
func (r *Redactor) object(dst, src []byte, i int, keys map[string]rule) ([]byte, int) {
	dst = append(dst, '{')
	i++
	for first := true; i < len(src); {
		at := i // of the white space before a key, or before the end
		i = space(src, i)
		if i < len(src) && src[i] == '}' {
			return append(append(dst, src[at:i]...), '}'), i + 1
		}
		key := i
		i = skip(src, i)
		name := src[min(key+1, i):max(i-1, key+1)]
		i = space(src, i)
		if i < len(src) && src[i] == ':' {
			i++
		}
		i = space(src, i)
		rule, known := keys[string(name)]
		if known && rule.takes(src[i:]) {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(dst, src[at:i]...)
			dst, i = r.value(dst, src, i, rule)
		} else {
			r.drop(string(name))
			i = skip(src, i)
		}
		if next := space(src, i); next < len(src) && src[next] == ',' {
			i = next + 1
		}
	}
	return dst, i
}

// value appends what a rule makes of the value at src[i].
func (r *Redactor) value(dst, src []byte, i int, rule rule) ([]byte, int) {
	if i >= len(src) {
		return dst, i
	}
	end := i
	switch src[i] {
	case '{':
		return r.object(dst, src, i, rule.members())
	case '[':
		return r.array(dst, src, i, rule)
	case '"':
		end = skip(src, i)
		dst = r.text(dst, src[i:end], rule)
	default:
		end = skip(src, i)
		dst = r.scalar(dst, src[i:end], rule)
	}
	return dst, end
}

func (r *Redactor) array(dst, src []byte, i int, rule rule) ([]byte, int) {
	dst = append(dst, '[')
	i++
	for i < len(src) {
		at := i
		i = space(src, i)
		dst = append(dst, src[at:i]...)
		switch {
		case i == len(src):
		case src[i] == ']':
			return append(dst, ']'), i + 1
		case src[i] == ',':
			dst = append(dst, ',')
			i++
		case src[i] == '{' && rule.members() == nil:
			dst = append(dst, "null"...)
			i = skip(src, i)
		default:
			dst, i = r.value(dst, src, i, rule)
		}
	}
	return dst, i
}

// text appends what a rule makes of a string; quoted is its text with quotes.
func (r *Redactor) text(dst, quoted []byte, rule rule) []byte {
	rule = r.resolve(rule)
	c, ok := r.caches[rule][string(quoted)]
	if !ok {
		var s string
		if json.Unmarshal(quoted, &s) != nil {
			s = ""
		}
		r.now = r.now[:0]
		c.text = string(quoted)
		if to := rules[rule](r, s); to != s {
			c.text = quote(to)
		}
		c.what = slices.Clone(r.now)
		const most = 1 << 16 // texts that may all be different need no more
		if r.caches[rule] == nil {
			r.caches[rule] = map[string]cached{}
		}
		if len(r.caches[rule]) < most {
			r.caches[rule][string(quoted)] = c
		}
	}
	for _, k := range c.what {
		r.places[k]++
	}
	return append(dst, c.text...)
}

// scalar appends a number, true, false or null.
func (r *Redactor) scalar(dst, raw []byte, rule rule) []byte {
	if rule == asPID || rule == asTID && r.ofProcess() || rule == asSort && r.ofRow(raw) {
		r.now = r.now[:0]
		dst = append(dst, pid(r, string(raw))...)
		for _, k := range r.now {
			r.places[k]++
		}
		return dst
	}
	return append(dst, raw...)
}

func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func space(src []byte, i int) int {
	for i < len(src) && (src[i] == ' ' || src[i] == '\n' || src[i] == '\r' || src[i] == '\t') {
		i++
	}
	return i
}

// skip gives the index after the value at src[i].
func skip(src []byte, i int) int {
	depth := 0
	for i < len(src) {
		switch c := src[i]; c {
		case '"':
			for i++; i < len(src) && src[i] != '"'; i++ {
				if src[i] == '\\' {
					i++
				}
			}
			i++
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			i++
		case ',', ':', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return i
			}
			i++
			continue
		default:
			n := bytes.IndexAny(src[i:], ",:]} \n\r\t")
			if n < 0 {
				return len(src)
			}
			i += n
		}
		if depth == 0 {
			return min(i, len(src))
		}
	}
	return len(src)
}
