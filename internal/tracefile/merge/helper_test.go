package merge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/tracefile/set"
)

// document is a trace as encoding/json reads it: slow, but independent of the code under test. Numbers keep their text.
type document struct {
	Events []map[string]any
	Meta   map[string]json.RawMessage
}

func parse(t *testing.T, text []byte) document {
	t.Helper()
	var d document
	d.Meta = members(t, text, &d.Events)
	return d
}

// members decodes the events of a trace, and returns the other members.
func members(t *testing.T, text []byte, events any) map[string]json.RawMessage {
	t.Helper()
	meta := map[string]json.RawMessage{}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	open, err := dec.Token()
	for err == nil && dec.More() {
		var key json.Token
		key, err = dec.Token()
		switch {
		case err != nil:
		case key == "traceEvents":
			err = dec.Decode(events)
		default:
			var raw json.RawMessage
			err = dec.Decode(&raw)
			meta[key.(string)] = raw
		}
	}
	if err == nil {
		_, err = dec.Token() // }
	}
	if err == nil && len(bytes.TrimSpace(text[dec.InputOffset():])) > 0 {
		err = errors.New("something follows")
	}
	if err != nil || open != json.Delim('{') {
		t.Fatalf("the output is not a JSON object: %v", err)
	}
	return meta
}

func find(t *testing.T, paths ...string) set.Set {
	t.Helper()
	sets, err := set.Find(paths)
	if err != nil {
		t.Fatal(err)
	}
	return sets[0]
}

// testSet returns a set of real files in the repository.
func testSet(t *testing.T, name string) set.Set {
	return find(t, filepath.Join("..", "..", "..", "testdata", "traces", name))
}

// write creates files NAME: TEXT and returns their paths.
func write(t *testing.T, files ...string) (dir string, paths []string) {
	t.Helper()
	dir = t.TempDir()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		if err := os.WriteFile(path, []byte(files[i+1]), 0o666); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return dir, paths
}

// merged merges into memory and parses the result.
func merged(t *testing.T, set set.Set, opt Options) (document, *Result) {
	t.Helper()
	var b bytes.Buffer
	opt.Plain = true
	res, err := To(context.Background(), set, &b, opt)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, b.Bytes()), res
}

func stepscope(t *testing.T, d document) set.Merged {
	t.Helper()
	var m set.Merged
	if err := json.Unmarshal(d.Meta[set.Key], &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// span returns a line of traceEvents.
func span(pid int, ts string, name string) string {
	return fmt.Sprintf(`{"ph": "X", "cat": "cpu_op", "name": %q, "pid": %d, "tid": 1, "ts": %s, "dur": 1.000, "args": {"External id": 5}}`, name, pid, ts)
}

func traceOf(head string, events ...string) string {
	return "{" + head + `"traceEvents": [` + strings.Join(events, ",\n") + "]}"
}
