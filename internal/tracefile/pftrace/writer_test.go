package pftrace

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// small writes a trace of two ranks with every feature: groups, lanes, a counter, flows, instants, every kind of
// argument, ties, an open end.
func small(w *Writer) {
	w.Wall(1000, 1_763_750_000_000_001_000)
	for rank := range uint64(2) {
		base := 1 + rank*10
		w.Track(Track{UUID: base, Name: fmt.Sprintf("rank %02d", rank), Kind: Group, Order: int32(rank), Description: "host a"})
		// Declared in reverse of the requested order.
		gpu := w.Spans(Track{UUID: base + 2, Parent: base, Name: "stream 7", Order: 1})
		cpu := w.Spans(Track{UUID: base + 1, Parent: base, Name: "thread 900", Order: -1})
		w.Track(Track{UUID: base + 3, Parent: base, Name: "memory", Kind: Counter, Order: 2, Unit: "bytes"})

		flow := rank<<32 | 77
		var args Args
		args.Int([]byte("Ev Idx"), -3)
		args.Uint([]byte("addr"), math.MaxUint64)
		args.Float([]byte("ratio"), 0.5)
		args.Bool([]byte("graph"), true)
		args.String([]byte("Device"), []byte("H200 141GB"))
		args.String([]byte("short"), []byte("x"))
		args.JSON([]byte("Input Dims"), []byte(`[[2,4096],[],null]`))
		args.JSON([]byte("Concrete"), []byte(` {"a": [1.5, "b"], "c": {}} `))
		args.JSON([]byte("parent"), []byte(` null`))
		args.JSON([]byte("none"), []byte(`[]`))
		cpu.Add(&Event{TS: 2000, Dur: 100, Name: []byte("aten::mm"), Cat: []byte("cpu_op"), Args: &args})
		cpu.Add(&Event{TS: 2000, Dur: 40, Name: []byte("first child"), Cat: []byte("cpu_op")})
		cpu.Add(&Event{TS: 2040, Dur: 60, Name: []byte("cudaLaunchKernel"), Cat: []byte("cuda_runtime"), Flows: []uint64{flow}})
		cpu.Add(&Event{TS: 2100, Dur: 0, Name: []byte("empty")})
		cpu.Add(&Event{TS: 2100, Dur: 10, Name: []byte("next")})
		cpu.Instant(&Event{TS: 2105, Name: []byte("mark")})
		cpu.Add(&Event{TS: 2200, Dur: -1, Name: []byte("open end")})
		args.Reset()
		args.String([]byte("Device"), []byte("H200 141GB"))
		gpu.Add(&Event{TS: 2150, Dur: 500, Name: []byte("gemm"), Cat: []byte("kernel"), Args: &args, Flows: []uint64{flow}})
		gpu.Add(&Event{TS: 2600, Dur: 100, Name: []byte("early"), Cat: []byte("kernel")})
		gpu.Add(&Event{TS: 2700, Dur: 100, Name: []byte("after"), Cat: []byte("kernel"), EndFlows: []uint64{1 << 63}})
		w.Counter(base+3, 2000, -5)
		w.Counter(base+3, 2300, 8)
	}
}

func TestGolden(t *testing.T) {
	var buf bytes.Buffer
	w := NewWriter(&buf)
	small(w)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	golden(t, "small.txt", decode(t, buf.Bytes()).dump())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Fatalf("%s:%d\n got %s\nwant %s\n(-update writes the file anew)", path, i+1, a, b)
		}
	}
}

