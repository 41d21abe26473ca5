package read

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/trace"
)

// built reads the events of a plain trace; with shapes false, each is built from its text, regardless of earlier ones.
func built(t testing.TB, r io.Reader, shapes bool) (tr *trace.Trace, strings []string, again int) {
	t.Helper()
	s := chromejson.NewScanner(r)
	defer s.Close()
	b := newBuilder()
	for {
		kind, err := s.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if kind != chromejson.EventToken {
			continue
		}
		if !shapes {
			s.Event.Shape = 0
		} else if b.as(&s.Event) != nil {
			again++
		}
		b.event(&s.Event)
	}
	tr = b.finish(0)
	var own []trace.Shape // ops of one shape share an entry: the only permitted difference
	for i := range tr.Spans {
		if s := &tr.Spans[i]; s.Cat == trace.CPUOp && s.Detail >= 0 {
			own, s.Detail = append(own, tr.Shapes[s.Detail]), int32(len(own))
		}
	}
	tr.Shapes = own
	for id := range tr.Strings.Len() {
		strings = append(strings, tr.Strings.Get(trace.StringID(id)))
	}
	tr.Strings = trace.Strings{} // hashed with a random seed
	return tr, strings, again
}

// TestMade: in real captures, spans built from shapes equal those built from text.
func TestMade(t *testing.T) {
	files, _ := filepath.Glob("../../../testdata/traces/[cgs]*/*TP-0*")
	if len(files) == 0 {
		t.Fatal("no traces")
	}
	sum := 0
	for _, file := range files {
		open := func() *chromejson.Source {
			src, err := chromejson.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			return src
		}
		a, b := open(), open()
		want, texts, _ := built(t, a, false)
		got, same, again := built(t, b, true)
		a.Close()
		b.Close()
		if sum += again; !reflect.DeepEqual(got, want) || !slices.Equal(texts, same) {
			t.Errorf("%s: %d spans of shapes, another trace", file, again)
		}
	}
	if sum == 0 {
		t.Error("no span is made of its shape")
	}
}

// FuzzMade: spans built from a shape equal those built from text, whatever their numbers.
func FuzzMade(f *testing.F) {
	for _, args := range []string{
		`"External id": %d, "device": 0, "stream": 7, "correlation": %d, "bytes": %d`,
		`"bytes": %d, "device": 0, "correlation": %d, "grid": [%d, 1, 1]`,
		`"Seq": %d, "Collective name": "allreduce", "In msg nelems": %d, "External id": %d`,
		`"rids": "[%d]", "correlation": %d, "External id": %d`,
		`"Input Dims": [[%d, 2]], "External id": %d, "Ev Idx": %d`,
		`"room": %d, "correlation": 1, "correlation": %d, "External id": "%d"`,
	} {
		for _, cat := range []string{"kernel", "gpu_memcpy", "cpu_op", "user_annotation", "cuda_runtime"} {
			f.Add(cat, "aten::mm", args, int64(1), int64(20), int64(1408))
		}
	}
	f.Fuzz(func(t *testing.T, cat, name, args string, a, b, c int64) {
		if len(cat)+len(name)+len(args) > 1000 {
			return
		}
		var events []string
		for i := range int64(6) {
			n := []any{a + i/2, b * i, c >> i}
			text := args
			for _, n := range n {
				text = strings.Replace(text, "%d", fmt.Sprint(n), 1)
			}
			event := fmt.Sprintf("{\n    \"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": 0, \"tid\": %d,\n    \"ts\": %d, \"dur\": 1,\n    \"args\": {\n      %s\n    }\n  }", cat, name, 7+i/5, i, text)
			if !json.Valid([]byte(event)) {
				return
			}
			events = append(events, event, event)
		}
		text := "[" + strings.Join(events, ",") + "]"
		want, texts, _ := built(t, strings.NewReader(text), false)
		if got, same, _ := built(t, strings.NewReader(text), true); !reflect.DeepEqual(got, want) || !slices.Equal(texts, same) {
			t.Fatalf("%s:\n got %+v\nwant %+v", text, got, want)
		}
	})
}
