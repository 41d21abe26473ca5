package merge

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/internal/tracefile/pftrace"
)

// slice returns an event in libkineto's layout, which may have a shape.
func slice(cat, name, args string) string {
	return "{\n    \"ph\": \"X\", \"cat\": \"" + cat + "\", \"name\": \"" + name + "\", \"pid\": 0, \"tid\": 7,\n    \"ts\": 1.5, \"dur\": 2,\n    \"args\": {\n      " + args + "\n    }\n  }"
}

// TestShapes: writing a slice by its shape and numbers gives the same as writing it from its text, whichever members
// end its args and whatever their numbers.
func TestShapes(t *testing.T) {
	for _, c := range []struct {
		name, args string // args with numbers for %d
		shaped     bool   // some slices have a shape
	}{
		{"kernel", `"External id": %d,      "device": 0, "stream": 7, "correlation": %d,      "blocks per SM": 0.96,      "grid": [1, 64, 1],      "est. achieved occupancy %%": %d`, true},
		{"op", `"External id": %d, "Input Dims": [[4, 1], []], "type": "a\"\\1", "seq": %d, "Ev Idx": %d`, true},
		{"bytes at the end", `"External id": %d, "correlation": %d, "bytes": %d`, true},
		{"a fraction at the end", `"External id": %d, "correlation": %d, "x": 0.%d`, true},
		{"an id that is text", `"External id": "%d", "correlation": %d, "n": %d`, false},
		{"an id that occurs twice", `"correlation": %d, "correlation": %d, "n": %d`, true},
		{"a number in an array at the end", `"External id": %d, "correlation": %d, "x": [%d]`, true},
		{"ids in other objects", `"External id": %d, "x": {"correlation": %d}, "n": %d`, true},
		{"no number", `"x": "%d %d %d"`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var events []string
			for _, n := range [][3]any{
				{1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {10, 200, 3000}, {1, 2, 3}, {0, 0, 0}, {1, 2, 3}, {10, 200, 3}, {-1, -2, 3},
				{1, 2, 1408}, {1, 2, 140}, {1, 2, 14}, {"9223372036854775807", "-9223372036854775808", "18446744073709551615"}, {"1e3", "1.5", "2e-1"}, {"-0", "0", "1"},
			} {
				events = append(events, slice("kernel", "gemm", fmt.Sprintf(strings.ReplaceAll(c.args, "%d", "%v"), n[0], n[1], n[2])))
			}
			events = append(events, slice("kernel", "other", fmt.Sprintf(c.args, 1, 2, 3)), slice("cpu_op", "gemm", fmt.Sprintf(c.args, 1, 2, 3)))
			compareShapes(t, "["+strings.Join(append(events, events...), ",")+"]", c.shaped)
		})
	}
}

// compareShapes writes the slices of a trace by shape and from their text, and compares.
func compareShapes(t *testing.T, text string, want bool) {
	t.Helper()
	s := chromejson.NewScanner(strings.NewReader(text))
	defer s.Close()
	var shaped, plain bytes.Buffer
	a, b := pftrace.NewWriter(&shaped), pftrace.NewWriter(&plain)
	p, with := &pfRank{}, 0
	for at := int64(0); ; at++ {
		if _, err := s.Next(); err != nil {
			break
		}
		e := &s.Event
		var args pftrace.Args
		addArgs(&args, e.Value(e.Args), nil)
		ev := pftrace.Event{TS: at, Name: e.Text(e.Name), Cat: e.Text(e.Cat), Args: &args}
		b.Instant(1, &ev)
		r := record{name: ev.Name, cat: ev.Cat, args: e.Value(e.Args)}
		if p.shaped(e, &r); r.value > 0 {
			with++
			p.shapes[r.value].fill(&ev, r.args)
		}
		a.Instant(1, &ev)
		if a.Flush() != nil || b.Flush() != nil || !bytes.Equal(shaped.Bytes(), plain.Bytes()) {
			t.Fatalf("%s:\n got %q\nwant %q", e.Raw, shaped.Bytes(), plain.Bytes())
		}
		shaped.Reset()
		plain.Reset()
	}
	if (with > 0) != want {
		t.Errorf("%d slices have a shape", with)
	}
}
