package chromejson

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// span returns an event as torch 2.11 writes it; line precedes its time.
func span(line, ts, dur, args string) string {
	return "{\n    \"ph\": \"X\", " + line + ",\n    \"ts\": " + ts + ", \"dur\": " + dur + ",\n    \"args\": {\n      " + args + "\n    }\n  }"
}

const (
	gemmLine = `"cat": "kernel", "name": "gemm", "pid": 0, "tid": 7`
	gemmArgs = `"External id": %d,      "queued": 0, "device": 0, "context": 1,      "stream": 7, "correlation": %d,      "registers per thread": 168,      "shared memory": 180676,      "blocks per SM": 0.969697,      "warps per SM": 11.636364,      "grid": [%d, 64, 1],      "block": [384, 1, 1],      "est. achieved occupancy %%": %d`
	addLine  = `"cat": "cpu_op", "name": "aten::add", "pid": 9, "tid": 9`
)

// TestShapes: which events share a shape (the first two only introduce it), and that they read as on the general path.
func TestShapes(t *testing.T) {
	gemm := func(ext, corr, grid, occupancy int) string {
		return span(gemmLine, fmt.Sprintf("%d.123", ext), "5.5", fmt.Sprintf(gemmArgs, ext, corr, grid, occupancy))
	}
	add := func(args string) string { return span(addLine, "1.5", "2.25", args) }
	frame := func(args string) string {
		return span(`"cat": "python_function", "name": "a.py(1): f", "pid": 9, "tid": 9`, "1.5", "2.25", args)
	}
	for _, c := range []struct {
		name   string
		events []string
		want   []int // shape number, in order of first use; 0: none
	}{
		{
			"kernels: from the third on",
			[]string{gemm(1, 20, 2, 0), gemm(3, 21, 2, 0), gemm(1234567, 22, 2, 100), gemm(4, 23, 3, 0), gemm(5, 24, 2, 0)},
			[]int{0, 0, 1, 0, 1},
		},
		{
			"numbers that do not count tell shapes apart",
			[]string{add(`"External id": 1,"Input Dims": [[1]], "Ev Idx": 1`), add(`"External id": 2,"Input Dims": [[1]], "Ev Idx": 2`),
				add(`"External id": 3,"Input Dims": [[2]], "Ev Idx": 3`), add(`"External id": 4,"Input Dims": [[1]], "Ev Idx": 41`), add(`"External id": 4,"Input Dims": [[2]], "Ev Idx": 41`), add(`"External id": 5,"Input Dims": [[2]], "Ev Idx": 42`)},
			[]int{0, 0, 0, 1, 0, 2},
		},
		{
			"no integer where one was",
			[]string{add(`"External id": 1, "Ev Idx": 1`), add(`"External id": 2, "Ev Idx": 2`), add(`"External id": 3, "Ev Idx": 3.5`),
				add(`"External id": 1e3, "Ev Idx": 3`), add(`"External id": null, "Ev Idx": 3`), add(`"External id": "3", "Ev Idx": 3`), add(`"External id": -3, "Ev Idx": 0`)},
			[]int{0, 0, 0, 0, 0, 0, 1},
		},
		{
			"a known number ends args: a copy's bytes",
			[]string{add(`"External id": 1, "bytes": 140`), add(`"External id": 2, "bytes": 140`), add(`"External id": 3, "bytes": 140`),
				add(`"External id": 4, "bytes": 1408`), add(`"External id": 5, "bytes": 14`), add(`"External id": 6, "bytes": -140`), add(`"External id": 7, "bytes": 1408`), add(`"External id": 8, "bytes": 1408`)},
			[]int{0, 0, 1, 0, 0, 0, 2, 2},
		},
		{
			"a number that counts ends args",
			[]string{add(`"bytes": 8, "correlation": 1`), add(`"bytes": 8, "correlation": 22`), add(`"bytes": 8, "correlation": 333`),
				add(`"bytes": 88, "correlation": 1`), add(`"bytes": 8, "correlation": 1.5`), add(`"bytes": 8, "correlation": 15e2`), add(`"bytes": 8, "correlation": 1 `)},
			[]int{0, 0, 1, 0, 0, 0, 0},
		},
		{
			"nothing but the id",
			[]string{add(`"External id": 1`), add(`"External id": 2`), add(`"External id": 3`)},
			[]int{0, 0, 1},
		},
		{
			"a number in a string at the end",
			[]string{add(`"External id": 1, "x": "a 1"`), add(`"External id": 2, "x": "a 1"`), add(`"External id": 3, "x": "a 1"`), add(`"External id": 3, "x": "a 2"`)},
			[]int{0, 0, 1, 0},
		},
		{
			"python",
			[]string{frame(`"Python parent id": 1, "Python id": 2, "Ev Idx": 3`), frame(`"Python parent id": 10, "Python id": 20, "Ev Idx": 30`),
				frame(`"Python parent id": 100, "Python id": 200, "Ev Idx": 300`), frame(`"Python parent id": null, "Python id": 1, "Ev Idx": 3`)},
			[]int{0, 0, 1, 0},
		},
		{
			"more numbers than a shape has",
			slices.Repeat([]string{frame(`"External id": 1, "correlation": 1, "Seq": 1, "Python id": 1, "Python parent id": 1, "Ev Idx": 1`)}, 4),
			[]int{0, 0, 0, 0},
		},
		{
			"what had to be mended has none",
			slices.Repeat([]string{add(`"External id": 1, "x": NaN`)}, 4),
			[]int{0, 0, 0, 0},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := `{"traceEvents": [` + strings.Join(c.events, ",\n  ") + `]}`
			if got, want := collectText(t, text), collect(t, strings.NewReader(text), defaultLimits, true); !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v\nwant %+v", got, want)
			}
			names := map[int]int{0: 0}
			var got []int
			for _, shape := range shapesOf(t, strings.NewReader(text)) {
				if _, ok := names[shape]; !ok {
					names[shape] = len(names)
				}
				got = append(got, names[shape])
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("shapes %v; want %v", got, c.want)
			}
		})
	}
}

