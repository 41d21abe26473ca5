package summary

import (
	"crypto/sha256"
	"fmt"
	"io"
	"reflect"
)

// schemaOf returns a hash that identifies the type of v: the names and types of all exported fields, and the names of
// the values of small enumerations. The hash is necessary because gob matches fields by name and skips unknown fields,
// so a stream written with different types would be read with data missing.
func schemaOf(v any) string {
	sum := sha256.New()
	shape(sum, reflect.TypeOf(v))
	return fmt.Sprintf("%x", sum.Sum(nil)[:8])
}

func shape(w io.Writer, t reflect.Type) {
	fmt.Fprint(w, t.Kind(), " ")
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() {
				fmt.Fprint(w, f.Name, " ")
				shape(w, f.Type)
			}
		}
		fmt.Fprint(w, "end ")
	case reflect.Slice:
		shape(w, t.Elem())
	case reflect.Array:
		fmt.Fprint(w, t.Len(), " ")
		shape(w, t.Elem())
	case reflect.Map:
		shape(w, t.Key())
		shape(w, t.Elem())
	case reflect.Uint8:
		for i := range 256 {
			v := reflect.New(t).Elem()
			v.SetUint(uint64(i))
			if s, ok := v.Interface().(fmt.Stringer); ok {
				fmt.Fprintf(w, "%q ", s.String())
			}
		}
	}
}
