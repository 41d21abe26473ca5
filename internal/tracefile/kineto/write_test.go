package kineto

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/tracefile/check"
	"github.com/stepscope/stepscope/internal/tracefile/cut"
	"github.com/stepscope/stepscope/internal/tracefile/merge"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// plain is a table without indices, for comparisons: a line for each span with everything it refers to.
type plain struct {
	Source trace.Source
	Spans  []string
	Memory []trace.MemoryPoint
}

func flatten(t *trace.Trace) plain {
	p := plain{Source: t.Source, Memory: slices.Clone(t.Memory)}
	p.Source.Path, p.Source.Bytes, p.Source.Events = "", 0, 0
	get := t.Strings.Get
	for i := range t.Spans {
		s := &t.Spans[i]
		tr := t.Tracks[s.Track]
		line := fmt.Sprintf("%s/%s %q gpu=%v %d:%d | %v %q %d+%d corr=%d ext=%d", tr.PID, tr.TID, tr.Name, tr.GPU, tr.Device, tr.Stream,
			s.Cat, get(s.Name), s.Start, s.Dur, s.Corr, s.Ext)
		switch {
		case s.Detail < 0:
		case s.Cat == trace.CPUOp:
			line += fmt.Sprintf(" %s %s", get(t.Shapes[s.Detail].Dims), get(t.Shapes[s.Detail].Types))
		case s.Cat == trace.UserAnnotation:
			line += " rids=" + get(trace.StringID(s.Detail))
		case s.Cat.OnGPU():
			op := t.Ops[s.Detail]
			line += fmt.Sprintf(" %v %v %d bytes", op.Grid, op.Block, op.Bytes)
			if op.Move > 0 {
				line += fmt.Sprintf(" %q %d", get(t.Moves[op.Move-1].Requests), t.Moves[op.Move-1].Room)
			}
			if op.Comm >= 0 {
				c := t.Comms[op.Comm]
				line += fmt.Sprintf(" %q %q %q %q %d %d %d %d", get(c.Name), get(c.DType), get(c.Group), get(c.Ranks), c.GroupSize, c.In, c.Out, c.Seq)
			}
		}
		p.Spans = append(p.Spans, line)
	}
	return p
}

func same(t *testing.T, got, want *trace.Trace) {
	t.Helper()
	a, b := flatten(got), flatten(want)
	if a.Source != b.Source {
		t.Errorf("source %+v, want %+v", a.Source, b.Source)
	}
	if !slices.Equal(a.Memory, b.Memory) {
		t.Errorf("%d memory points, want %d", len(a.Memory), len(b.Memory))
	}
	for i := range min(len(a.Spans), len(b.Spans)) {
		if a.Spans[i] != b.Spans[i] {
			t.Fatalf("span %d:\n%s\nwant\n%s", i, a.Spans[i], b.Spans[i])
		}
	}
	if len(a.Spans) != len(b.Spans) {
		t.Errorf("%d spans, want %d", len(a.Spans), len(b.Spans))
	}
}

func find(t testing.TB, paths ...string) set.Set {
	t.Helper()
	sets, err := set.Find(paths)
	if err != nil {
		t.Fatal(err)
	}
	return sets[0]
}

func readAll(t testing.TB, set set.Set) []*trace.Trace {
	t.Helper()
	ts, failed, err := read.ReadSet(context.Background(), set, read.Options{})
	if err != nil || len(failed) > 0 {
		t.Fatal(err, failed)
	}
	return ts
}

// rewritten writes traces as files named after their ranks, and finds them.
func rewritten(t testing.TB, id string, traces []*trace.Trace) set.Set {
	t.Helper()
	dir := t.TempDir()
	for _, tr := range traces {
		name := trace.FileName{ID: id, Rank: tr.Source.Rank, Stage: tr.Source.Stage}
		if err := WriteFile(filepath.Join(dir, name.String()), tr); err != nil {
			t.Fatal(err)
		}
	}
	return find(t, dir)
}

// realSets returns the captures of the repository.
func realSets(t *testing.T) []string {
	dirs, err := filepath.Glob("../../../testdata/traces/*")
	if err != nil || len(dirs) == 0 {
		t.Fatal(dirs, err)
	}
	return dirs
}

// A written file reads back as the original, and gives the same analysis.
func TestReadAgain(t *testing.T) {
	for _, dir := range realSets(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			set := find(t, dir)
			want := readAll(t, set)
			got := readAll(t, rewritten(t, set.ID, want))
			if len(got) != len(want) {
				t.Fatalf("%d ranks, want %d", len(got), len(want))
			}
			for i := range want {
				same(t, got[i], want[i])
			}
			if a, b := explained(t, got), explained(t, want); !reflect.DeepEqual(a, b) {
				t.Errorf("the analysis differs")
			}
		})
	}
}

