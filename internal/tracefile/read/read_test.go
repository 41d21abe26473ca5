package read

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// readText reads a document as a file of that name.
func readText(t testing.TB, name, text string) ([]*trace.Trace, error) {
	t.Helper()
	src, err := chromejson.NewSource(io.NopCloser(strings.NewReader(text)))
	if err != nil {
		return nil, err
	}
	defer src.Close()
	at, ok := trace.ParseFileName(name)
	return read(context.Background(), src, set.File{Path: name, Name: at, Named: ok}, Options{})
}

// one reads a document with a single rank.
func one(t testing.TB, text string) *trace.Trace {
	t.Helper()
	ts, err := readText(t, "a.json", text)
	if err != nil || len(ts) != 1 {
		t.Fatalf("%d traces, %v", len(ts), err)
	}
	return ts[0]
}

func doc(head string, events ...string) string {
	return "{" + head + `"traceEvents": [` + strings.Join(events, ",\n") + "]}"
}

// x returns a complete event.
func x(cat, name, ts, dur, args string) string {
	return fmt.Sprintf(`{"ph": "X", "cat": %q, "name": "%s", "pid": 1, "tid": 2, "ts": %s, "dur": %s, "args": {%s}}`, cat, name, ts, dur, args)
}

// spans formats a trace's spans, one per line.
func spans(tr *trace.Trace) []string {
	var out []string
	for _, s := range tr.Spans {
		out = append(out, fmt.Sprintf("%s %s %d+%d", s.Cat, tr.Strings.Get(s.Name), s.Start, s.Dur))
	}
	return out
}

