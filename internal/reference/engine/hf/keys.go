package hf

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// Keys reads the members of one JSON object. The first error is kept, and reads after the error return their defaults.
// A member whose value is null counts as missing.
type Keys struct {
	raw  map[string]json.RawMessage
	read map[string]bool
	Err  error
}

// ParseKeys reads a JSON object.
func ParseKeys(data []byte) (*Keys, error) {
	r := &Keys{read: map[string]bool{}}
	if err := decodeStrict(data, &r.raw); err != nil {
		return nil, fmt.Errorf("want a JSON object: %w", err)
	}
	if r.raw == nil {
		return nil, fmt.Errorf("want a JSON object, not null")
	}
	return r, nil
}

// Fail sets the error, unless an earlier error is already set.
func (r *Keys) Fail(format string, args ...any) {
	if r.Err == nil {
		r.Err = fmt.Errorf(format, args...)
	}
}

// Override replaces members of r with the members of o. A null in o removes the member from r. If a member of o is not
// in known, Override returns its name.
func (r *Keys) Override(o *Keys, known map[string]bool) (unknown string) {
	for key, value := range o.raw {
		if !known[key] {
			return key
		}
		r.raw[key] = value
	}
	return ""
}

// Get decodes member key into v and reports whether it is present.
func (r *Keys) Get(key string, v any, want string) bool {
	r.read[key] = true
	raw, ok := r.raw[key]
	if !ok || string(raw) == "null" {
		return false
	}
	if err := decodeStrict(raw, v); err != nil {
		r.Fail("%s is %.40s; want %s", key, raw, want)
		return false
	}
	return true
}

// Str reads a string.
func (r *Keys) Str(key, missing string) string {
	var v string
	if r.Get(key, &v, "a string") {
		return v
	}
	return missing
}

// Bool reads a boolean.
func (r *Keys) Bool(key string, missing bool) bool {
	var v bool
	if r.Get(key, &v, "true or false") {
		return v
	}
	return missing
}

// Float reads a number.
func (r *Keys) Float(key string, missing float64) float64 {
	var v float64
	if r.Get(key, &v, "a number") {
		return v
	}
	return missing
}

// Int reads an integer of at most 32 bits. It also accepts an integer written like 4096.0, as in some configurations.
func (r *Keys) Int(key string, missing int) int {
	var v float64
	if !r.Get(key, &v, "an integer") {
		return missing
	}
	if v != math.Trunc(v) || math.Abs(v) > math.MaxInt32 {
		r.Fail("%s is %g; want an integer", key, v)
		return missing
	}
	return int(v)
}

// Strings reads a list of strings.
func (r *Keys) Strings(key string) []string {
	var v []string
	r.Get(key, &v, "a list of strings")
	return v
}

// IDs reads an integer or a list of integers.
func (r *Keys) IDs(key string) []int32 {
	r.read[key] = true
	raw := r.raw[key]
	var list []int32
	if len(raw) > 0 && raw[0] == '[' {
		r.Get(key, &list, "a list of integers")
		return list
	}
	var one int32
	if r.Get(key, &one, "an integer or a list of integers") {
		return []int32{one}
	}
	return nil
}

// Object reads a nested object, or returns nil if it is missing or empty.
func (r *Keys) Object(key string) *Keys {
	var raw map[string]json.RawMessage
	if !r.Get(key, &raw, "an object") || len(raw) == 0 {
		return nil
	}
	return &Keys{raw: raw, read: map[string]bool{}}
}

// Unread lists the members that were not read and are not listed in harmless, sorted.
func (r *Keys) Unread(harmless map[string]bool) []string {
	var names []string
	for key, raw := range r.raw {
		if !r.read[key] && !harmless[key] && string(raw) != "null" {
			names = append(names, key)
		}
	}
	slices.Sort(names)
	return names
}