// explained returns the analysis without file names.
func explained(t *testing.T, traces []*trace.Trace) *result.Report {
	t.Helper()
	for _, tr := range traces {
		tr.Source.Path, tr.Source.Bytes, tr.Source.Events, tr.Notes = "", 0, 0, nil
		for i := range tr.Stretches {
			tr.Stretches[i].Path = ""
		}
	}
	r, err := explain.Analyze(traces, explain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A merged file of written ranks splits into the same ranks, and a window cut from them has the same spans.
func TestMergeCutAndCheck(t *testing.T) {
	ctx := context.Background()
	for _, name := range []string{"graph_work", "stacks"} {
		t.Run(name, func(t *testing.T) {
			first := find(t, "../../../testdata/traces/"+name)
			second := rewritten(t, first.ID, readAll(t, first))

			join := func(set set.Set) []*trace.Trace {
				path := filepath.Join(t.TempDir(), "merged-1.trace.json.gz")
				res, err := merge.File(ctx, set, path, merge.Options{ProfileID: "1"})
				if err != nil || res.Incomplete() {
					t.Fatal(err, res)
				}
				return readAll(t, find(t, path))
			}
			want, got := join(first), join(second)
			for i := range want {
				same(t, got[i], want[i])
			}

			window := func(set set.Set) []*trace.Trace {
				p, err := cut.New(ctx, set, cut.Window{Steps: true, First: 1, Last: 2}, nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				dir := t.TempDir()
				for i, f := range p.Set.Files {
					if _, err := p.File(ctx, i, filepath.Join(dir, f.Name.String()), merge.Options{}); err != nil {
						t.Fatal(err)
					}
				}
				return readAll(t, find(t, dir))
			}
			want, got = window(first), window(second)
			for i := range want {
				same(t, got[i], want[i])
			}

			check := func(set set.Set) *check.Report {
				r, err := check.Check(ctx, set, nil, nil)
				if err != nil || r.Incomplete() {
					t.Fatal(err, r)
				}
				return r
			}
			a, b := check(second), check(first)
			if !reflect.DeepEqual(a.Clocks, b.Clocks) || !reflect.DeepEqual(a.Bases, b.Bases) {
				t.Errorf("clocks %v, bases %v; want %v, %v", a.Clocks, a.Bases, b.Clocks, b.Bases)
			}
			for i, f := range b.Files {
				delete(f.Category, "ac2g") // Kineto also draws arrows with one end
				delete(a.Files[i].Category, "ac2g")
				delete(f.Category, "none") // row names, and the two marks of the window
				delete(a.Files[i].Category, "none")
				if g := a.Files[i]; !reflect.DeepEqual(g.Category, f.Category) || !reflect.DeepEqual(g.Steps, f.Steps) || len(g.Odd) > 0 {
					t.Errorf("%s: %v %v %v, want %v %v", g.Label, g.Category, g.Steps, g.Odd, f.Category, f.Steps)
				}
			}
		})
	}
}

// A trace of another recorder has no base, odd names and rows, parts of collectives.
func TestOddTrace(t *testing.T) {
	tr := &trace.Trace{Source: trace.Source{Host: `h"1`, Rank: trace.Rank{TP: 3, DP: 1, PP: -1, EP: -1}, World: trace.World{Known: true, Rank: -1, Size: 2, RTT: 90_000}, Complete: true}}
	name := func(s string) trace.StringID { return tr.Strings.Intern([]byte(s)) }
	tr.Tracks = []trace.Track{
		{PID: "26264", TID: "26265", Name: `a "b"`, Device: -1, Stream: -1},
		{PID: "1", TID: "7", Name: "stream 7", GPU: true, Device: 1, Stream: 7},
		{PID: "007", TID: `x\"y`, Device: -1, Stream: -1},
	}
	const at = 1_790_857_026_123_456_789
	tr.Comms = []trace.Comm{{Name: name("all_reduce"), Group: name(""), Seq: -1}, {Name: name("send"), Ranks: name("[0, 1]"), GroupSize: 2, In: 5, Seq: 0}}
	tr.Ops = []trace.Op{{Grid: [3]int32{1, 2, 3}, Comm: 0}, {Bytes: 1 << 40, Comm: -1, Move: 1}, {Comm: 1}}
	tr.Moves = []trace.Move{{Requests: name("r1,r%2C2"), Room: 1<<63 - 1}}
	tr.Spans = []trace.Span{
		{Start: at, Dur: 1, Name: name("r\x01\n\u00e9\U0001F600\\u0041"), Cat: trace.UserAnnotation, Detail: int32(name(`r1,"r2"`))},
		{Start: at + 1, Dur: 0, Name: name("cudaGraphLaunch"), Cat: trace.Runtime, Corr: 9, Detail: -1},
		{Start: at + 2, Dur: 5, Name: name("nanosleep"), Cat: trace.Other, Detail: -1},
		{Start: at + 10, Dur: 7, Name: name("k<\"a\">"), Cat: trace.Kernel, Corr: 9, Detail: 0, Track: 1},
		{Start: at + 20, Dur: 7, Name: name("copy"), Cat: trace.Memcpy, Corr: 9, Detail: 1, Track: 1},
		{Start: at + 30, Dur: 7, Name: name("k2"), Cat: trace.Kernel, Corr: 10, Detail: 2, Track: 1},
		{Start: at + 40, Dur: 7, Name: name("Stream Wait"), Cat: trace.Sync, Corr: 11, Detail: -1, Track: 1},
		{Start: at + 3, Dur: 8, Name: name(trace.NoCoreName), Cat: trace.NoCore, Detail: -1, Track: 2},
		{Start: at + 4, Dur: 8, Name: name("w"), Cat: trace.Window, Detail: -1, Track: 2},
	}
	tr.Memory = []trace.MemoryPoint{{Time: at + 5, Bytes: -4, Allocated: 3, Reserved: 8, Device: -1}}
	tr.Notes = []trace.Note{{Kind: trace.NoteNsysLost, Names: []string{"12 ranges"}, Count: 12}}
	got := readAll(t, rewritten(t, "p-1", []*trace.Trace{tr}))[0]
	if base := got.Source.BaseNS; base <= 0 || base > at || at-base > baseInterval {
		t.Errorf("base %d", base)
	}
	got.Source.BaseNS = 0
	same(t, got, tr)
}

// TestLayout checks the bytes: libkineto's layout, so that readers take their fast path.
func TestLayout(t *testing.T) {
	tr := &trace.Trace{Source: trace.Source{Device: "H200", BaseNS: 1000}}
	name := func(s string) trace.StringID { return tr.Strings.Intern([]byte(s)) }
	tr.Tracks = []trace.Track{{PID: "4", TID: "4", Name: "thread 4 (python3)"}, {PID: "0", TID: "7", GPU: true, Stream: 7}}
	tr.Ops = []trace.Op{{Grid: [3]int32{24, 1, 1}, Block: [3]int32{544, 1, 1}, Comm: -1}}
	tr.Spans = []trace.Span{
		{Start: 2000, Dur: 1500, Name: name("cudaLaunchKernel"), Cat: trace.Runtime, Corr: 20, Ext: 3, Detail: -1},
		{Start: 3001, Dur: 34689, Name: name("gemm"), Cat: trace.Kernel, Corr: 20, Track: 1},
	}
	var b bytes.Buffer
	if err := Write(&b, tr); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/layout.json")
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("got\n%s", b.String())
	}
	if !json.Valid(b.Bytes()) {
		t.Error("not JSON")
	}
}

func TestNothingLeftBehind(t *testing.T) {
	dir := t.TempDir()
	if err := WriteFile(filepath.Join(dir, "no", "such.json"), &trace.Trace{}); err == nil {
		t.Error("wrote into a directory that does not exist")
	}
	if err := Write(failing{}, &trace.Trace{}); err == nil {
		t.Error("the writer's error is lost")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// FuzzRoundTrip writes the reader's result for any text; reading it back gives the same.
func FuzzRoundTrip(f *testing.F) {
	sample, err := os.ReadFile("../chromejson/testdata/kineto.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sample)
	f.Add([]byte(`{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k\u0000\\", "pid": "a\"b", "tid": -0, "ts": 1e3, "dur": 0.0005, "args": {"correlation": -1, "grid": [1]}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "a-TP-0.trace.json")
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		name, _ := trace.ParseFileName(filepath.Base(path))
		file := set.File{Path: path, Name: name, Named: true}
		traces, err := read.ReadFile(context.Background(), file, read.Options{})
		if err != nil {
			return
		}
		for _, tr := range traces {
			if len(tr.Spans) == 0 {
				continue
			}
			if err := WriteFile(path, tr); err != nil {
				t.Fatal(err)
			}
			again, err := read.ReadFile(context.Background(), file, read.Options{})
			if err != nil || len(again) != 1 || len(again[0].Spans) != len(tr.Spans) || len(again[0].Memory) != len(tr.Memory) {
				t.Fatalf("%v: %d traces", err, len(again))
			}
			for i := range tr.Spans {
				a, b := &again[0].Spans[i], &tr.Spans[i]
				if a.Start != b.Start || a.Dur != b.Dur || a.Corr != b.Corr || a.Cat != b.Cat || again[0].Strings.Get(a.Name) != tr.Strings.Get(b.Name) {
					t.Fatalf("span %d: %+v, want %+v", i, a, b)
				}
			}
		}
	})
}

// BenchmarkWrite writes a real trace repeatedly.
func BenchmarkWrite(b *testing.B) {
	tr := readAll(b, find(b, "../../../testdata/traces/compute_skew"))[0]
	var n counter
	if err := Write(&n, tr); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(n))
	b.ReportAllocs()
	for b.Loop() {
		if err := Write(io.Discard, tr); err != nil {
			b.Fatal(err)
		}
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
