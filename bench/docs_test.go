package bench

import (
	"os"
	"reflect"
	"regexp"
	"testing"
)

// The specification names every written field, every objective and every failure reason.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/formats/bench.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Slice || typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		for i := range typ.NumField() {
			f := typ.Field(i)
			if tag := regexp.MustCompile(`^\w+`).FindString(f.Tag.Get("json")); tag != "" {
				names[tag] = true
			} else if !f.Anonymous && f.IsExported() {
				t.Errorf("%s.%s has no JSON name", typ.Name(), f.Name)
			}
			walk(f.Type)
		}
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[Summary](), reflect.TypeFor[Estimate](), reflect.TypeFor[Comparison]()} {
		walk(typ)
	}
	for _, why := range []Failure{Refused, Timeout, Reset, Cut, Malformed, Empty, ServerError, Interrupted} {
		names[string(why)] = true
	}
	for _, verdict := range []string{Better, Worse, Same, NotClear, TooFew, Missing} {
		names[verdict] = true
	}
	for name := range names {
		if !regexp.MustCompile("`" + regexp.QuoteMeta(name) + "`").Match(text) {
			t.Errorf("docs/formats/bench.md does not name %s", name)
		}
	}
}
