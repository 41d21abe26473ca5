package cut

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/tracefile/merge"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

func find(t *testing.T, path string) set.Set {
	t.Helper()
	sets, err := set.Find([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	return sets[0]
}

func load(t *testing.T, set set.Set) []*trace.Trace {
	t.Helper()
	ts, failed, err := read.ReadSet(context.Background(), set, read.Options{})
	if err != nil || len(failed) > 0 {
		t.Fatal(err, failed)
	}
	return ts
}

// stepWork describes each step of a trace by the inputs of an analysis: the GPU work that its launches started, and its
// CPU spans.
func stepWork(t *testing.T, tr *trace.Trace) []string {
	t.Helper()
	var steps []trace.Span
	for _, s := range tr.Spans {
		if _, ok := trace.ParseStep(tr.Strings.Get(s.Name)); ok && s.Cat == trace.UserAnnotation {
			steps = append(steps, s)
		}
	}
	out := make([]string, len(steps))
	for i, st := range steps {
		in := func(s *trace.Span) bool { return s.Start >= st.Start && s.Start < st.End() }
		launched := map[int64]bool{}
		var cpu, cpuNS, gpu, gpuNS, first int64
		for j := range tr.Spans {
			s := &tr.Spans[j]
			if !s.Cat.OnGPU() && s.Cat != trace.GPUAnnotation && in(s) {
				cpu++
				cpuNS += s.Dur
				if s.Cat.Launch() {
					launched[s.Corr] = true
				}
			}
		}
		for j := range tr.Spans {
			if s := &tr.Spans[j]; s.Cat.OnGPU() && launched[s.Corr] {
				gpu++
				gpuNS += s.Dur
				if first == 0 || s.Start < first {
					first = s.Start
				}
			}
		}
		out[i] = fmt.Sprintf("%s at %d: %d CPU spans %d ns, %d GPU ops %d ns from %d", tr.Strings.Get(st.Name), st.Start, cpu, cpuNS, gpu, gpuNS, first)
	}
	return out
}

// A step has the same work in the cut trace as in the whole one.
func TestStepsKeepTheirWork(t *testing.T) {
	for _, name := range []string{"graphs", "graph_work", "stacks"} {
		t.Run(name, func(t *testing.T) {
			set := find(t, "../../../testdata/traces/"+name)
			whole := load(t, set)
			first, last := 2, 3
			p, err := New(context.Background(), set, Window{Steps: true, First: first, Last: last}, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			var size int64
			for i, f := range p.Set.Files {
				res, err := p.File(context.Background(), i, filepath.Join(dir, fmt.Sprintf("cut-TP-%d.trace.json.gz", i)), merge.Options{})
				if err != nil || res.Incomplete() {
					t.Fatal(err, res)
				}
				size += res.BytesOut
				if res.BytesOut >= f.Size {
					t.Errorf("%s: %d bytes of %d", f.Path, res.BytesOut, f.Size)
				}
			}
			for i, tr := range load(t, find(t, dir)) {
				want := stepWork(t, whole[i])[first : last+1]
				got := stepWork(t, tr)
				if strings.Join(got, "\n") != strings.Join(want, "\n") {
					t.Errorf("rank %d:\n%s\nwant\n%s", i, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				if tr.Source.World != whole[i].Source.World || tr.Source.BaseNS != whole[i].Source.BaseNS {
					t.Errorf("rank %d: %+v", i, tr.Source)
				}
			}
			// Cut and merged at once, the ranks are the same.
			path := filepath.Join(t.TempDir(), "m.json.gz")
			if _, err := p.Merged(context.Background(), path, merge.Options{ProfileID: "x"}); err != nil {
				t.Fatal(err)
			}
			for i, tr := range load(t, find(t, path)) {
				if got, want := stepWork(t, tr), stepWork(t, whole[i])[first:last+1]; strings.Join(got, "\n") != strings.Join(want, "\n") {
					t.Errorf("merged, rank %d:\n%s", i, strings.Join(got, "\n"))
				}
			}
		})
	}
}

func TestWindow(t *testing.T) {
	dir := t.TempDir()
	text := `{"baseTimeNanoseconds": 1000000000000000000, "traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 100, "dur": 10},
{"ph": "X", "cat": "cpu_op", "name": "touches", "pid": 1, "tid": 1, "ts": 115, "dur": 10},
{"ph": "X", "cat": "cuda_runtime", "name": "launch", "pid": 1, "tid": 1, "ts": 121, "dur": 2, "args": {"correlation": 7}},
{"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 7, "pid": 1, "tid": 1, "ts": 121},
{"ph": "X", "cat": "kernel", "name": "late kernel", "pid": 0, "tid": 7, "ts": 200, "dur": 10, "args": {"correlation": 7}},
{"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 7, "pid": 0, "tid": 7, "ts": 200, "bp": "e"},
{"ph": "X", "cat": "cuda_runtime", "name": "early launch", "pid": 1, "tid": 1, "ts": 101, "dur": 2, "args": {"correlation": 6}},
{"ph": "X", "cat": "kernel", "name": "early kernel", "pid": 0, "tid": 7, "ts": 122, "dur": 1, "args": {"correlation": 6}},
{"ph": "X", "cat": "kernel", "name": "orphan", "pid": 0, "tid": 7, "ts": 123, "dur": 1, "args": {"correlation": 5}},
{"ph": "s", "cat": "fwdbwd", "name": "x", "id": 7, "pid": 1, "tid": 1, "ts": 121},
{"ph": "f", "cat": "fwdbwd", "name": "x", "id": 7, "pid": 1, "tid": 1, "ts": 150},
{"ph": "i", "name": "mark", "pid": 1, "tid": 1, "ts": 125},
{"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "ts": 1, "args": {"name": "row"}},
{"ph": "M", "name": "process_name", "pid": 5, "tid": 0, "ts": 1, "args": {"name": "phantom"}},
{"ph": "X", "cat": "Trace", "name": "window", "pid": "Spans", "tid": "x", "ts": 90, "dur": 200}
], "traceName": "t"}`
	if err := os.WriteFile(filepath.Join(dir, "id-TP-0.trace.json"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	const wall = 1_000_000_000_000_000_000
	for _, w := range []Window{
		{From: Time{NS: 20_000}, To: Time{NS: 30_000}},
		{From: Time{NS: wall + 120_000, Wall: true}, To: Time{NS: wall + 130_000, Wall: true}},
	} {
		p, err := New(context.Background(), find(t, dir), w, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "out.json")
		if _, err := p.File(context.Background(), 0, path, merge.Options{Plain: true}); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{"touches", `"launch"`, "late kernel", "orphan", "mark", "row", `"ac2g", "name": "ac2g", "id": 7, "pid": 1`, `"bp": "e"`, `"traceName": "t"`, Key} {
			if !strings.Contains(string(b), s) {
				t.Errorf("%v: no %s in\n%s", w, s, b)
			}
		}
		for _, s := range []string{`"a"`, "early", "fwdbwd", "phantom", "window"} {
			if strings.Contains(string(b), s) {
				t.Errorf("%v: %s in\n%s", w, s, b)
			}
		}
	}
}

// TestStages: step numbers run on through the stages of a rank.
func TestStages(t *testing.T) {
	for _, c := range []struct {
		first, last int
		files       string // of ranks 0 and 1
		lacks       int
	}{
		{0, 1, "EXTEND EXTEND", 0},
		{5, 9, "DECODE DECODE", 0},
		{4, 6, "DECODE EXTEND DECODE EXTEND", 0},
		{8, 12, "DECODE DECODE", 2},
	} {
		p, err := New(context.Background(), find(t, "../../../testdata/windows/by_stage"), Window{Steps: true, First: c.first, Last: c.last}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		var files []string
		for _, f := range p.Set.Files {
			files = append(files, f.Name.Stage)
		}
		if got := strings.Join(files, " "); got != c.files || len(p.Lacks) != c.lacks {
			t.Errorf("steps %d to %d: %s, %q", c.first, c.last, got, p.Lacks)
		}
	}
}

func TestNoWindow(t *testing.T) {
	set := find(t, "../../../testdata/traces/graph_work")
	_, err := New(context.Background(), set, Window{Steps: true, First: 15, Last: 15}, nil, nil)
	if !errors.Is(err, ErrNothing) {
		t.Errorf("step 15 of 15: %v", err)
	}
	p, err := New(context.Background(), set, Window{Steps: true, First: 13, Last: 99}, nil, nil)
	if err != nil || len(p.Lacks) != 2 || !strings.Contains(p.Lacks[0], "has only 15 steps, cut from 13 to 14") {
		t.Errorf("%v %v", err, p)
	}
	p, err = New(context.Background(), set, Window{From: Time{NS: math.MaxInt64 / 4}, To: Time{Open: true}}, nil, nil)
	if !errors.Is(err, ErrNothing) || len(p.Lacks) != 2 {
		t.Errorf("after the end: %v", err)
	}
}
