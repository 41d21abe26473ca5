package wire

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Reason returns the message of a short reply in one line. If the reply is JSON, the message is in the field in which
// SGLang, OpenAI, vLLM or FastAPI puts it. Otherwise the message is the beginning of the text.
func Reason(body []byte) string {
	var e struct {
		Message string          `json:"message"`
		Detail  string          `json:"detail"`
		Error   json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &e) == nil {
		var inner struct{ Message string }
		var plain string
		json.Unmarshal(e.Error, &inner)
		json.Unmarshal(e.Error, &plain)
		if text := cmp.Or(e.Message, e.Detail, inner.Message, plain); text != "" {
			return line(text)
		}
	}
	return line(string(body[:min(len(body), 2000)]))
}

func line(text string) string { return strings.Join(strings.Fields(text), " ") }

// JSONCause describes a JSON error without naming the package that reported it.
func JSONCause(err error) string {
	if typ, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		cause := fmt.Sprintf("got %s, want %s", typ.Value, typeName(typ))
		if typ.Field != "" {
			cause = typ.Field + ": " + cause
		}
		return cause
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("not JSON: byte %d: %s", syntax.Offset, syntax.Error())
	}
	return err.Error()
}

func typeName(e *json.UnmarshalTypeError) string {
	switch e.Type.Kind().String() {
	case "struct", "map":
		return "object"
	case "slice", "array":
		return "list"
	case "string":
		return "string"
	case "bool":
		return "bool"
	}
	return "a number that fits"
}
