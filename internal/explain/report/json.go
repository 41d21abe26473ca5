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
	return copied(v, copier{fact: func(f fact.Fact) fact.Fact { return fact.Name(Words(f)) }})
}

// Named returns a copy of a result in which cut has replaced all names, such as those of kernels, ranks and files.
// Named returns nil for nil.
func Named[T result.Report | result.PD | result.Comparison | waits.Result](v *T, cut func(string) string) *T {
	return copied(v, copier{fact: func(f fact.Fact) fact.Fact { return f.Names(cut) }, text: cut})
}

func copied[T any](v *T, c copier) *T {
	if v == nil {
		return nil
	}
	out := c.copy(reflect.ValueOf(v).Elem()).Interface().(T)
	return &out
}

// copier copies results. fact and text replace facts and texts; nil: texts stay.
type copier struct {
	fact func(fact.Fact) fact.Fact
	text func(string) string
}

// copy returns a copy of v in which facts and texts are replaced, nil slices are empty slices, and all floats are
// finite. Values whose type contains none of these are not copied but shared.
func (c copier) copy(v reflect.Value) reflect.Value {
	if v.Type() == reflect.TypeFor[fact.Fact]() {
		return reflect.ValueOf(c.fact(v.Interface().(fact.Fact)))
	}
	if !c.changes(v.Type()) {
		return v
	}
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		out.SetString(c.text(v.String()))
	case reflect.Float32, reflect.Float64:
		if f := v.Float(); !math.IsNaN(f) && !math.IsInf(f, 0) {
			out.SetFloat(f)
		}
	case reflect.Slice:
		if !v.IsNil() && !c.changes(v.Type().Elem()) {
			return v
		}
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(c.copy(v.Index(i)))
		}
	case reflect.Struct:
		out.Set(v)
		for i := range v.NumField() {
			if out.Field(i).CanSet() && v.Type().Field(i).Tag.Get("json") != "-" {
				out.Field(i).Set(c.copy(v.Field(i)))
			}
		}
	default:
		return v
	}
	return out
}

// changes reports whether a value of this type may contain a nil slice, a fact, a float or a text to replace. Reports
// contain no maps or pointers; a test checks this.
func (c copier) changes(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Float32, reflect.Float64:
		return true
	case reflect.String:
		return c.text != nil
	case reflect.Struct:
		for i := range t.NumField() {
			if c.changes(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}
