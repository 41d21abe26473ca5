package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// FieldError is the error about one invalid field of a body.
type FieldError struct {
	Field  string // "sampling_params.top_p"; empty for the body as a whole
	Reason string
}

func (e *FieldError) Error() string {
	if e.Field == "" {
		return e.Reason
	}
	return e.Field + ": " + e.Reason
}

// Refuse returns a FieldError with a formatted reason.
func Refuse(field, format string, args ...any) *FieldError {
	return &FieldError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// Within prefixes the field of err with parent if err is a FieldError.
func Within(parent string, err error) error {
	var fe *FieldError
	if !errors.As(err, &fe) {
		return err
	}
	if fe.Field == "" {
		return &FieldError{Field: parent, Reason: fe.Reason}
	}
	sep := "."
	if strings.HasPrefix(fe.Field, "[") {
		sep = ""
	}
	return &FieldError{Field: parent + sep + fe.Field, Reason: fe.Reason}
}

// Decode parses a request body. Every error is a *FieldError whose text can be sent to the client.
func Decode(body []byte, dst json.Unmarshaler) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return Refuse("", "the body is empty, want a JSON object")
	}
	if !utf8.Valid(body) {
		return Refuse("", "the body is not valid UTF-8")
	}
	if !json.Valid(body) {
		return syntaxError(body)
	}
	err := dst.UnmarshalJSON(body)
	if _, own := errors.AsType[*FieldError](err); err != nil && !own {
		return Refuse("", "%v", err)
	}
	return err
}

func syntaxError(body []byte) error {
	var v json.RawMessage
	err := json.Unmarshal(body, &v)
	if se, ok := errors.AsType[*json.SyntaxError](err); ok {
		return Refuse("", "the body is not valid JSON: %v at byte %d", se, se.Offset)
	}
	return Refuse("", "the body is not valid JSON: %v", err)
}

// fields reads the members of one JSON object. It keeps the first error and ignores all later reads. So a decoder can
// read the fields one after another without checking errors.
type fields struct {
	raw map[string]json.RawMessage
	err error
}

func openObject(data []byte) *fields {
	f := &fields{}
	if k := kind(data); k != "an object" {
		f.err = Refuse("", "want an object, got %s", k)
		return f
	}
	if err := json.Unmarshal(data, &f.raw); err != nil {
		f.err = syntaxError(data)
	}
	return f
}

// take removes the member and returns its text. It returns nil if the member is absent or null.
func (f *fields) take(name string) json.RawMessage {
	if f.err != nil {
		return nil
	}
	raw, ok := f.raw[name]
	if !ok {
		return nil
	}
	delete(f.raw, name)
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// rest returns the remaining members that are not null.
func (f *fields) rest() map[string]json.RawMessage {
	for name, raw := range f.raw {
		if string(raw) == "null" {
			delete(f.raw, name)
		}
	}
	if len(f.raw) == 0 {
		return nil
	}
	return f.raw
}

// value reads one member with parse. It prefixes an error of parse with the member's name.
func value[T any](f *fields, name string, dst *T, parse func(json.RawMessage) (T, error)) {
	raw := f.take(name)
	if raw == nil {
		return
	}
	v, err := parse(raw)
	if err != nil {
		f.err = Within(name, err)
		return
	}
	*dst = v
}

// optional is like value for a pointer, which stays nil if the member is absent.
func optional[T any](f *fields, name string, dst **T, parse func(json.RawMessage) (T, error)) {
	var v T
	had := f.err == nil && f.raw[name] != nil && string(f.raw[name]) != "null"
	value(f, name, &v, parse)
	if had && f.err == nil {
		*dst = &v
	}
}

func parseString(raw json.RawMessage) (string, error) {
	var s string
	if raw[0] != '"' {
		return "", Refuse("", "want a string, got %s", kind(raw))
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", Refuse("", "want a string: %v", err)
	}
	return s, nil
}

// parseInt accepts 5, 5.0 and "5", because SGLang's clients send integers as strings.
func parseInt(raw json.RawMessage) (int64, error) {
	text := string(raw)
	if raw[0] == '"' {
		s, err := parseString(raw)
		if err != nil {
			return 0, err
		}
		text = strings.TrimSpace(s)
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	// float64 represents every integer up to 1<<53 exactly.
	if x, err := strconv.ParseFloat(text, 64); err == nil && x == math.Trunc(x) && math.Abs(x) <= 1<<53 {
		return int64(x), nil
	}
	return 0, Refuse("", "want an integer, got %s", show(raw))
}

// parseCount is like parseInt for lengths and counts, which must fit in an int32.
func parseCount(raw json.RawMessage) (int, error) {
	n, err := parseInt(raw)
	if err != nil {
		return 0, err
	}
	if n < math.MinInt32 || n > math.MaxInt32 {
		return 0, Refuse("", "%d is out of range", n)
	}
	return int(n), nil
}

func parseFloat(raw json.RawMessage) (float64, error) {
	text := string(raw)
	if raw[0] == '"' {
		s, err := parseString(raw)
		if err != nil {
			return 0, err
		}
		text = strings.TrimSpace(s)
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
		return 0, Refuse("", "want a finite number, got %s", show(raw))
	}
	return x, nil
}

func parseBool(raw json.RawMessage) (bool, error) {
	switch strings.ToLower(strings.Trim(string(raw), `"`)) {
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	}
	return false, Refuse("", "want true or false, got %s", show(raw))
}

// kind returns the name of the JSON type of raw, for an error text.
func kind(raw []byte) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// show quotes a value in an error text, cut to a readable length.
func show(raw []byte) string {
	const most = 40
	if len(raw) <= most {
		return string(raw)
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(raw[cut]) {
		cut--
	}
	return string(raw[:cut]) + "…"
}
