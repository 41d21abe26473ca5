package report

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// The specification names every field, and its example holds no others.
func TestDocumentedFields(t *testing.T) {
	documented(t, "compare", reflect.TypeFor[result.Comparison]())
	text := documented(t, "analysis", reflect.TypeFor[result.Report]())

	example := regexp.MustCompile("(?s)```json\n(.*?)```").FindSubmatch(text)
	if example == nil {
		t.Fatal("no example")
	}
	d := json.NewDecoder(strings.NewReader(string(example[1])))
	d.DisallowUnknownFields()
	var r result.Report
	if err := d.Decode(&r); err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Times {
		by := row.IdleBy
		if row.Compute+row.ExposedComm+row.ExposedCopy+row.Idle != row.Total || by.Host+by.Sync+by.Peers+by.Launch+by.Device+by.Profiler+by.Unknown+by.Between != row.Idle {
			t.Error("the parts in the example do not sum up")
		}
	}
}

// documented holds the fields of a type, and of what it is made of, against the specification of a format.
func documented(t *testing.T, format string, of reflect.Type) []byte {
	t.Helper()
	text, err := os.ReadFile("../../../docs/formats/" + format + ".md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] || typ == reflect.TypeFor[fact.Fact]() {
			return
		}
		seen[typ] = true
		for i := range typ.NumField() {
			f := typ.Field(i)
			if name := f.Tag.Get("json"); name == "-" || !f.IsExported() {
				continue
			} else if name != "" && !regexp.MustCompile("`([a-z_]+\\.)?"+name+"`").Match(text) {
				t.Errorf("docs/formats/%s.md does not name %s.%s", format, typ.Name(), name)
			} else if name == "" && !f.Anonymous {
				t.Errorf("%s.%s has no JSON name", typ.Name(), f.Name)
			}
			walk(f.Type)
		}
	}
	walk(of)
	return text
}
