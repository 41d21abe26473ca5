package report

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// What JSON writes reads back as the same report, with empty arrays for nil ones.
func TestJSONRoundTrip(t *testing.T) {
	for name, r := range samples() {
		var b bytes.Buffer
		if err := JSON(&b, r, nil); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b.Bytes(), []byte("null")) {
			t.Errorf("%s holds a null", name)
		}
		var back result.Report
		if err := json.Unmarshal(b.Bytes(), &back); err != nil {
			t.Fatal(err)
		}
		if want := Plain(r); !reflect.DeepEqual(&back, want) {
			t.Errorf("%s does not read back as it was", name)
		}
	}
}

func TestJSONLeavesReportAlone(t *testing.T) {
	r := &result.Report{
		Findings: []result.Finding{{Evidence: []result.Evidence{{Value: math.Inf(-1)}}}},
		Steps:    []result.Step{{SlowBy: math.NaN()}},
	}
	var b bytes.Buffer
	if err := JSON(&b, r, nil); err != nil {
		t.Fatal(err)
	}
	if !math.IsInf(r.Findings[0].Evidence[0].Value, -1) || !math.IsNaN(r.Steps[0].SlowBy) || r.Memory != nil {
		t.Error("the report was changed")
	}
}

// plain copies facts, slices, structs and floats only: a report may not grow anything else.
func TestReportHoldsNoPointers(t *testing.T) {
	var walk func(reflect.Type, string)
	walk = func(typ reflect.Type, path string) {
		if typ == reflect.TypeFor[fact.Fact]() {
			return
		}
		switch typ.Kind() {
		case reflect.Pointer, reflect.Map, reflect.Interface, reflect.Array, reflect.Chan, reflect.Func:
			t.Errorf("%s is a %s: teach plain about it", path, typ.Kind())
		case reflect.Slice:
			walk(typ.Elem(), path+"[]")
		case reflect.Struct:
			for i := range typ.NumField() {
				walk(typ.Field(i).Type, path+"."+typ.Field(i).Name)
			}
		}
	}
	walk(reflect.TypeFor[result.Report](), "Report")
}
