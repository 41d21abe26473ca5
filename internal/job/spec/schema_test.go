package spec

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/base/yamltree"
)

// matches validates a value against a schema with Schema's keywords, and returns the first error.
func matches(s map[string]any, v any, at string) error {
	for word, arg := range s {
		if err := keyword(s, word, arg, v, at); err != nil {
			return err
		}
	}
	return nil
}

func keyword(s map[string]any, word string, arg, v any, at string) error {
	bad := fmt.Errorf("%s: %v against %s %v", at, v, word, arg)
	text, isText := v.(string)
	object, isObject := v.(map[string]any)
	list, isList := v.([]any)
	sub := func(arg any, v any, at string) error { return matches(arg.(map[string]any), v, at) }
	switch word {
	case "$ref":
		return sub(definitions[strings.TrimPrefix(arg.(string), "#/$defs/")], v, at)
	case "$schema", "$defs", "title", "description", "default", "else":
	case "type":
		types, ok := arg.([]any)
		if !ok {
			types = []any{arg}
		}
		if !slices.ContainsFunc(types, func(t any) bool { return isOf(t.(string), v) }) {
			return bad
		}
	case "enum":
		if !slices.Contains(arg.([]any), v) {
			return bad
		}
	case "const":
		if arg != v {
			return bad
		}
	case "pattern":
		if isText && !regexp.MustCompile(arg.(string)).MatchString(text) {
			return bad
		}
	case "minimum", "maximum":
		if f, ok := asFloat(v); ok && (word == "minimum" && f < arg.(float64) || word == "maximum" && f > arg.(float64)) {
			return bad
		}
	case "minItems":
		if isList && float64(len(list)) < arg.(float64) {
			return bad
		}
	case "minProperties", "maxProperties":
		if n := float64(len(object)); isObject && (word == "minProperties" && n < arg.(float64) || word == "maxProperties" && n > arg.(float64)) {
			return bad
		}
	case "required":
		for _, name := range arg.([]any) {
			if _, ok := object[name.(string)]; isObject && !ok {
				return fmt.Errorf("%s lacks %s", at, name)
			}
		}
	case "not":
		if sub(arg, v, at) == nil {
			return bad
		}
	case "if":
		if sub(arg, v, at) != nil {
			return sub(s["else"], v, at)
		}
	case "allOf":
		for _, a := range arg.([]any) {
			if err := sub(a, v, at); err != nil {
				return err
			}
		}
	case "anyOf":
		if !slices.ContainsFunc(arg.([]any), func(a any) bool { return sub(a, v, at) == nil }) {
			return bad
		}
	case "items":
		for i, item := range list {
			if err := sub(arg, item, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case "properties", "propertyNames", "additionalProperties":
		return members(s, word, arg, object, at)
	default:
		return fmt.Errorf("this test does not know the keyword %s", word)
	}
	return nil
}

// members validates the members of an object against one of the keywords for members.
func members(s map[string]any, word string, arg any, object map[string]any, at string) (err error) {
	properties, _ := s["properties"].(map[string]any)
	for name, value := range object {
		of, known := properties[name].(map[string]any)
		switch rest, some := arg.(map[string]any); {
		case word == "propertyNames":
			err = matches(rest, name, at)
		case word == "properties" && known:
			err = matches(of, value, at+"."+name)
		case word == "additionalProperties" && !known && some:
			err = matches(rest, value, at+"."+name)
		case word == "additionalProperties" && !known:
			err = fmt.Errorf("%s: unknown key %s", at, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func asFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func isOf(typ string, v any) bool {
	switch v := v.(type) {
	case nil:
		return typ == "null"
	case string:
		return typ == "string"
	case bool:
		return typ == "boolean"
	case int64:
		return typ == "integer" || typ == "number"
	case float64:
		return typ == "number" || typ == "integer" && v == math.Trunc(v)
	case []any:
		return typ == "array"
	}
	return typ == "object"
}

func schemaOf(d Dialect) (s map[string]any) {
	if err := json.Unmarshal(SchemaOf(d), &s); err != nil {
		panic(err)
	}
	return s
}

var theSchema = schemaOf(DialectP)

var definitions = theSchema["$defs"].(map[string]any)

// TestSchemaTakes checks that the schema accepts everything that Parse accepts.
func TestSchemaTakes(t *testing.T) {
	for _, text := range append(right(t), file(t, "torch.yaml"), laid(t, "fragment-torch.yaml"), laid(t, "fragment-nsys.yaml")) {
		if _, _, err := Parse("job.yaml", []byte(text)); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
		tree, _ := yamltree.Parse([]byte(text))
		if err := matches(theSchema, tree.Plain(), "job"); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

// betweenKeys matches the problems of rules that compare keys or parse strings, which a schema leaves to Parse.
var betweenKeys = regexp.MustCompile(`Profiling mode|Cannot |mode \(|resource mismatch|no phase would run|want more than start_step|cpu is only for|` +
	`resources: give|resources\.\w+ is missing|sa-bench needs|not a time limit|line break|appears twice|want at least 1, got 0|specified$`)

// TestSchemaRefuses checks that the schema rejects everything that Parse rejects, except for the rules between keys.
func TestSchemaRefuses(t *testing.T) {
	refused := 0
	for name, c := range rules {
		tree, wrong := yamltree.Parse([]byte(changed(t, c.pairs...)))
		err := error(nil)
		if tree != nil {
			err = matches(theSchema, tree.Plain(), "job")
		}
		if err != nil {
			refused++
		}
		if !slices.ContainsFunc(c.want, betweenKeys.MatchString) && wrong == nil && err == nil {
			t.Errorf("%s: the schema accepts it; Parse returns %q", name, c.want)
		}
	}
	if refused < 30 {
		t.Errorf("the schema rejects %d of %d", refused, len(rules))
	}
	for _, name := range []string{"fragment-torch.yaml", "fragment-nsys.yaml"} {
		tree, _ := yamltree.Parse([]byte(file(t, name)))
		if err := matches(theSchema, tree.Plain(), "job"); err == nil || !strings.Contains(err.Error(), "lacks") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
