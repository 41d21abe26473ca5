package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write golden files")

// tiny is a window of one step: an operation with shapes and its kernel, a collective, a graph of two kernels, a copy,
// memory. Times are in ns since the epoch of the meta.
func tiny() *Recording {
	r := New(1, Options{CPU: true, GPU: true, Memory: true, Shapes: true})
	r.start = 1000
	s := r.Stream(7)
	r.SetHost(Thread{PID: 4000, TID: 4001, Name: "scheduler"})
	step, op, comms, nccl := r.NextExt(), r.NextExt(), r.NextExt(), r.NextExt()

	at, n := r.AddArgs([]Arg{Tensor(BFloat16, 4, 64), Tensor(Float32)})
	r.AddMemory(Memory{Time: 1500, Addr: 1 << 33, Bytes: 512, Allocated: 512, Reserved: 1024, GPU: true})
	r.AddMemory(Memory{Time: 1600, Addr: 8, Bytes: -16, Allocated: 0, Reserved: 16})
	r.AddCall(Call{Start: 2100, End: 2900, Corr: 1, Ext: op, Stack: -1, API: LaunchKernel, Launches: true})
	r.AddOp(Op{Start: 2001, End: 3000, Ext: op, Name: r.Intern("aten::linear"), Args: at, NArgs: n, Comm: -1, Stack: -1, From: 1, To: 2})
	s.Add(Work{
		Start: 2500, End: 6000, Corr: 1, Ext: op, Name: r.Intern(`gemm<"a\b">`), Comm: -1, In: -1,
		Grid: [3]int32{6, 2, 1}, Block: [3]int32{64, 1, 1},
	})
	all := r.AddComm(Comm{
		Name: r.Intern("allreduce"), Group: r.GroupIndex("0", "tp", []int{0, 1}), In: 256, Out: 256, Seq: 1, Peer: -1,
	})
	r.AddCall(Call{Start: 3200, End: 3300, Corr: 2, Ext: comms, Stack: -1, API: LaunchKernel, Launches: true})
	r.AddOp(Op{Start: 3150, End: 3350, Ext: nccl, Name: r.Intern("nccl:all_reduce"), Kind: Annotation, Stack: -1, From: 2, To: 3})
	r.AddCommOp(Op{Start: 3100, End: 3400, Ext: comms, Name: r.Intern("record_param_comms"), Comm: all, Stack: -1, From: 2, To: 3})
	s.Add(Work{
		Start: 6100, End: 9999, Corr: 2, Ext: comms, Name: r.Intern("ncclDevKernel_AllReduce"), Comm: all, In: -1,
		Grid: [3]int32{1, 1, 1}, Block: [3]int32{32, 1, 1},
	})
	r.AddCall(Call{Start: 3500, End: 3600, Corr: 3, Stack: -1, API: GraphLaunch, Launches: true})
	for i := range int64(2) {
		s.Add(Work{Start: 10000 + i*100, End: 10050 + i*100, Corr: 3, Name: r.Intern("norm_kernel"), Comm: -1, In: -1, Grid: [3]int32{1, 1, 1}})
	}
	r.AddCall(Call{Start: 3700, End: 10900, Corr: 4, Ext: step, Stack: -1, API: MemcpyAsync, Launches: true})
	s.Add(Work{Start: 10500, End: 10564, Corr: 4, Ext: step, Name: r.Intern("Memcpy DtoH (Device -> Pageable)"), Comm: -1, In: 128, Kind: Memcpy})
	s.Add(Work{Start: 10600, End: 10600, Corr: 4, Ext: step, Name: r.Intern("Memset (Device)"), Comm: -1, In: 4, Kind: Memset})
	r.AddCall(Call{Start: 10910, End: 11000, Corr: 5, Stack: -1, API: StreamSynchronize})
	r.AddOp(Op{Start: 2000, End: 11050, Ext: step, Name: r.Intern("step[DECODE bs=4]"), Kind: Annotation, Stack: -1, From: 1, To: 6})
	r.stop = 12000
	return r
}

var tinyMeta = Meta{
	Rank: 1, World: 2, Host: "host0", TP: Place{1, 2}, DP: Place{0, 1}, TraceID: "0123456789ABCDEF0123456789ABCDEF",
	Name: "1700-TP-1.trace.json.gz", Device: DeviceInfo{Index: 1, Name: "stepscope CPU device", Memory: 1 << 30, SMs: 2},
	EpochNS: 1_795_305_602_000_000_123, Extra: map[string]any{"version": "0.1"},
}

func written(t *testing.T, r *Recording, m Meta) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteKineto(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGolden(t *testing.T) {
	got := written(t, tiny(), tinyMeta)
	const path = "testdata/tiny.json"
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
		for i := range g {
			if i >= len(w) || g[i] != w[i] {
				t.Fatalf("line %d of %s:\n got %s\nwant %s", i+1, path, g[i], strings.Join(w[i:min(i+1, len(w))], ""))
			}
		}
		t.Fatalf("%d lines; want %d", len(g), len(w))
	}
	var doc map[string]any
	if err := json.Unmarshal(got, &doc); err != nil {
		t.Error(err)
	}
}