func shapesOf(t *testing.T, r io.Reader) (all []int) {
	t.Helper()
	s := NewScanner(r)
	defer s.Close()
	for {
		switch kind, err := s.Next(); {
		case err == io.EOF:
			return all
		case kind == EventToken && s.Event.Ph == 'X':
			all = append(all, s.Event.Shape)
		}
	}
}

// TestShapesOfRealTraces: most events of a capture are read by their shape, with the result of the general path.
func TestShapesOfRealTraces(t *testing.T) {
	files, _ := filepath.Glob("../../../testdata/traces/[cgs]*s*/*TP-0*")
	if len(files) == 0 {
		t.Fatal("no traces")
	}
	for _, file := range files {
		open := func() *Source {
			src, err := Open(file)
			if err != nil {
				t.Fatal(err)
			}
			return src
		}
		src := open()
		shapes := shapesOf(t, src)
		src.Close()
		with := 0
		for _, s := range shapes {
			with += min(s, 1)
		}
		if name := filepath.Base(filepath.Dir(file)); name == "compute_skew" && with < len(shapes)*85/100 {
			t.Errorf("%s: %d of %d spans have a shape", name, with, len(shapes))
		}
		a, b := open(), open()
		if got, want := collect(t, a, defaultLimits, false), collect(t, b, defaultLimits, true); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: not read as the general way reads it", file)
		}
		a.Close()
		b.Close()
	}
}

// TestShapesAreBounded: a trace of only new names costs little memory.
func TestShapesAreBounded(t *testing.T) {
	var text bytes.Buffer
	text.WriteString(`[`)
	for i := range 3 * maxShapes {
		for range 3 {
			text.WriteString(span(fmt.Sprintf(`"cat": "cpu_op", "name": "op %d %s", "pid": 9, "tid": 9`, i, strings.Repeat("x", 500)), "1", "2", `"External id": 1`) + ",")
		}
	}
	s := NewScanner(&text)
	defer s.Close()
	for {
		if _, err := s.Next(); err == io.EOF {
			break
		}
	}
	if n, size := len(s.shapes.all), s.shapes.bytes; n > maxShapes || size > maxShapeBytes+maxShape || n < maxShapes/2 {
		t.Errorf("%d shapes of %d bytes", n, size)
	}
}
