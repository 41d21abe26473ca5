package read

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// TestInvariants breaks a real capture in ways that broken profilers do; as recorded, it breaks no invariant.
func TestInvariants(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "traces", "balanced", "*TP-0*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	const ms = 1_000_000
	for _, c := range []struct {
		name   string
		breaks func(tr *trace.Trace)
		want   map[trace.NoteKind]int64
	}{
		{"as recorded", func(*trace.Trace) {}, nil},
		{"every 100th kernel runs on for 25 ms", func(tr *trace.Trace) {
			n := 0
			for i := range tr.Spans {
				if s := &tr.Spans[i]; s.Cat == trace.Kernel {
					if n++; n%100 == 0 {
						s.Dur += 25 * ms
					}
				}
			}
		}, map[trace.NoteKind]int64{trace.NoteRunsOn: 11}},
		{"the clock is set back by 30 ms", func(tr *trace.Trace) {
			middle := tr.Spans[len(tr.Spans)/2].Start
			for i := range tr.Spans {
				if s := &tr.Spans[i]; s.Start > middle {
					s.Start -= 30 * ms
				}
			}
			slices.SortStableFunc(tr.Spans, func(a, b trace.Span) int { return cmp.Compare(a.Start, b.Start) })
		}, map[trace.NoteKind]int64{trace.NoteSetBack: 1}},
		{"the clock is set back by 30 ms in attention, which calls no API", func(tr *trace.Trace) {
			longest := slices.MaxFunc(tr.Spans, func(a, b trace.Span) int {
				op := func(s trace.Span) int64 {
					if s.Cat != trace.CPUOp {
						return 0
					}
					return s.Dur
				}
				return cmp.Compare(op(a), op(b))
			})
			for i := range tr.Spans {
				if s := &tr.Spans[i]; s.Start > longest.End()-ms {
					s.Start -= 30 * ms
				}
			}
			slices.SortStableFunc(tr.Spans, func(a, b trace.Span) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.Dur, a.Dur)) })
		}, map[trace.NoteKind]int64{trace.NoteCross: 1}},
		{"40 % of the kernels were not recorded", func(tr *trace.Trace) {
			n := 0
			tr.Spans = slices.DeleteFunc(tr.Spans, func(s trace.Span) bool {
				n++
				return s.Cat == trace.Kernel && n%5 < 2
			})
		}, map[trace.NoteKind]int64{trace.NoteLostOps: 100}},
		{"copies end after the calls that waited for them", func(tr *trace.Trace) {
			for i := range tr.Spans {
				if s := &tr.Spans[i]; s.Cat == trace.Memcpy && strings.Contains(tr.Strings.Get(s.Name), "DtoH") {
					s.Start += ms
				}
			}
			slices.SortStableFunc(tr.Spans, func(a, b trace.Span) int { return cmp.Compare(a.Start, b.Start) })
		}, map[trace.NoteKind]int64{trace.NoteLateOps: 8}},
		{"a graph is captured when the window begins", func(tr *trace.Trace) {
			prefill := slices.IndexFunc(tr.Spans, func(s trace.Span) bool { return s.Cat == trace.Kernel })
			end, launches := tr.Spans[prefill], map[int64]bool{}
			end.Start, end.Cat = tr.Spans[len(tr.Spans)/2].Start, trace.Runtime
			for i := range tr.Spans {
				if s := &tr.Spans[i]; s.Cat == trace.Runtime && tr.Strings.Get(s.Name) == "cudaLaunchKernel" && s.Start < end.Start {
					launches[s.Corr], end.Track = true, s.Track
				}
			}
			tr.Spans = slices.DeleteFunc(tr.Spans, func(s trace.Span) bool { return s.Cat == trace.Kernel && launches[s.Corr] })
			end.Name, end.Corr = tr.Strings.Intern([]byte("cudaStreamEndCapture")), 0
			tr.Spans = append(tr.Spans, end)
			slices.SortStableFunc(tr.Spans, func(a, b trace.Span) int { return cmp.Compare(a.Start, b.Start) })
		}, nil},
	} {
		traces, err := ReadFile(context.Background(), set.File{Path: files[0]}, Options{})
		if err != nil || len(traces) != 1 {
			t.Fatal(err)
		}
		tr := traces[0]
		tr.Notes = nil
		c.breaks(tr)
		checkInvariants(tr, nil, true)
		got := map[trace.NoteKind]int64{}
		for _, n := range tr.Notes {
			got[n.Kind] += n.Count
		}
		for kind, n := range c.want {
			if got[kind] < n {
				t.Errorf("%s: %v, want %d of kind %d", c.name, got, n, kind)
			}
		}
		if len(c.want) == 0 && len(got) > 0 {
			t.Errorf("%s: %v, want no note", c.name, got)
		}
		// Cut ops leave the stream in order.
		tr.Notes = nil
		checkInvariants(tr, nil, true)
		for _, n := range tr.Notes {
			if n.Kind == trace.NoteRunsOn {
				t.Errorf("%s: after the cut %d ops still run on", c.name, n.Count)
			}
		}
	}
}

// TestLateStamps: a blocking copy to the host waits for the work of its stream. If that work ends later, its times are
// wrong, as in some recordings of AMD GPUs. The vocabulary is HIP's.
func TestLateStamps(t *testing.T) {
	for _, c := range []struct {
		late int // µs from the copy's end to the kernel's
		call string
		want int64
	}{
		{-5, "hipMemcpyWithStream", 0}, {5_000, "hipMemcpyWithStream", 8}, {5_000, "hipMemcpy", 8},
		{50, "hipMemcpyWithStream", 0}, // the clocks agree no better
		{5_000, "hipMemcpyAsync", 0},   // does not wait
	} {
		var events []string
		for n := range 4 {
			at, id := 100_000*(n+1), 10*n+1
			end := at + 1_000 // of the copy
			event := func(cat, name string, tid, ts, dur, corr int) {
				events = append(events, fmt.Sprintf(`{"ph": "X", "cat": %q, "name": %q, "pid": 1, "tid": %d, "ts": %d, "dur": %d, "args": {"device": 0, "stream": %[3]d, "correlation": %[6]d}}`,
					cat, name, tid, ts, dur, corr))
			}
			event("cuda_runtime", "hipLaunchKernel", 9, at, 5, id)
			event("cuda_runtime", c.call, 9, at+10, 990, id+1)
			event("kernel", "gemm", 3, end+c.late-300, 200, id)
			event("gpu_memcpy", "Memcpy DtoH (Device -> Host)", 3, end+c.late-20, 20, id+1)
		}
		tr := one(t, `{"traceEvents": [`+strings.Join(events, ",")+`]}`)
		got := int64(0)
		for _, n := range tr.Notes {
			if n.Kind == trace.NoteLateOps {
				got += n.Count
			}
		}
		if got != c.want {
			t.Errorf("%+v: %d ops, notes %v", c, got, tr.Notes)
		}
	}
}