func TestSpans(t *testing.T) {
	for _, c := range []struct {
		name  string
		text  string
		want  []string
		notes []string // "COUNT TEXT"
	}{
		{"times are exact", doc(`"baseTimeNanoseconds": 1790857026000000000, `, x("cpu_op", "a", "4436349792321.665", "23586.064", "")),
			[]string{"cpu_op a 1795293375792321665+23586064"}, nil},
		{"no base", doc("", x("cpu_op", "a", "1.5", "0.001", "")), []string{"cpu_op a 1500+1"}, nil},
		{"base as text", doc(`"baseTimeNanoseconds": "1000", `, x("cpu_op", "a", "1", "1", "")), []string{"cpu_op a 2000+1000"}, nil},
		{"base after the events", `{"traceEvents": [` + x("cpu_op", "a", "1", "1", "") + `], "baseTimeNanoseconds": 1000}`, []string{"cpu_op a 2000+1000"}, nil},
		{"base is no time", doc(`"baseTimeNanoseconds": -5, `, x("cpu_op", "a", "1", "1", "")), []string{"cpu_op a 1000+1000"},
			[]string{"1 baseTimeNanoseconds is not a time in this century, taken as 0"}},
		{"sorted, parents first", doc("", x("cpu_op", "c", "5", "1", ""), x("cpu_op", "b", "1", "2", ""), x("cpu_op", "a", "1", "9", "")),
			[]string{"cpu_op a 1000+9000", "cpu_op b 1000+2000", "cpu_op c 5000+1000"}, nil},
		{"a list alone", "[" + x("cpu_op", "a", "1", "1", "") + "]", []string{"cpu_op a 1000+1000"}, nil},
		{"times as text", doc("", x("cpu_op", "a", `"1"`, `"2"`, "")), []string{"cpu_op a 1000+2000"}, nil},
		{"names of old", doc("", x("Operator", "a", "1", "1", ""), x("Kernel", "k", "2", "1", ""), x("Runtime", "r", "3", "1", "")),
			[]string{"cpu_op a 1000+1000", "kernel k 2000+1000", "cuda_runtime r 3000+1000"}, nil},
		{"steps of old", doc("", x("Operator", "ProfilerStep#3", "1", "5", "")), []string{"user_annotation ProfilerStep#3 1000+5000"}, nil},
		{"names unescaped", doc("", x("cpu_op", `f(\"x\")é`, "1", "1", "")), []string{`cpu_op f("x")é 1000+1000`}, nil},
		{"ROCm's copies", doc("", x("kernel", "MEMORY_COPY_DEVICE_TO_HOST", "1", "1", ""), x("kernel", "__amd_rocclr_fillBufferAligned", "2", "1", "")),
			[]string{"gpu_memcpy MEMORY_COPY_DEVICE_TO_HOST 1000+1000", "gpu_memset __amd_rocclr_fillBufferAligned 2000+1000"}, nil},
		{"unknown categories are other", doc("", x("mystery", "a", "1", "1", ""), x("cpu_op", "b", "2", "1", "")), []string{"other a 1000+1000", "cpu_op b 2000+1000"}, nil},
		{"B and E", doc("", `{"ph": "B", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 2, "ts": 1}`, `{"ph": "B", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 2, "ts": 2}`,
			`{"ph": "E", "pid": 1, "tid": 2, "ts": 4}`, `{"ph": "E", "pid": 1, "tid": 2, "ts": 9}`), []string{"cpu_op a 1000+8000", "cpu_op b 2000+2000"}, nil},
		{"B without E, E without B", doc("", `{"ph": "E", "pid": 1, "tid": 2, "ts": 4}`, `{"ph": "B", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 2, "ts": 5}`),
			[]string{"cpu_op a 5000+0"}, []string{"1 B events without an E, length taken as 0", "1 E events without a B"}},
		{"negative length", doc("", x("cpu_op", "a", "1", "-1", "")), []string{"cpu_op a 1000+0"}, []string{"1 negative durations: GPU work left out, other spans taken as 0"}},
		{"negative length of GPU work", doc("", x("kernel", "k", "1", "-1", ""), x("gpu_memcpy", "c", "1", "-1", ""), x("kernel", "k", "2", "1", ""), x("kernel", "k", "3", "-1", "")),
			[]string{"kernel k 2000+1000"}, []string{"3 negative durations: GPU work left out, other spans taken as 0"}},
		{"no ts, no dur, words", doc("", `{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 2, "dur": 1}`, `{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 2, "ts": 1}`,
			x("cpu_op", "a", "NaN", "1", ""), x("cpu_op", "a", "1", `"soon"`, ""), x("cpu_op", "b", "1", "1", "")),
			[]string{"cpu_op b 1000+1000"}, []string{"2 spans without a usable dur", "2 spans without a usable ts", "1 values with NaN, control characters or broken UTF-8 replaced"}},
		{"longer than a week", doc("", x("cpu_op", "a", "1", "604800000001", ""), x("cpu_op", "b", "1", "1", "")), []string{"cpu_op b 1000+1000"}, []string{"1 spans longer than 7 days dropped"}},
		{"far from the rest", doc("", x("cpu_op", "a", "1", "1", ""), x("cpu_op", "b", "2", "1", ""), x("cpu_op", "c", "1000000000000", "1", "")),
			[]string{"cpu_op a 1000+1000", "cpu_op b 2000+1000"}, []string{"1 events days away from the rest dropped"}},
		{"times beyond measure", doc("", x("cpu_op", "a", "9000000000000000", "1", ""), x("cpu_op", "b", "1", "1", "")), []string{"cpu_op b 1000+1000"}, []string{"1 spans without a usable ts"}},
		{"no ph, unknown ph", doc("", `{"name": "a", "ts": 1}`, `{"ph": "Z", "name": "a", "ts": 1}`, x("cpu_op", "b", "1", "1", "")),
			[]string{"cpu_op b 1000+1000"}, []string{`1 events of unknown ph 'Z'`, "1 events without ph"}},
		{"cut off", doc("", x("cpu_op", "a", "1", "1", ""), x("cpu_op", "b", "2", "1", ""))[:150], []string{"cpu_op a 1000+1000"},
			[]string{"1 the file ends in the middle of an event: readable up to byte 109 of the text (byte 150 of the file), 41 bytes after it lost"}},
		{"a trailing comma", `{"traceEvents": [` + x("cpu_op", "a", "1", "1", "") + ",]}", []string{"cpu_op a 1000+1000"}, nil},
		{"flows and counters are not spans", doc("", `{"ph": "s", "id": 1, "pid": 1, "tid": 2, "ts": 1, "cat": "ac2g", "name": "ac2g"}`, `{"ph": "C", "pid": 1, "ts": 1, "name": "n", "args": {"v": 1}}`, x("cpu_op", "a", "1", "1", "")),
			[]string{"cpu_op a 1000+1000"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := one(t, c.text)
			if got := spans(tr); !slices.Equal(got, c.want) {
				t.Errorf("spans %q, want %q", got, c.want)
			}
			var notes []string
			for _, n := range tr.Notes {
				notes = append(notes, fmt.Sprintf("%d %s", n.Count, n.Text()))
			}
			if !slices.Equal(notes, c.notes) {
				t.Errorf("notes %q, want %q", notes, c.notes)
			}
		})
	}
}