// The layout that chromejson's fast path reads (internal/tracefile/chromejson/fast.go), as patterns: a span with its
// values in this order and on these lines, and the ends of a flow.
var (
	fastSpan = regexp.MustCompile(`^\{\n    "ph": "X", "cat": "[^"\\]*", "name": "(?:[^"\\]|\\.)*", "pid": -?\d+, "tid": -?\d+,` +
		`\n    "ts": \d+\.\d{3}, "dur": \d+\.\d{3}(?:,\n    "args": \{\n      (?s:.*)\n    \})?\n  \}$`)
	fastFlow = regexp.MustCompile(`^\{\n    "ph": "[sf]", "id": \d+, "pid": -?\d+, "tid": -?\d+, "ts": \d+\.\d{3},` +
		`\n    "cat": "ac2g", "name": "ac2g"(?:, "bp": "e")?\n  \}$`)
)

// TestLayout checks that every span and flow except the window's own has the layout that libkineto writes.
func TestLayout(t *testing.T) {
	var doc struct{ TraceEvents []json.RawMessage }
	if err := json.Unmarshal(written(t, tiny(), tinyMeta), &doc); err != nil {
		t.Fatal(err)
	}
	spans, flows := 0, 0
	for _, raw := range doc.TraceEvents {
		switch {
		case bytes.Contains(raw, []byte(`"cat": "Trace"`)):
		case bytes.Contains(raw, []byte(`"ph": "X"`)):
			spans++
			if !fastSpan.Match(raw) {
				t.Errorf("span in another layout: %s", raw)
			}
		case bytes.Contains(raw, []byte(`"cat": "ac2g"`)):
			flows++
			if !fastFlow.Match(raw) {
				t.Errorf("flow in another layout: %s", raw)
			}
		}
	}
	if spans != 17 || flows != 10 {
		t.Errorf("%d spans, %d flows", spans, flows)
	}
}

// TestFull checks that a recording keeps to its limit and reports its losses.
func TestFull(t *testing.T) {
	r := New(1, Options{CPU: true, GPU: true, MaxBytes: 200 << 10})
	s := r.Stream(7)
	const n = 10_000
	for i := range uint32(n) {
		r.AddOp(Op{Ext: r.NextExt(), Name: r.Intern(fmt.Sprint("op ", i%10)), Stack: -1})
		r.AddCall(Call{Corr: i + 1, Stack: -1, Launches: true})
		s.Add(Work{Corr: i + 1, Comm: -1, In: -1})
	}
	r.Stop(nil)
	ops, calls, work, l := r.ops.len(), r.calls.len(), s.work.len(), r.Lost()
	if used := r.budget.used.Load(); used > 200<<10 {
		t.Errorf("%d bytes in use", used)
	}
	if int64(ops)+l.HostOps != n || int64(calls)+l.Calls != n || int64(work)+l.DeviceWork != n || ops == 0 || work == 0 {
		t.Errorf("kept %d, %d, %d, lost %+v", ops, calls, work, l)
	}
	var doc struct {
		Warning     []string `json:"WARNING"`
		TraceEvents []json.RawMessage
	}
	if err := json.Unmarshal(written(t, r, Meta{}), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Warning) != 1 || !strings.Contains(doc.Warning[0], fmt.Sprint(l.DeviceWork, " pieces of device work")) {
		t.Errorf("warning %q", doc.Warning)
	}
}

// TestEmpty checks that an empty window is a complete document.
func TestEmpty(t *testing.T) {
	r := New(1, Options{})
	r.Stop(nil)
	var doc map[string]any
	if err := json.Unmarshal(written(t, r, Meta{}), &doc); err != nil {
		t.Error(err)
	}
}

type fullDisk struct{ room int }

var errDisk = errors.New("no space left on device")

func (w *fullDisk) Write(p []byte) (int, error) {
	if w.room -= len(p); w.room < 0 {
		return 0, errDisk
	}
	return len(p), nil
}

func TestWriteError(t *testing.T) {
	r := New(1, Options{CPU: true})
	for range 2000 {
		r.AddOp(Op{Ext: r.NextExt(), Stack: -1})
	}
	r.Stop(nil)
	if err := r.WriteKineto(&fullDisk{room: 100_000}, Meta{}); !errors.Is(err, errDisk) {
		t.Errorf("error %v", err)
	}
}

