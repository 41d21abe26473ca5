package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// ToolCall is a tool call in the history of a chat. Arguments is a JSON object in the format of Python's json.dumps,
// because chat templates insert that format into prompts.
type ToolCall struct{ Name, Arguments string }

func parseToolCall(raw json.RawMessage) (ToolCall, error) {
	var c ToolCall
	f := openObject(raw)
	value(f, "function", &c, func(raw json.RawMessage) (ToolCall, error) {
		c := ToolCall{Arguments: "{}"}
		f := openObject(raw)
		value(f, "name", &c.Name, parseString)
		value(f, "arguments", &c.Arguments, parseArguments)
		if f.err == nil && c.Name == "" {
			return c, Refuse("name", "is needed")
		}
		return c, f.err
	})
	if f.err == nil && c.Name == "" {
		return c, Refuse("function", "is needed")
	}
	return c, f.err
}

// parseArguments accepts an object, or an object in a string.
func parseArguments(raw json.RawMessage) (string, error) {
	if raw[0] == '"' {
		text, err := parseString(raw)
		if err != nil {
			return "", err
		}
		if raw = bytes.TrimSpace([]byte(text)); !json.Valid(raw) {
			return "", Refuse("", "Assistant tool call function.arguments must be valid JSON.")
		}
	}
	if raw[0] != '{' {
		return "", Refuse("", "Assistant tool call function.arguments must be a JSON object.")
	}
	return string(appendPython(nil, raw)), nil
}

// appendPython appends a JSON value with the spacing and escapes of Python's json.dumps. Non-ASCII text and numbers are
// copied unchanged.
func appendPython(dst []byte, raw json.RawMessage) []byte {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	type level struct {
		object bool
		n      int
	}
	var open []level
	for {
		t, err := d.Token()
		if err != nil {
			return dst // end of raw, which is valid JSON
		}
		if end, ok := t.(json.Delim); ok && (end == '}' || end == ']') {
			dst, open = append(dst, byte(end)), open[:len(open)-1]
			continue
		}
		if len(open) > 0 {
			switch at := &open[len(open)-1]; {
			case at.object && at.n%2 == 1:
				dst = append(dst, ": "...)
			case at.n > 0:
				dst = append(dst, ", "...)
			}
			open[len(open)-1].n++
		}
		switch t := t.(type) {
		case json.Delim:
			dst, open = append(dst, byte(t)), append(open, level{object: t == '{'})
		case string:
			dst = AppendString(dst, t)
		case json.Number:
			dst = append(dst, t...)
		case bool:
			if t {
				dst = append(dst, "true"...)
			} else {
				dst = append(dst, "false"...)
			}
		default:
			dst = append(dst, "null"...)
		}
	}
}

// roles lists the message roles that SGLang accepts in addition to user.
var roles = []string{"system", "assistant", "tool", "function", "developer", "latest_reminder", "root"}

// parseRole parses a role. As in SGLang, any role may be in upper or lower case, except that user must be in lower
// case.
func parseRole(raw json.RawMessage) (string, error) {
	role, err := parseString(raw)
	if lower := strings.ToLower(role); err != nil || role == "user" {
		return role, err
	} else if slices.Contains(roles, lower) {
		return lower, nil
	}
	return "", Refuse("", "unknown role %q: give user, %s", role, strings.Join(roles, ", "))
}

// tools reads the fields tools and tool_choice. Stepscope's server never calls tools, so it accepts them only if
// tool_choice is none.
func (r *ChatRequest) tools(f *fields) {
	var tools []json.RawMessage
	value(f, "tools", &tools, parseList(func(raw json.RawMessage) (json.RawMessage, error) {
		f := openObject(raw)
		value(f, "function", new(json.RawMessage), func(raw json.RawMessage) (json.RawMessage, error) {
			f, name := openObject(raw), ""
			value(f, "name", &name, parseString)
			if f.err == nil && name == "" {
				return nil, Refuse("name", "is needed")
			}
			return nil, f.err
		})
		return nil, f.err
	}))
	choice := f.take("tool_choice")
	named := len(choice) > 0 && choice[0] == '{'
	switch {
	case f.err != nil:
	case choice != nil && !named && !slices.Contains([]string{`"none"`, `"auto"`, `"required"`}, string(choice)):
		f.err = Refuse("tool_choice", "want none, auto, required or an object, got %s", kindOrText(choice))
	case named, string(choice) == `"required"`:
		f.err = Refuse("tool_choice", `tool calls need constrained decoding, which this server lacks: give "none"`)
	case len(tools) > 0 && string(choice) != `"none"`:
		f.err = Refuse("tools", `this server does not call tools (it has neither a tool-call parser nor constrained decoding): give tool_choice "none"`)
	}
}

func kindOrText(raw json.RawMessage) string {
	if raw[0] == '"' && len(raw) < 64 {
		return string(raw)
	}
	return kind(raw)
}