func TestArguments(t *testing.T) {
	tr := one(t, doc(`"deviceProperties": [{"id": 0, "name": "A"}, {"id": 3, "name": "B"}], "with_stack": 1, "trace_id": "ff", "host_name": "h",
		"distributedInfo": {"backend": "nccl", "rank": 2, "world_size": 4}, `,
		x("cuda_runtime", "cudaLaunchKernel", "1", "1", `"External id": 7, "correlation": 20`),
		`{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 3, "tid": 9, "ts": 2, "dur": 1, "args": {"External id": 7, "device": 3, "stream": 9, "correlation": 20,
			"grid": [24, 1, 2], "block": [544, 1, 1], "Collective name": "allreduce", "In msg nelems": 10, "Out msg nelems": 20, "Group size": 4, "dtype": "BFloat16",
			"Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3]", "Seq": 5, "Comms Id": 18446744073709551615}}`,
		`{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy", "pid": 3, "tid": 9, "ts": 4, "dur": 1, "args": {"bytes": 128, "correlation": 21}}`,
		`{"ph": "X", "cat": "gpu_memcpy", "name": "kv_send layer=3", "pid": 3, "tid": 11, "ts": 5, "dur": 1, "args": {"bytes": 64, "correlation": 0, "rids": "a,\"b", "room": 9223372036854775807}}`,
		x("cpu_op", "aten::mm", "1", "1", `"Input Dims": [[2, 3], [3, 4]], "Input type": ["float", "float"]`),
		x("cpu_op", "aten::add", "1", "1", `"Input Dims": [[2, 3]]`),
		`{"ph": "M", "name": "thread_name", "pid": 3, "tid": 9, "args": {"name": "stream 9 "}}`,
		`{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 2, "ts": 3, "args": {"Bytes": -512, "Total Allocated": 100, "Total Reserved": 200, "Device Type": 1, "Device Id": 3}}`))
	if s := tr.Source; s.Device != "B" || !s.WithStack || s.TraceID != "ff" || s.Host != "h" || s.World != (trace.World{Known: true, Rank: 2, Size: 4}) || s.Rank != trace.NoRank || !s.Complete {
		t.Errorf("source %+v", s)
	}
	if len(tr.Moves) != 1 || tr.Ops[2].Move != 1 || tr.Ops[1].Move != 0 || tr.Strings.Get(tr.Moves[0].Requests) != `a,"b` || tr.Moves[0].Room != 1<<63-1 {
		t.Errorf("keys and values moved %+v", tr.Moves)
	}
	if len(tr.Ops) != 3 || tr.Ops[0].Grid != [3]int32{24, 1, 2} || tr.Ops[0].Comm != 0 || tr.Ops[1].Comm != -1 || tr.Ops[1].Bytes != 128 {
		t.Errorf("ops %+v", tr.Ops)
	}
	if c := tr.Comms[0]; tr.Strings.Get(c.Name) != "allreduce" || tr.Strings.Get(c.Ranks) != "[0, 1, 2, 3]" || tr.Strings.Get(c.DType) != "BFloat16" ||
		c.GroupSize != 4 || c.In != 10 || c.Out != 20 || c.Seq != 5 {
		t.Errorf("collective %+v", c)
	}
	if len(tr.Shapes) != 1 || tr.Strings.Get(tr.Shapes[0].Dims) != "[[2, 3], [3, 4]]" {
		t.Errorf("shapes of matrix products only: %+v", tr.Shapes)
	}
	if want := []trace.MemoryPoint{{Time: 3000, Bytes: -512, Allocated: 100, Reserved: 200, GPU: true, Device: 3}}; !slices.Equal(tr.Memory, want) {
		t.Errorf("memory %+v", tr.Memory)
	}
	at := slices.IndexFunc(tr.Tracks, func(k trace.Track) bool { return k.GPU })
	if k := tr.Tracks[at]; k.Device != 3 || k.Stream != 9 || k.Name != "stream 9" {
		t.Errorf("track %+v", k)
	}
	for _, s := range tr.Spans {
		if s.Cat == trace.Kernel && (s.Corr != 20 || s.Ext != 7) {
			t.Errorf("kernel %+v", s)
		}
	}
}

// TestRequestsOfSteps: the annotation of a step may name its requests.
func TestRequestsOfSteps(t *testing.T) {
	tr := one(t, doc("", x("user_annotation", "step[DECODE bs=2]", "1", "2", `"External id": 1, "rids": "a,\"b", "Ev Idx": 0`),
		x("user_annotation", "step[DECODE bs=1]", "5", "2", ""), x("cpu_op", "op", "8", "1", `"rids": "c"`)))
	passes, _ := trace.Passes(tr)
	var got []string
	for _, p := range passes {
		got = append(got, tr.Strings.Get(p.Requests))
	}
	if !slices.Equal(got, []string{`a,"b`, ""}) {
		t.Errorf("%q", got)
	}
}