// TestFlame: frames 0 to 3 are main, step, layer and idle.
func TestFlame(t *testing.T) {
	stacks := [][]frame{{0, 1}, {0, 1, 2}, {0, 3}, nil}
	seen := slices.Values([]sample{{10, 0, false}, {20, 1, false}, {30, 1, false}, {35, -1, false}, {40, 0, false}, {50, 2, false}, {55, 2, true}, {60, 0, false}, {70, 0, false}})
	got := flame(seen, stacks, func() {})
	want := []span{{10, 70, 0, 0}, {10, 40, 1, 1}, {20, 30, 2, 2}, {50, 50, 3, 1}, {60, 70, 1, 1}} // an annotation at 55 ends frame 3
	if !slices.Equal(got, want) {
		t.Errorf("got %v; want %v", got, want)
	}
}

// TestSamples checks the order of samples. Operations are recorded when they end and calls when they arrive; samples
// are sorted by time, ends before begins.
func TestSamples(t *testing.T) {
	r := New(1, Options{CPU: true, GPU: true})
	for range 4 {
		r.NextExt()
	}
	for _, o := range []Op{{Start: 20, End: 30, Ext: 2, Stack: 2}, {Start: 30, End: 45, Ext: 3, Stack: 3}, {Start: 10, End: 50, Ext: 1, Stack: 1}} {
		r.AddOp(o)
	}
	for _, c := range []Call{{Start: 5, End: 10, Stack: 10}, {Start: 21, End: 22, Stack: 11}, {Start: 45, End: 60, Stack: 12}} {
		r.AddCall(c)
	}
	got := slices.Collect(samples(r.inOrder(func() {}), r.calls.view()))
	want := []sample{
		{5, 10, false}, {10, 1, false}, {10, 10, false}, {20, 2, false}, {21, 11, false}, {22, 11, false}, {30, 2, false}, {30, 3, false}, {45, 3, false}, {45, 12, false}, {50, 1, false}, {60, 12, false}, {math.MaxInt64, -1, true},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v; want %v", got, want)
	}
}

// TestRest checks that a writer that is asked to rest reports short pieces of work.
func TestRest(t *testing.T) {
	r := New(1, Options{CPU: true})
	for range 5000 {
		r.AddOp(Op{Ext: r.NextExt(), Stack: -1})
	}
	r.Stop(nil)
	rests := 0
	out := written(t, r, Meta{Rest: func(time.Duration) { rests++ }})
	if rests < len(out)/(2*flushAt) {
		t.Errorf("%d rests in %d bytes", rests, len(out))
	}
}

func TestIntern(t *testing.T) {
	r := New(1, Options{})
	for range 2 {
		for i := range 1000 { // more than the table of recent names holds
			if id := r.Intern(fmt.Sprint("name ", i)); id != uint32(i+1) {
				t.Fatalf("name %d has id %d", i, id)
			}
		}
	}
	if r.Intern("") != 0 {
		t.Error("the empty name is not 0")
	}
}

func BenchmarkWriteKineto(b *testing.B) {
	r := New(1, Options{CPU: true, GPU: true})
	s := r.Stream(7)
	name, op := r.Intern("void gemm_kernel<float, 128, 64>(float const*, float*)"), r.Intern("aten::linear")
	for i := range uint32(20_000) {
		at := int64(i) * 10_000
		ext := r.NextExt()
		r.AddCall(Call{Start: at, End: at + 1000, Corr: i + 1, Ext: ext, Stack: -1, Launches: true})
		r.AddOp(Op{Start: at, End: at + 2000, Ext: ext, Name: op, Stack: -1, From: i + 1, To: i + 2})
		s.Add(Work{Start: at + 2000, End: at + 9000, Corr: i + 1, Ext: ext, Name: name, Comm: -1, In: -1})
	}
	r.Stop(nil)
	var n countingWriter
	for b.Loop() {
		n = 0
		if err := r.WriteKineto(&n, Meta{}); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(n))
	b.ReportMetric(float64(b.N)*100_000/b.Elapsed().Seconds(), "events/s")
}

type countingWriter int64

func (w *countingWriter) Write(p []byte) (int, error) {
	*w += countingWriter(len(p))
	return len(p), nil
}

// BenchmarkRecord measures the cost that recording adds to one launch of one kernel: the operation, the call and the
// kernel, with their clock readings.
func BenchmarkRecord(b *testing.B) {
	r := New(1, Options{CPU: true, GPU: true, MaxBytes: 1 << 40})
	s := r.Stream(7)
	const op, kernel = "aten::linear", "void gemm_kernel<float, 128, 64>(float const*, float*)"
	b.ReportAllocs()
	for b.Loop() {
		start, at := Now(), Now()
		r.AddCall(Call{Start: at, End: Now(), Corr: 1, Ext: 1, Stack: -1, Launches: true})
		r.AddOp(Op{Start: start, End: Now(), Ext: r.NextExt(), Name: r.Intern(op), Stack: -1})
		begin := Now()
		s.Add(Work{Start: begin, End: Now(), Corr: 1, Ext: 1, Name: r.Intern(kernel), Comm: -1, In: -1})
		if r.budget.used.Load() > 64<<20 { // start over, as windows do
			b.StopTimer()
			r = New(1, r.Options)
			s = r.Stream(7)
			b.StartTimer()
		}
	}
}
