package waits

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestDocumented: docs/formats/analysis.md lists every field.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/formats/analysis.md")
	if err != nil {
		t.Fatal(err)
	}
	_, spec, ok := strings.Cut(string(text), "### requests")
	if !ok {
		t.Fatal("docs/formats/analysis.md has no section on requests")
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[Result](), reflect.TypeFor[Clock](), reflect.TypeFor[Tail](), reflect.TypeFor[Case](), reflect.TypeFor[Wait](), reflect.TypeFor[Causes](), reflect.TypeFor[Cause]()} {
		for i := range typ.NumField() {
			if f := typ.Field(i); f.IsExported() && !strings.Contains(spec, "`"+f.Tag.Get("json")+"`") {
				t.Errorf("docs/formats/analysis.md lacks the field %s.%s", typ.Name(), f.Name)
			}
		}
	}
}