// TestMergedFile splits a merged file into its ranks.
func TestMergedFile(t *testing.T) {
	at := func(pid, name string) string {
		return fmt.Sprintf(`{"ph": "X", "cat": "cpu_op", "name": %q, "pid": %s, "tid": 1, "ts": 1, "dur": 1}`, name, pid)
	}
	text := doc(`"stepscope": {"ranks": [{"label": "TP00-DP01", "host_name": "h1", "trace_id": "t1", "distributedInfo": {"rank": 1, "world_size": 2}, "complete": false}]}, `,
		at(`"[TP01] 100"`, "b"), at(`"[TP00-DP01] 100"`, "a"), at(`"[TP00-DP01] 0"`, "a2"), at(`"[TP00 DECODE] 100"`, "d"), at(`"[odd label] 1"`, "o"), at(`7`, "plain"),
		`{"ph": "M", "name": "process_name", "pid": "[TP09] 1", "args": {"name": "x"}}`)
	ts, err := readText(t, "merged-5.trace.json", text)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, tr := range ts {
		key := fmt.Sprintf("%s/%s/%s/%v/%d", tr.Source.Rank, tr.Source.Stage, tr.Source.Host, tr.Source.Complete, tr.Source.World.Size)
		got[key] = append(got[key], spans(tr)...)
	}
	want := map[string][]string{
		"TP01///true/0": {"cpu_op b 1000+1000"}, "TP00-DP01//h1/false/2": {"cpu_op a 1000+1000", "cpu_op a2 1000+1000"},
		"TP00/DECODE//true/0": {"cpu_op d 1000+1000"},
		"Unknown///true/0":    {"cpu_op o 1000+1000", "cpu_op plain 1000+1000"},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestNothingToRead(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "no events": `{"traceEvents": []}`, "not a trace": "hello", "cut before events": `{"schemaVersion": 1, "traceEv`} {
		if ts, err := readText(t, "a.json", text); err == nil {
			t.Errorf("%s: %d traces and no error", name, len(ts))
		}
	}
}

// TestTruncated cuts a small file at every byte: whole events are read, and the loss is noted.
func TestTruncated(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "chromejson", "testdata", "kineto.json"))
	if err != nil {
		t.Fatal(err)
	}
	whole := one(t, string(text))
	before := 0
	for n := range text {
		ts, err := readText(t, "a.json", string(text[:n]))
		if err != nil {
			if before > 0 {
				t.Fatalf("cut at %d: %v, though %d spans had been read before", n, err, before)
			}
			continue
		}
		if len(ts) == 0 || ts[0].Source.Complete && len(ts[0].Spans) < len(whole.Spans) {
			t.Fatalf("cut at %d: %d traces, complete", n, len(ts))
		}
		if got := len(ts[0].Spans); got < before || got > len(whole.Spans) {
			t.Fatalf("cut at %d: %d spans, %d before", n, got, before)
		} else {
			before = got
		}
	}
	if before != len(whole.Spans) {
		t.Errorf("%d spans before the last byte, %d with it", before, len(whole.Spans))
	}
}

// FuzzRead: reading never panics, and its result is in order.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		doc(`"baseTimeNanoseconds": 10, "distributedInfo": {"rank": 1}, `, x("kernel", "k", "1", "2", `"device": 0, "stream": 7, "correlation": 1, "grid": [1, 2, 3]`), x("cuda_runtime", "cudaGraphLaunch", "0.5", "1", `"correlation": 1`)),
		doc("", `{"ph": "B", "name": "a", "pid": "[TP00] 1", "tid": 2, "ts": 1}`, `{"ph": "E", "pid": "[TP00] 1", "tid": 2, "ts": 4}`),
		doc("", x("user_annotation", "step[DECODE bs=1]", "1", "-9", ""), `{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "ts": 3, "args": {"Bytes": 1}}`),
	} {
		f.Add([]byte(text))
	}
	sample, err := os.ReadFile(filepath.Join("..", "chromejson", "testdata", "kineto.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sample)
	f.Fuzz(func(t *testing.T, text []byte) {
		src, err := chromejson.NewSource(io.NopCloser(bytes.NewReader(text)))
		if err != nil {
			return
		}
		defer src.Close()
		ts, err := read(context.Background(), src, set.File{Path: "a"}, Options{})
		if err != nil {
			return
		}
		for _, tr := range ts {
			for i := range tr.Spans {
				s := &tr.Spans[i]
				if s.Dur < 0 || s.End() < s.Start || int(s.Track) >= len(tr.Tracks) {
					t.Fatalf("span %+v", s)
				}
				if s.Cat.OnGPU() && (s.Detail < 0 || int(s.Detail) >= len(tr.Ops)) {
					t.Fatalf("GPU work without details: %+v", s)
				}
				if i > 0 && (tr.Spans[i-1].Track > s.Track || tr.Spans[i-1].Track == s.Track && tr.Spans[i-1].Start > s.Start) {
					t.Fatalf("spans %d and %d are in disorder", i-1, i)
				}
			}
		}
	})
}
