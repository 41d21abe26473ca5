package check

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/packedtest"

	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

func check(t *testing.T, paths ...string) *Report {
	t.Helper()
	sets, err := set.Find(paths)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Check(context.Background(), sets[0], nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func write(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Counts and times agree with the file as encoding/json reads it.
func TestAgreesWithFile(t *testing.T) {
	r := check(t, "../../../testdata/traces/graph_work")
	if r.Incomplete() || len(r.Files) != 2 || len(r.Notes) != 0 {
		t.Fatalf("%+v", r)
	}
	for i, f := range r.Files {
		text := packedtest.Read(t, f.Path)
		var d struct {
			Base        int64 `json:"baseTimeNanoseconds"`
			TraceEvents []struct {
				Ph, Cat string
				TS, Dur float64
			}
		}
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		cat, ph := map[string]int64{}, map[string]int64{}
		lo, hi := 1e300, 0.0
		for _, e := range d.TraceEvents {
			ph[e.Ph]++
			if e.Cat == "" {
				e.Cat = "none"
			}
			cat[e.Cat]++
			if e.Ph != "M" && e.Cat != "Trace" {
				lo, hi = min(lo, e.TS), max(hi, e.TS+e.Dur)
			}
		}
		if !reflect.DeepEqual(f.Category, cat) || !reflect.DeepEqual(f.Phase, ph) || f.Events != int64(len(d.TraceEvents)) {
			t.Errorf("%v %v", f.Category, f.Phase)
		}
		// Doubles hold these microseconds to the nanosecond or so.
		if d0, d1 := f.StartNS-d.Base-int64(lo*1000), f.EndNS-d.Base-int64(hi*1000); d0*d0 > 4 || d1*d1 > 4 {
			t.Errorf("span off by %d, %d ns", d0, d1)
		}
		if f.Label != fmt.Sprintf("TP%02d", i) || *f.Rank != i || f.World != 2 || f.Steps["prefill"] != 1 || f.Steps["decode"] != 14 {
			t.Errorf("%+v", f)
		}
	}
	if len(r.Clocks) != 1 || r.Clocks[0].Verdict != "agree" {
		t.Errorf("clocks %+v", r.Clocks)
	}
}

func TestOdd(t *testing.T) {
	const base = `"pid": 1, "tid": 1, `
	tests := []struct {
		event, kind string
		harmless    bool
	}{
		{`{"ph": "X", ` + base + `"ts": 1, "dur": -2}`, "negative dur", false},
		{`{"ph": "X", ` + base + `"ts": 1, "dur": 6e11}`, "", false},
		{`{"ph": "X", ` + base + `"ts": 1, "dur": 7e11}`, "dur above 7 days", false},
		{`{"ph": "X", ` + base + `"ts": 1}`, "span without a usable dur", false},
		{`{"ph": "X", ` + base + `"ts": 1, "dur": "x"}`, "span without a usable dur", false},
		{`{"ph": "X", ` + base + `"dur": 1}`, "span without a usable ts", false},
		{`{"ph": "X", ` + base + `"ts": [], "dur": 1}`, "span without a usable ts", false},
		{`{"ph": "i", ` + base + `"ts": []}`, "event without a usable ts", false},
		{`{` + base + `"ts": 1, "dur": 1}`, "event without ph", false},
		{`{"ph": "X", ` + base + `"ts": 1, "dur": 1, "args": {"a": NaN}}`, "NaN, Infinity, control characters or bad UTF-8, replaced", false},
		{`{"ph": "X", ` + base + `"ts": 1, "dur": 1, "args": {"a": -Infinity}}`, "NaN, Infinity, control characters or bad UTF-8, replaced", false},
		{`{"ph": "s", "cat": "ac2g", "id": 5, ` + base + `"ts": 1}`, "flow ac2g without end", true},
		{`{"ph": "f", "cat": "fwdbwd", "id": 5, ` + base + `"ts": 1}`, "flow fwdbwd without start", true},
		{`{"ph": "s", "cat": "a", "id": 5, ` + base + `"ts": 1}, {"ph": "f", "cat": "a", "id": 5, ` + base + `"ts": 1}`, "", true},
		{`{"ph": "X", "cat": "kernel", ` + base + `"ts": 1, "dur": 1, "args": {"correlation": 3}}`, "GPU work whose launch is not recorded", true},
		{`{"ph": "M", "name": "process_name", "pid": 1, "args": {}}`, "", true},
		{`5`, "elements of traceEvents that are no event, skipped", false},
	}
	for _, tt := range tests {
		r := check(t, write(t, "id-TP-0.trace.json", `{"traceEvents": [`+tt.event+`]}`))
		odd := r.Files[0].Odd
		switch {
		case tt.kind == "" && len(odd) > 0:
			t.Errorf("%s: %+v", tt.event, odd)
		case tt.kind != "" && (len(odd) != 1 || odd[0].Kind != tt.kind || odd[0].Harmless != tt.harmless || odd[0].Count != 1):
			t.Errorf("%s: %+v, want %q", tt.event, odd, tt.kind)
		}
	}
}

func TestIncomplete(t *testing.T) {
	const whole = `{"distributedInfo": {"rank": 0, "world_size": 3}, "baseTimeNanoseconds": 5, "trace_id": "A", "traceEvents": [{"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]}`
	tests := []struct {
		name       string
		files      []string
		incomplete bool
		want       string // expected in the text
	}{
		{"a rank short", []string{"id-TP-0.trace.json", whole, "id-TP-2.trace.json", strings.Replace(whole, `"rank": 0`, `"rank": 2`, 1)}, true, "TP01: no file of this rank"},
		{"world larger", []string{"id-TP-0.trace.json", whole}, true, "rank 2: distributedInfo says 3 ranks"},
		{"world much larger", []string{"id-TP-0.trace.json", strings.Replace(whole, "3}", "127}", 1)}, true, "126 ranks (rank 1 to rank 126): distributedInfo says 127 ranks"},
		{"cut", []string{"id-TP-0.trace.json", strings.Replace(whole, "3}", "1}", 1)[:100]}, true, "the file ends in its metadata"},
		{"empty", []string{"id-TP-0.trace.json", ""}, true, "the file is empty"},
		{"bases", []string{"id-TP-0.trace.json", strings.Replace(whole, "3}", "1}", 1), "id-TP-1.trace.json", `{"baseTimeNanoseconds": 6, "traceEvents": []}`}, false, "2 different baseTimeNanoseconds"},
		{"twice", []string{"id-TP-0.trace.json", strings.Replace(whole, "3}", "1}", 1), "id-TP-1.trace.json", `{"trace_id": "A", "traceEvents": []}`}, false, "are the same recording"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := check(t, write(t, tt.files...))
			var b strings.Builder
			if err := r.Print(&b); err != nil {
				t.Fatal(err)
			}
			if r.Incomplete() != tt.incomplete || !strings.Contains(b.String(), tt.want) {
				t.Errorf("incomplete %v:\n%s", r.Incomplete(), b.String())
			}
		})
	}
}

// TestImpossible: the state of a file is complete only if its events are possible.
func TestImpossible(t *testing.T) {
	launch := func(ts, id int) string {
		return fmt.Sprintf(`{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 1, "ts": %d, "dur": 1, "args": {"correlation": %d}}`, ts, id)
	}
	work := func(ts, id int) string {
		return fmt.Sprintf(`{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": %d, "dur": 1, "args": {"correlation": %d}}`, ts, id)
	}
	span := func(cat, name string, tid int) func(ts, id int) string {
		return func(ts, id int) string {
			return fmt.Sprintf(`{"ph": "X", "cat": %q, "name": %q, "pid": 9, "tid": %d, "ts": %d, "dur": 3, "args": {"correlation": %d}}`, cat, name, tid, ts, id)
		}
	}
	copied, waited := span("cuda_runtime", "cudaMemcpyAsync", 1), span("cuda_runtime", "cudaStreamSynchronize", 1)
	moved := span("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 7)
	const at = 200_000_000_000 // µs
	const ended = `{"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamEndCapture", "pid": 9, "tid": 1, "ts": 200000000015, "dur": 1, "args": {"correlation": 2}}`
	for _, c := range []struct {
		name   string
		events []string
		want   string
	}{
		{"as recorded", []string{launch(at, 1), work(at+5, 1), launch(at+10, 2), work(at+15, 2)}, ""},
		{"a launch without work", []string{launch(at, 1), work(at+5, 1), launch(at+10, 2)}, oddKinds[trace.NoteLostOps]},
		{"no launch has work", []string{launch(at, 1)}, oddKinds[trace.NoteLostOps]},
		{"work begins before its launch", []string{launch(at, 1), work(at-5_000, 1), launch(at+10, 2), work(at+15, 2)}, oddKinds[trace.NoteBeforeLaunch]},
		{"work is recorded twice", []string{launch(at, 1), work(at+5, 1), work(at+5, 1), launch(at+10, 2), work(at+15, 2)}, oddKinds[trace.NoteTwice]},
		{"a span has no duration", []string{launch(at, 1), work(at+5, 1), `{"ph": "X", "cat": "cpu_op", "name": "o", "pid": 9, "tid": 1, "ts": 200000000001}`}, oddKinds[trace.NoteNoDur]},
		{"the launches before the end of a capture", []string{launch(at+10, 1), ended, launch(at+20, 3), work(at+25, 3)}, ""},
		{"a copy ends after its synchronisation", []string{copied(at, 1), moved(at+5_000, 1), waited(at+2, 2)}, oddKinds[trace.NoteLateOps]},
		{"a copy ends before its synchronisation ends", []string{copied(at, 1), moved(at+2, 1), waited(at+1, 2)}, ""},
		{"the first time is 0", []string{launch(0, 1), work(at+5, 1), launch(at+10, 2), work(at+15, 2)}, oddKinds[trace.NoteDaysAway]},
		{"the time of a synchronisation is 0", []string{copied(at, 1), moved(at+5_000, 1), waited(0, 2)}, oddKinds[trace.NoteDaysAway]},
		{"a copy runs on", []string{copied(at, 1), strings.Replace(moved(at+1, 1), `"dur": 3`, `"dur": 5000`, 1), waited(at+2, 2), launch(at+20, 3), span("kernel", "k", 7)(at+25, 3)}, oddKinds[trace.NoteRunsOn]},
	} {
		r := check(t, write(t, "id-TP-0.trace.json", `{"traceEvents": [`+strings.Join(c.events, ", ")+`]}`))
		f := &r.Files[0]
		if f.Complete != (c.want == "") || c.want != "" && (f.Impossible() != 1 || !slices.ContainsFunc(f.Odd, func(o Odd) bool { return o.Kind == c.want })) {
			t.Errorf("%s: complete %t, %+v, want only %q", c.name, f.Complete, f.Odd, c.want)
		}
	}
}

func TestPairing(t *testing.T) {
	p := pairing{}
	for _, id := range []int64{5, 5, 1, 7, 5} {
		p.add(&p.from, id)
	}
	for _, id := range []int64{9, 1, 2, 9} {
		p.add(&p.to, id)
	}
	if from, to := p.alone(); from != 2 || to != 2 {
		t.Errorf("%d without end, %d without start", from, to)
	}
}

// TestStageName: a name that contradicts all steps of its file is reported and not used.
func TestStageName(t *testing.T) {
	step := func(mode string) string {
		return `{"traceEvents": [{"ph":"X","cat":"user_annotation","name":"step[` + mode + ` bs=1]","pid":9,"tid":1,"ts":1,"dur":5}]}`
	}
	r := check(t, write(t, "9-TP-0-EXTEND.trace.json", step("EXTEND"), "9-TP-0-DECODE.trace.json", step("EXTEND")))
	labels := map[string]bool{}
	for _, f := range r.Files {
		labels[f.Label] = true
	}
	if !labels["TP00 EXTEND"] || !labels["TP00 prefill"] || len(r.Notes) != 1 || r.Notes[0].Kind != trace.NoteStageName ||
		r.Notes[0].Text() != "its name says DECODE, but it holds 1 prefill: the content decides" {
		t.Errorf("%v, %v", labels, r.Notes)
	}
}

// TestUnpaired: if a file has too many launches to compare them with their GPU work, a note says so.
func TestUnpaired(t *testing.T) {
	defer func(most int) { maxPairs = most }(maxPairs)
	for _, c := range []struct {
		most int
		want []trace.NoteKind
	}{{8, nil}, {2, []trace.NoteKind{trace.NoteUnpaired}}} {
		maxPairs = c.most
		var events []string
		for id := 1; id <= 4; id++ {
			events = append(events, fmt.Sprintf(`{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": %d, "dur": 1, "args": {"correlation": %d}}`, 10*id, id))
		}
		r := check(t, write(t, "id-TP-0.trace.json", `{"traceEvents": [`+strings.Join(events, ", ")+`]}`))
		var got []trace.NoteKind
		for _, n := range r.Notes {
			got = append(got, n.Kind)
		}
		var text strings.Builder
		if err := r.Print(&text); err != nil || !slices.Equal(got, c.want) || strings.Contains(text.String(), "more than 2 launches") != (c.want != nil) {
			t.Errorf("limit %d: notes %v, want %v: %v\n%s", c.most, got, c.want, err, text.String())
		}
	}
}
