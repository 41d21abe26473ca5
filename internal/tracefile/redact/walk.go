package redact

import (
	"encoding/json"
	"slices"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
)

// The walk expects well-formed JSON, such as events and members from chromejson. Kept members are copied with their
// white space.

// object appends the object at src[i] with only the members in keys, and returns the index after it.
func (r *Redactor) object(dst, src []byte, i int, keys map[string]rule) ([]byte, int) {
	dst = append(dst, '{')
	i++
	for first := true; i < len(src); {
		at := i // start of the white space before the next key or the closing brace
		i = chromejson.SkipSpace(src, i)
		if i < len(src) && src[i] == '}' {
			return append(append(dst, src[at:i]...), '}'), i + 1
		}
		key := i
		i = chromejson.SkipValue(src, i)
		name := src[min(key+1, i):max(i-1, key+1)]
		i = chromejson.SkipSpace(src, i)
		if i < len(src) && src[i] == ':' {
			i++
		}
		i = chromejson.SkipSpace(src, i)
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
			i = chromejson.SkipValue(src, i)
		}
		if next := chromejson.SkipSpace(src, i); next < len(src) && src[next] == ',' {
			i = next + 1
		}
	}
	return dst, i
}

// value appends the redacted value at src[i] and returns the index after it.
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
		end = chromejson.SkipValue(src, i)
		dst = r.text(dst, src[i:end], rule)
	default:
		end = chromejson.SkipValue(src, i)
		dst = r.scalar(dst, src[i:end], rule)
	}
	return dst, end
}

func (r *Redactor) array(dst, src []byte, i int, rule rule) ([]byte, int) {
	dst = append(dst, '[')
	i++
	for i < len(src) {
		at := i
		i = chromejson.SkipSpace(src, i)
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
			i = chromejson.SkipValue(src, i)
		default:
			dst, i = r.value(dst, src, i, rule)
		}
	}
	return dst, i
}

// text appends a redacted string. quoted is the original string with its quotes.
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
			c.text = `"` + chromejson.Escape(to) + `"`
		}
		c.what = slices.Clone(r.now)
		const most = 1 << 16 // maximum number of cached texts; a larger cache would not help if all texts are different
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
