package route

import "bytes"

// The router reads no more of a body than it must: where the prompt is, for
// cache_aware, and how many prompts there are, for PD. Both are values of the outer
// object, so the scanner finds those and leaves the rest unread; whether it is all
// valid JSON the worker says.

// scanObject calls visit with each key, without quotes and as it is escaped, and each
// value of a JSON object, in order. end is the place of the object's last brace, n its
// number of members. ok is false where body is no object, as far as can be seen.
func scanObject(body []byte, visit func(key, value []byte)) (end, n int, ok bool) {
	i := space(body, 0)
	if i >= len(body) || body[i] != '{' {
		return 0, 0, false
	}
	for i = space(body, i+1); i < len(body) && body[i] != '}'; n++ {
		if n > 0 {
			if body[i] != ',' {
				return 0, 0, false
			}
			i = space(body, i+1)
		}
		from := i
		if i = value(body, i); i < 0 || body[from] != '"' {
			return 0, 0, false
		}
		key := body[from+1 : i-1]
		if i = space(body, i); i >= len(body) || body[i] != ':' {
			return 0, 0, false
		}
		from = space(body, i+1)
		if i = value(body, from); i < 0 {
			return 0, 0, false
		}
		visit(key, body[from:i])
		i = space(body, i)
	}
	return i, n, i < len(body) && space(body, i+1) == len(body)
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// value returns the end of the value that begins at i, or -1.
func value(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return text(b, i)
	case '{', '[':
		for depth := 0; i < len(b); i++ {
			switch b[i] {
			case '"':
				if i = text(b, i) - 1; i < 0 {
					return -1
				}
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
		return -1
	}
	from := i
	for i < len(b) && (b[i] == '-' || b[i] == '+' || b[i] == '.' || b[i] >= '0' && b[i] <= '9' || b[i] >= 'a' && b[i] <= 'z' || b[i] >= 'A' && b[i] <= 'Z') {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

// text returns the end of the string that begins at i, or -1.
func text(b []byte, i int) int {
	for i++; ; i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		slashes := 0
		for n > slashes && b[i+n-1-slashes] == '\\' {
			slashes++
		}
		if i += n; slashes%2 == 0 {
			return i + 1
		}
	}
}

// elements counts those of a JSON array and gives the first; -1: it is none.
func elements(v []byte) (first []byte, n int) {
	if len(v) == 0 || v[0] != '[' {
		return nil, -1
	}
	for i := space(v, 1); i < len(v) && v[i] != ']'; n++ {
		if n > 0 {
			if v[i] != ',' {
				return nil, -1
			}
			i = space(v, i+1)
		}
		end := value(v, i)
		if end < 0 {
			return nil, -1
		}
		if n == 0 {
			first = v[i:end]
		}
		i = space(v, end)
	}
	return first, n
}

// prompt is the raw prompt of a request to one of the generation routes: text,
// token ids or messages. Requests whose prompts begin alike have raw prompts that do.
func prompt(body []byte) (raw []byte) {
	scanObject(body, func(key, value []byte) {
		switch string(key) {
		case "text", "prompt", "messages", "input_ids", "input":
			if len(value) > len(raw) { // not a null beside the other
				raw = value
			}
		}
	})
	return raw
}

// batch is how many prompts a body has; single for one that is no list of them.
func batch(body []byte) (n int, single bool) {
	single = true
	scanObject(body, func(key, value []byte) {
		switch string(key) {
		case "text", "prompt", "input_ids":
			// A flat list of numbers is one prompt's token ids.
			if first, k := elements(value); k > 0 && (first[0] == '"' || first[0] == '[') {
				n, single = k, false
			}
		}
	})
	return n, single
}
