package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/waits"
)

// JSON writes r as specified in docs/formats/analysis.md. The output is indented, the same report gives the same bytes,
// and arrays are never null. JSON cannot represent NaN and infinities. They are written as 0, which means "unknown" for
// rates. r is not changed. If requests is not nil, the output includes the waits of the slow requests of a load.
func JSON(w io.Writer, r *result.Report, requests *waits.Result) error {
	out := struct {
		*result.Report
		Requests json.RawMessage `json:"requests,omitempty"`
	}{Report: Plain(r)}
	if requests != nil {
		text, err := json.Marshal(Plain(requests)) // Marshal escapes < and >
		if err != nil {
			return err
		}
		out.Requests = text
	}
	return encode(w, out, false) // kernel names contain many < and >, so these are not escaped
}

// Indented writes a value as indented JSON.
func Indented(w io.Writer, v any) error { return encode(w, v, true) }

// encode writes indented JSON. If html is set, <, > and & are escaped. Characters that change the direction of text on
// a terminal are always escaped, since the names of files and kernels are untrusted.
func encode(w io.Writer, v any, html bool) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(html)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("write report as json: %w", err)
	}
	_, err := w.Write(columns.JSON(b.Bytes()))
	return err
}

// Plain returns a copy of a result for JSON. The copy has words for facts, and neither null nor NaN. Plain returns nil
// for nil.
func Plain[T result.Report | result.PD | result.Comparison | waits.Result](v *T) *T {
	if v == nil {
		return nil
	}
	out := plain(reflect.ValueOf(v).Elem()).Interface().(T)
	return &out
}

// plain returns a copy of v in which facts have words, nil slices are empty slices, and all floats are finite. Values
// whose type contains no facts, slices or floats are not copied but shared.
func plain(v reflect.Value) reflect.Value {
	if v.Type() == reflect.TypeFor[fact.Fact]() {
		return reflect.ValueOf(fact.Name(Words(v.Interface().(fact.Fact))))
	}
	if !needsPlain(v.Type()) {
		return v
	}
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		if f := v.Float(); !math.IsNaN(f) && !math.IsInf(f, 0) {
			out.SetFloat(f)
		}
	case reflect.Slice:
		if !v.IsNil() && !needsPlain(v.Type().Elem()) {
			return v
		}
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(plain(v.Index(i)))
		}
	case reflect.Struct:
		out.Set(v)
		for i := range v.NumField() {
			if out.Field(i).CanSet() && v.Type().Field(i).Tag.Get("json") != "-" {
				out.Field(i).Set(plain(v.Field(i)))
			}
		}
	default:
		return v
	}
	return out
}

// needsPlain reports whether a value of this type may contain a nil slice, a fact or a float. Reports contain no maps
// or pointers; a test checks this.
func needsPlain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Float32, reflect.Float64:
		return true
	case reflect.Struct:
		for i := range t.NumField() {
			if needsPlain(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}
