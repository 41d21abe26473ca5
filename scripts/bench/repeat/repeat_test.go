package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
)

func openText(text string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
}

// events decodes a document and writes each of its events as compact JSON with sorted keys.
func events(t *testing.T, document []byte) []string {
	t.Helper()
	var d struct {
		TraceEvents []map[string]any `json:"traceEvents"`
		TraceName   string           `json:"traceName"`
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	if err := decoder.Decode(&d); err != nil {
		t.Fatalf("output is not JSON: %v\n%s", err, document)
	}
	if d.TraceName != "a]b" {
		t.Errorf("traceName = %q, want it kept", d.TraceName)
	}
	var list []string
	for _, e := range d.TraceEvents {
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(text))
	}
	return list
}

func TestRepeat(t *testing.T) {
	// The kernel begins at 100 µs and ends before 110 + 2, so a copy is 12 µs later: 100 to 112.
	const kernel = `{"ph": "X", "name": "a\"}]", "ts": 100.250, "dur": 10.5, "args": {"correlation": 7, "Ev Idx": 0, "grid": [1, 2]}}`
	for _, tc := range []struct {
		name   string
		events string
		copies int
		want   []string
	}{
		{"one copy is the input", kernel, 1, []string{
			`{"args":{"Ev Idx":0,"correlation":7,"grid":[1,2]},"dur":10.5,"name":"a\"}]","ph":"X","ts":100.250}`,
		}},
		{"time and ids move, 0 stays", kernel, 2, []string{
			`{"args":{"Ev Idx":0,"correlation":7,"grid":[1,2]},"dur":10.5,"name":"a\"}]","ph":"X","ts":100.250}`,
			`{"args":{"Ev Idx":0,"correlation":15,"grid":[1,2]},"dur":10.5,"name":"a\"}]","ph":"X","ts":112.250}`,
		}},
		{"flow ids move, text and nested ids stay", `{"ph":"s","id":3,"ts":5,"args":{"x":{"correlation":1}}}, {"ph":"f","id":"p","ts":6}`, 2, []string{
			`{"args":{"x":{"correlation":1}},"id":3,"ph":"s","ts":5}`, `{"id":"p","ph":"f","ts":6}`,
			`{"args":{"x":{"correlation":1}},"id":7,"ph":"s","ts":7}`, `{"id":"p","ph":"f","ts":8}`,
		}},
		{"a handle above 2^48 stays", `{"ph":"X","ts":1,"args":{"correlation":9000000000000000000}}`, 2, []string{
			`{"args":{"correlation":9000000000000000000},"ph":"X","ts":1}`,
			`{"args":{"correlation":9000000000000000000},"ph":"X","ts":2}`,
		}},
		{"rows are named once", `{"ph":"M","name":"process_name","ts":0},{"ph":"i","ts":1}`, 2, []string{
			`{"name":"process_name","ph":"M","ts":0}`, `{"ph":"i","ts":1}`, `{"ph":"i","ts":2}`,
		}},
		{"one recording window", `{"ph":"X","cat":"Trace","ts":10,"dur":20.5},{"ph":"i","name":"Record Window End","ts":31}`, 3, []string{
			`{"cat":"Trace","dur":64.5,"ph":"X","ts":10}`, `{"name":"Record Window End","ph":"i","ts":75}`,
		}},
		{"no events", ``, 3, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			document := fmt.Sprintf("{\"schemaVersion\": 1,\n\"traceEvents\": [\n%s\n],\n\"traceName\": \"a]b\"}", tc.events)
			var out bytes.Buffer
			if err := again(openText(document), &out, tc.copies); err != nil {
				t.Fatal(err)
			}
			if got := events(t, out.Bytes()); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
		})
	}
}

func TestRepeatRejects(t *testing.T) {
	for _, tc := range []struct{ name, document, want string }{
		{"no events key", `{"schemaVersion": 1}`, "traceEvents"},
		{"cut inside an event", `{"traceEvents": [{"ph":"X","ts":1},{"ph":"X`, "ends inside"},
		{"cut between events", `{"traceEvents": [{"ph":"X","ts":1},`, "ends inside"},
		{"not an object", `{"traceEvents": [7]}`, "must begin"},
		{"ts is text", `{"traceEvents": [{"ph":"X","ts":"soon"}]}`, "soon"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := again(openText(tc.document), io.Discard, 2)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

// Whatever encoding/json accepts must come out as JSON with as many events, and nothing may panic.
func FuzzRepeat(f *testing.F) {
	f.Add(`{"ph":"X","ts":1.5,"dur":2,"args":{"correlation":1}}`)
	f.Add(`{"ph":"s","id":"\"}","ts":-3},{"cat":"Trace","dur":1}`)
	f.Fuzz(func(t *testing.T, inner string) {
		document := []byte(`{"traceEvents":[` + inner + `]}`)
		var in, got struct {
			TraceEvents []json.RawMessage `json:"traceEvents"`
		}
		valid := json.Unmarshal(document, &in) == nil
		var out bytes.Buffer
		if err := again(openText(string(document)), &out, 1); err != nil || !valid {
			return
		}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatalf("output is not JSON: %v\n%s", err, out.Bytes())
		}
		if len(got.TraceEvents) != len(in.TraceEvents) {
			t.Fatalf("%d events, want %d", len(got.TraceEvents), len(in.TraceEvents))
		}
	})
}

// again repeats one trace.
func again(open func() (io.ReadCloser, error), w io.Writer, copies int) error {
	x, err := extentOf(open)
	if err != nil {
		return err
	}
	return repeat(open, w, copies, x, x.last-x.first)
}
