package prep

import (
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/testing/toytrace"
	"github.com/stepscope/stepscope/trace"
)

// TestHostDid checks the activity of the launching thread from 100 to 200.
func TestHostDid(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(*toytrace.Toy)
		want string
	}{
		{"nothing", func(y *toytrace.Toy) { y.Span(trace.CPUOp, 0, "aten::add", 50, 60) }, "nothing recorded"},
		{"nothing, in a trace without CPU activities", func(*toytrace.Toy) {}, ""},
		{"one op", func(y *toytrace.Toy) { y.Span(trace.CPUOp, 0, "aten::sort", 105, 195) }, "op aten::sort"},
		{"the deepest op", func(y *toytrace.Toy) {
			y.Span(trace.CPUOp, 0, "outer", 101, 199)
			y.Span(trace.CPUOp, 0, "inner", 105, 195)
		}, "op inner"},
		{"a Python frame", func(y *toytrace.Toy) {
			y.Span(trace.PythonFunction, 0, "server.py(1): loop", 0, 1000)
			y.Span(trace.PythonFunction, 0, "tokenizer.py(5): encode", 102, 198)
		}, "python tokenizer.py(5): encode"},
		{"a blocking call", func(y *toytrace.Toy) { y.Span(trace.Runtime, 0, "cudaStreamSynchronize", 90, 190) }, "call cudaStreamSynchronize"},
		{"many small ops", func(y *toytrace.Toy) {
			for at := int64(100); at < 190; at += 10 {
				y.Span(trace.CPUOp, 0, "aten::add", at, at+9)
			}
			y.Span(trace.CPUOp, 0, "aten::cat", 190, 200)
		}, "10 ops, the longest op aten::cat"},
		{"silence inside a long annotation", func(y *toytrace.Toy) { y.Span(trace.UserAnnotation, 0, "scheduler.run_batch", 0, 1000) }, "nothing recorded for 100 ns (inside annotation scheduler.run_batch)"},
		{"on another thread", func(y *toytrace.Toy) { y.Span(trace.CPUOp, 9, "aten::sort", 105, 195) }, "nothing recorded"},
	} {
		y := toytrace.New()
		c.make(y)
		y.Run("gemm", 200, 215, 230, 1)
		tr := y.Done()
		r := Trace(tr, nil)
		did := newHost(tr).did(r.Calls[0].Track, 100, 200)
		if got := did.Fact(nil); !strings.HasPrefix(report.Words(got), c.want) || c.want == "" && report.Words(got) != "" {
			t.Errorf("%s: got activity %q, want %q", c.name, got, c.want)
		}
	}
}

// TestOverlap checks the interval arithmetic against a count.
func TestOverlap(t *testing.T) {
	in := Union([]Interval{{1, 3}, {2, 5}, {5, 6}, {9, 12}, {10, 11}, {20, 20}})
	if want := []Interval{{1, 6}, {9, 12}, {20, 20}}; !slices.Equal(in, want) {
		t.Fatalf("got union %v, want %v", in, want)
	}
	for from := int64(0); from < 25; from++ {
		for to := from; to < 25; to++ {
			var want int64
			for at := from; at < to; at++ {
				for _, x := range in {
					if x.Start <= at && at < x.End {
						want++
					}
				}
			}
			if got := Overlap(in, from, to); got != want {
				t.Fatalf("overlap with [%d, %d): got %d, want %d", from, to, got, want)
			}
		}
	}
}
