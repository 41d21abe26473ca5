package spec

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// SchemaOf returns a JSON schema (draft 2020-12) of job files of a dialect for editors: keys, types, defaults and allowed values. The
// schema is generated from the table that the parser uses. It accepts everything that Parse accepts, such as numbers in
// quotes. The schema does not contain rules that involve several keys; only Parse checks these.
func SchemaOf(d Dialect) []byte {
	top := mapSchema(d, jobKeys)
	top["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	top["title"] = "A stepscope job, in srtctl's format"
	top["$defs"] = schema{"parameter": fillerItself}
	top["allOf"] = exceptions("", jobKeys)
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(top); err != nil {
		panic(err) // the table contains a value that JSON cannot represent
	}
	return text.Bytes()
}

type schema = map[string]any

// mapSchema returns the schema of a map of known keys.
func mapSchema(d Dialect, keys []key[Job]) schema {
	properties, required := schema{}, []string{}
	for _, k := range keys {
		if k.only != "" && !strings.Contains(k.only, string(d)) || d == DialectP && k.when != "" && k.when != SGLang {
			continue
		}
		s := valueSchema(d, k)
		if !k.required && (!k.stays || d != DialectP) {
			s = anyOf(s, schema{"type": "null"})
		}
		s["description"] = k.about
		if k.preset != nil {
			s["default"] = k.preset
		}
		properties[k.name] = s
		if k.required && k.unless == "" && !(k.optional != "" && strings.Contains(k.optional, string(d))) {
			required = append(required, k.name)
		}
	}
	s := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func anyOf(of ...schema) schema { return schema{"anyOf": of} }

// filler is the schema of a value that consists only of a placeholder: "{name}", or {name} without quotes, which YAML
// parses as a map.
var filler = schema{"$ref": "#/$defs/parameter"}

var fillerItself = anyOf(
	schema{"type": "string", "pattern": `^\s*` + inBraces.String() + `\s*$`},
	schema{"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": schema{"type": "null"}},
)

// valueSchema returns the schema of the value of a key.
func valueSchema(d Dialect, k key[Job]) schema {
	if k.keys != nil {
		return mapSchema(d, k.keys)
	}
	sample := newJob(d)
	sample.Profiling = Profiling{Prefill: &Phase{}, Decode: &Phase{}}
	sample.Today.Aggregated = &Phase{}
	choices, least := k.choices, k.least
	if d != DialectP {
		if choices = k.today; k.zero {
			least = 0
		}
	}
	words := schema{"type": []string{"string", "number", "boolean"}}
	number := func(least, most int) schema {
		return anyOf(schema{"type": "integer", "minimum": least, "maximum": most}, schema{"type": "string", "pattern": `^\s*[+-]?[0-9]+\s*$`}, filler)
	}
	switch k.at(sample).(type) {
	case *string:
		if choices != nil {
			return anyOf(schema{"enum": choices}, filler)
		}
		return anyOf(words, filler)
	case *int:
		return number(least, k.largest())
	case *float64:
		return anyOf(schema{"type": []string{"number", "string"}}, filler)
	case *any:
		return schema{}
	case *[]string:
		return anyOf(schema{"type": "array", "items": words}, filler)
	case *bool:
		return anyOf(schema{"type": "boolean"}, schema{"enum": []string{"yes", "no", "on", "off"}}, filler)
	case *[]int:
		return anyOf(schema{"type": "array", "items": number(1, most)}, schema{"type": "integer", "minimum": 1},
			schema{"type": "string", "pattern": `^[0-9]+(x[0-9]+)*$`}, filler)
	case *[]Mount:
		return anyOf(schema{"type": "array", "items": schema{"type": "string", "pattern": mountPattern(d)}}, filler)
	case func([]Setting):
		if d != DialectP {
			return schema{"type": "object", "additionalProperties": anyOf(words, filler)}
		}
		return schema{"type": "object", "propertyNames": schema{"pattern": variable.String()}, "additionalProperties": anyOf(words, filler)}
	case func([]Flag):
		if d != DialectP {
			return schema{"type": "object", "propertyNames": schema{"pattern": freeForm.String()}}
		}
		value := schema{"type": []string{"string", "number", "boolean", "array"}, "items": anyOf(words, filler)}
		return schema{
			"type": "object", "propertyNames": schema{"pattern": flagForm.String(), "not": schema{"enum": ours}},
			"additionalProperties": anyOf(value, filler),
		}
	case *[]Parameter:
		value := schema{"type": []string{"string", "number", "boolean", "array"}}
		return schema{
			"type": "object", "propertyNames": schema{"pattern": parameter.String()},
			"additionalProperties": schema{"type": "array", "minItems": 1, "items": value},
		}
	}
	panic("the table has a type at " + k.name + " that the schema lacks")
}

func mountPattern(d Dialect) string {
	if d != DialectP {
		return ":"
	}
	return mountForm.String()
}

// exceptions returns the schema conditions for keys that are required unless another key has a given value.
func exceptions(path string, keys []key[Job]) (all []schema) {
	for _, k := range keys {
		at := join(path, k.name)
		if other, value, ok := strings.Cut(k.unless, "="); ok {
			all = append(all, schema{"if": holds(other, schema{"const": value}), "else": holds(at, schema{})})
		}
		all = append(all, exceptions(at, k.keys)...)
	}
	return all
}

// holds returns the schema of a document in which a key has the given value.
func holds(path string, value schema) schema {
	names := strings.Split(path, ".")
	for _, name := range slices.Backward(names) {
		value = schema{"required": []string{name}, "properties": schema{name: value}}
	}
	return value
}