// Names with ids that change in every generation must still resolve, also after a reset.
func TestInternReset(t *testing.T) {
	var buf bytes.Buffer
	w := NewWriter(&buf)
	w.in.limit = 4 << 10
	tw := w.Spans(Track{UUID: 1, Name: "t"})
	const n = 1000
	var args Args
	for i := range n {
		args.Reset()
		args.String(fmt.Appendf(nil, "arg %d", i%7), fmt.Appendf(nil, "value %d", i%50))
		if !tw.Add(&Event{TS: int64(i), Dur: 1, Name: fmt.Appendf(nil, "name %d", i), Cat: fmt.Appendf(nil, "cat %d", i%3), Args: &args}) {
			t.Fatal("not written")
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	d := decode(t, buf.Bytes())
	if d.resets < 5 {
		t.Errorf("%d resets: the limit is exceeded", d.resets)
	}
	i := 0
	for _, e := range d.events {
		if e.typ != 1 {
			continue
		}
		value := fmt.Sprintf("arg %d=interned %q", i%7, fmt.Sprintf("value %d", i%50))
		inline := strings.Replace(value, "interned ", "", 1)
		if e.name != fmt.Sprintf("name %d", i) || e.cat != fmt.Sprintf("cat %d", i%3) || e.args[0] != value && e.args[0] != inline {
			t.Fatalf("event %d is %v", i, e)
		}
		i++
	}
	if i != n {
		t.Errorf("%d events, want %d", i, n)
	}
	if w.in.held > w.in.limit+2*(entryCost+16) {
		t.Errorf("%d bytes held, the limit is %d", w.in.held, w.in.limit)
	}
}

// Values that never repeat must not cause names to be written repeatedly.
func TestValuesDoNotEvictNames(t *testing.T) {
	var buf bytes.Buffer
	w := NewWriter(&buf)
	w.in.limit = 8 << 10
	tw := w.Spans(Track{UUID: 1, Name: "t"})
	var args Args
	for i := range 2000 {
		args.Reset()
		args.String([]byte("id"), fmt.Appendf(nil, "request %d", i))
		tw.Add(&Event{TS: int64(i), Dur: 1, Name: []byte("step"), Args: &args})
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	d := decode(t, buf.Bytes())
	if d.resets != 0 {
		t.Errorf("%d resets, want none", d.resets)
	}
	if got, want := d.events[2*1999].args[0], `id="request 1999"`; got != want {
		t.Errorf("last value is %s, want %s", got, want)
	}
}

// chunks counts the calls to Write and fails after a number of them.
type chunks struct {
	bytes.Buffer
	n, failAfter int
}

var errDisk = errors.New("disk full")

func (c *chunks) Write(b []byte) (int, error) {
	if c.n++; c.n > c.failAfter {
		return 0, errDisk
	}
	return c.Buffer.Write(b)
}

func TestStreams(t *testing.T) {
	c := &chunks{failAfter: math.MaxInt}
	w := NewWriter(c)
	tw := w.Spans(Track{UUID: 1, Name: "t"})
	const n = 50_000
	for i := range int64(n) {
		tw.Add(&Event{TS: i * 10, Dur: 5, Name: []byte("x")})
	}
	before := c.Len()
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if rest := c.Len() - before; rest > flushAt || c.n < 5 {
		t.Errorf("%d writes, %d bytes held to the end: not streamed", c.n, rest)
	}
	if got := len(replay(t, decode(t, c.Bytes()))); got != n {
		t.Errorf("%d slices, want %d", got, n)
	}
}

func TestErrors(t *testing.T) {
	tests := []struct {
		name string
		out  io.Writer
		do   func(*Writer)
		want string
	}{
		{"disk", &chunks{}, func(w *Writer) { w.Counter(1, 0, 1) }, "write perfetto trace: disk full"},
		{"negative start", io.Discard, func(w *Writer) { w.Spans(Track{UUID: 7}).Add(&Event{TS: -5}) }, "track 7: event at -5 ns: a Perfetto trace cannot contain negative times"},
		{"negative instant", io.Discard, func(w *Writer) { w.Instant(7, &Event{TS: -5}) }, "track 7: event at -5 ns"},
		{"negative counter", io.Discard, func(w *Writer) { w.Counter(7, -5, 1) }, "track 7: event at -5 ns"},
		{"overflow", io.Discard, func(w *Writer) { w.Spans(Track{UUID: 7}).Add(&Event{TS: 2, Dur: math.MaxInt64 - 1}) }, "exceed 64 bits"},
		{"first one stays", io.Discard, func(w *Writer) { w.Instant(7, &Event{TS: -5}); w.Instant(8, &Event{TS: -6}) }, "track 7"},
		{"uuid 0", io.Discard, func(w *Writer) { w.Track(Track{Name: "x"}) }, `track "x": uuid 0 is not from 1`},
		{"uuid of a lane", io.Discard, func(w *Writer) { w.Track(Track{UUID: 1 << 48, Name: "x"}) }, `track "x": uuid`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := NewWriter(tt.out)
			tt.do(w)
			if err := w.Flush(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want one with %q", err, tt.want)
			}
		})
	}
	w := NewWriter(&chunks{})
	w.Counter(1, 0, 1)
	if err := w.Flush(); !errors.Is(err, errDisk) {
		t.Errorf("%v does not wrap the writer's error", err)
	}
}

// The END packet is encoded by hand; its lengths must be right for every varint size.
func TestEndPacketSizes(t *testing.T) {
	var buf bytes.Buffer
	w := NewWriter(&buf)
	var want []event
	for shift := range 48 {
		uuid, ts := uint64(1)<<shift, int64(1)<<(shift+14)
		w.slice(uuid|254<<laneShift, &Event{TS: ts - 1, Dur: 1, Name: []byte("x")}, ts)
		want = append(want, event{typ: 2, track: uuid | 254<<laneShift, ts: ts})
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	for i, e := range decode(t, buf.Bytes()).events {
		if i%2 == 1 && e.String() != want[i/2].String() {
			t.Errorf("END %d is %v, want %v", i/2, e, want[i/2])
		}
	}
}

func TestNoAllocations(t *testing.T) {
	w := NewWriter(io.Discard)
	add := benchTrace(w)
	add()
	if n := testing.AllocsPerRun(20, add); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
