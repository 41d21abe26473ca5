package workload

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// rows opens a text as a data set's file and decodes all rows.
func rows(t testing.TB, text, key string) (got []any, lines []int, err error) {
	path := filepath.Join(t.TempDir(), "rows")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	b := &builder{Spec: &Spec{Path: path}}
	r, err := b.open(key, "a file")
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	for i := range r.at {
		var v any
		ok, err := r.read(i, &v)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			v = "BAD " + r.badCause
		}
		got, lines = append(got, v), append(lines, int(r.at[i].line))
	}
	return got, lines, nil
}

func TestRecords(t *testing.T) {
	for _, c := range []struct {
		name, text, key string
		want            string // JSON
		lines           []int
	}{
		{"a list", "[1, \"a,]\\\"\",\n[2,[3]],{\"b\":[{}]}\n, null]", "", `[1,"a,]\"",[2,[3]],{"b":[{}]},null]`, []int{1, 1, 2, 2, 3}},
		{"an empty list", " [ ] ", "", `[]`, nil},
		{"an extra comma", "[1,,2,]", "", `[1,2]`, []int{1, 1}},
		{"lines", "{\"a\":1}\n\n  \r\n{\"a\":\n{\"a\":3}", "", `[{"a":1},"BAD not JSON: byte 5: unexpected end of JSON input",{"a":3}]`, []int{1, 4, 5}},
		{"a byte order mark", "\uFEFF{\"a\":1}\r\n{}\r\n", "", `[{"a":1},{}]`, []int{1, 2}},
		{"a list in an object", "{\"x\":[[0]],\n\"list\":\n[1,\n2],\"list\":[3]}", "list", `[1,2]`, []int{3, 4}},
		{"an invalid item", "[a, {b}]", "", `["BAD not JSON: byte 1: invalid character 'a' looking for beginning of value","BAD not JSON: byte 1: invalid character 'a' looking for beginning of value"]`, []int{1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, lines, err := rows(t, c.text, c.key)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			if got == nil {
				got = []any{}
			}
			if err := enc.Encode(got); err != nil {
				t.Fatal(err)
			}
			if strings.TrimSpace(b.String()) != c.want || !reflect.DeepEqual(lines, c.lines) {
				t.Errorf("got  %s %v\nwant %s %v", b.String(), lines, c.want, c.lines)
			}
		})
	}
}

// The memory for a sample does not depend on the file's size.
func TestLargeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.json")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	filler := strings.Repeat("more of the same ", 4000)
	const items, size = 500, 500 * 17 * 4000
	for i := range items {
		fmt.Fprintf(f, "%c\n{\"conversations\":[{\"value\":\"question %d\"},{\"value\":\"answer %d\"},{\"value\":\"%s\"}]}", ",["[b2i(i == 0)], i, i, filler)
	}
	fmt.Fprintln(f, "]")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	spec := of("sharegpt", "", func(s *Spec) { s.Path, s.N = path, 3 })
	tok := bytesOnly(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	requests, err := Build(context.Background(), spec, tok)
	runtime.ReadMemStats(&after)
	if err != nil || len(requests) != 3 {
		t.Fatal(len(requests), err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > size/20 {
		t.Errorf("%d bytes were allocated for 3 rows of %d", used, size)
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Any file gives requests or one line of error, and the rows are those that encoding/json finds.
func FuzzFiles(f *testing.F) {
	for _, name := range []string{"sharegpt.json", "custom.jsonl", "openai.jsonl", "agentic.json", "mooncake.jsonl", "longbench.json", "speedbench.jsonl", "plan.jsonl"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("[{}"))
	f.Add([]byte("{\"conversations\":[[{\"messages\":[{}]}]]}"))
	tok := bytesOnly(f)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, "file")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, dataset := range []string{"sharegpt", "custom", "openai", "agentic-trace", "mooncake", "longbench_v2", "speed-bench", "plan"} {
			spec := of(dataset, "", func(s *Spec) { s.Path = path })
			requests, err := Build(context.Background(), spec, tok)
			if err != nil {
				if len(requests) > 0 || strings.Contains(err.Error(), "\n") {
					t.Errorf("%s: %d requests and %q", dataset, len(requests), err)
				}
				continue
			}
			for i := range requests {
				if r := &requests[i]; r.PromptLen < 0 || r.OutputLen < 0 || r.At < 0 || r.Prompt == "" && r.Tokens == nil && r.Messages == nil && dataset != "plan" {
					t.Errorf("%s: %+v", dataset, r)
				}
			}
		}
		var list []json.RawMessage
		if json.Unmarshal(data, &list) != nil || list == nil {
			return
		}
		var want []any
		if err := json.Unmarshal(data, &want); err != nil {
			return
		}
		if got, _, err := rows(t, string(data), ""); err != nil || len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, %v\nwant %v", got, err, want)
		}
	})
}

// A plan stays the same when it is written and read again.
func FuzzPlan(f *testing.F) {
	data, err := os.ReadFile("testdata/plan.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"rounds":[{"prompt":"a","prompt_len":1,"output_len":2,"delay_ns":3},{"prompt":[{"role":"user"}]}],"at_ns":5,"lora":"x"}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, "plan")
		read := func(data []byte) ([]Request, error) {
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
			return Build(context.Background(), Spec{Dataset: "plan", Path: path}, nil)
		}
		first, err := read(data)
		if err != nil {
			return
		}
		var one, two bytes.Buffer
		if err := write(&one, first, nil); err != nil {
			t.Fatal(err)
		}
		second, err := read(one.Bytes())
		if err != nil {
			t.Fatalf("%v: %s", err, one.Bytes())
		}
		if err := write(&two, second, nil); err != nil || !bytes.Equal(one.Bytes(), two.Bytes()) {
			t.Errorf("%v\n%s\n%s", err, one.Bytes(), two.Bytes())
		}
	})
}
