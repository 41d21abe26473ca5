package check

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/packedtest"
	"github.com/stepscope/stepscope/internal/tracefile/merge"
	reader "github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// event is an event of a trace, whose numbers keep their digits.
type event map[string]any

func (e event) gpu() bool {
	return e["cat"] == "kernel" || e["cat"] == "gpu_memcpy" || e["cat"] == "gpu_memset"
}

func (e event) us(key string) float64 {
	n, _ := e[key].(json.Number)
	f, _ := n.Float64()
	return f
}

func (e event) set(key string, us float64) {
	e[key] = json.Number(strconv.FormatFloat(us, 'f', 3, 64))
}

// every changes every nth event that is wanted.
func every(n int, wanted func(event) bool, change func(event)) func([]event) []event {
	return func(all []event) []event {
		seen := 0
		for _, e := range all {
			if wanted(e) {
				if seen++; seen%n == 0 {
					change(e)
				}
			}
		}
		return all
	}
}

// without drops every nth event that is wanted.
func without(n int, wanted func(event) bool) func([]event) []event {
	return func(all []event) (kept []event) {
		seen := 0
		for _, e := range all {
			if wanted(e) {
				if seen++; seen%n == 0 {
					continue
				}
			}
			kept = append(kept, e)
		}
		return kept
	}
}

func setBack(ms float64, wanted func(event) bool) func([]event) []event {
	return func(all []event) []event {
		var times []float64
		for _, e := range all {
			if e.gpu() {
				times = append(times, e.us("ts"))
			}
		}
		for _, e := range all {
			if wanted(e) && e.us("ts") > times[len(times)/2] {
				e.set("ts", e.us("ts")-1000*ms)
			}
		}
		return all
	}
}

// TestAlike breaks one rank of a real capture: the check, the merge and the readers count the same violations, and as
// recorded there is none.
func TestAlike(t *testing.T) {
	kernel := func(e event) bool { return e["cat"] == "kernel" }
	for _, c := range []struct {
		name   string
		change func([]event) []event
		want   []trace.NoteKind
	}{
		{"as recorded", func(all []event) []event { return all }, nil},
		{"negative durations", every(20, kernel, func(e event) { e.set("dur", -e.us("dur")) }), []trace.NoteKind{trace.NoteNegative}},
		{"times of 0", every(20, kernel, func(e event) { e.set("ts", 0) }), []trace.NoteKind{trace.NoteDaysAway}},
		{"no durations", every(20, kernel, func(e event) { delete(e, "dur") }), []trace.NoteKind{trace.NoteNoDur}},
		{"no usable times", every(20, kernel, func(e event) { e["ts"] = "x" }), []trace.NoteKind{trace.NoteNoTime}},
		{"kernels that run on", every(100, kernel, func(e event) { e.set("dur", e.us("dur")+25_000) }), []trace.NoteKind{trace.NoteRunsOn}},
		{"the clock of the GPU is set back", setBack(5, event.gpu), []trace.NoteKind{trace.NoteSetBack, trace.NoteBeforeLaunch}},
		{"both clocks are set back", setBack(30, func(e event) bool { return e["ph"] != "M" && e["cat"] != "Trace" }), []trace.NoteKind{trace.NoteSetBack}},
		{"GPU work begins before its launch", every(1, event.gpu, func(e event) { e.set("ts", e.us("ts")-20_000) }), []trace.NoteKind{trace.NoteBeforeLaunch}},
		{"kernels end after the synchronisation", every(1, event.gpu, func(e event) { e.set("ts", e.us("ts")+20_000) }), []trace.NoteKind{trace.NoteLateOps}},
		{"no GPU record of some launches", without(5, kernel), []trace.NoteKind{trace.NoteLostOps}},
		{"no GPU record of any launch", without(1, event.gpu), []trace.NoteKind{trace.NoteLostOps}},
		{"each GPU record twice", func(all []event) []event {
			var twice []event
			for _, e := range all {
				if twice = append(twice, e); e.gpu() {
					twice = append(twice, e)
				}
			}
			return twice
		}, []trace.NoteKind{trace.NoteTwice}},
		{"some GPU records again at the end", func(all []event) []event {
			return append(all, without(1, func(e event) bool { return !e.gpu() })(all)[:50]...)
		}, []trace.NoteKind{trace.NoteTwice}},
	} {
		t.Run(c.name, func(t *testing.T) {
			window := altered(t, c.change)
			checked, merged, reads := counts(t, window)
			if len(c.want) == 0 && len(checked) > 0 {
				t.Errorf("the check found %v, want nothing", checked)
			}
			for _, kind := range c.want {
				if checked[oddKinds[kind]] == 0 {
					t.Errorf("the check found %v, want %q", checked, oddKinds[kind])
				}
			}
			for kind, of := range oddKinds {
				if kind == trace.NoteCross && checked[oddKinds[trace.NoteSetBack]] > 0 {
					continue // the reader sorts spans by time, so it may find more that cross
				}
				if checked[of] != merged[of] || checked[of] != reads[of] {
					t.Errorf("%s: the check counts %d, the merge %d, the reader %d", of, checked[of], merged[of], reads[of])
				}
			}
		})
	}
}

// TestAlikeSmall: in small files too, the check, the merge and the readers count the same violations.
func TestAlikeSmall(t *testing.T) {
	work := func(name string, at, dur, id int) string {
		return fmt.Sprintf(`{"ph": "X", "cat": "kernel", "name": %q, "pid": 0, "tid": 7, "ts": %d, "dur": %d, "args": {"correlation": %d}}`, name, at, dur, id)
	}
	call := func(name string, at, dur, id int) string {
		return fmt.Sprintf(`{"ph": "X", "cat": "cuda_runtime", "name": %q, "pid": 9, "tid": 1, "ts": %d, "dur": %d, "args": {"correlation": %d}}`, name, at, dur, id)
	}
	for _, c := range []struct {
		name   string
		events []string
		want   trace.NoteKind
	}{
		{"a pid with the end of a label", []string{strings.Replace(work("a", 2_000, 5, 1), `"pid": 0`, `"pid": "] x"`, 1)}, trace.NoNote},
		{"a kernel of a graph is recorded twice", []string{work("a", 2_000, 1, 5), work("a", 2_000, 1, 5), work("b", 2_003, 1, 5)}, trace.NoteTwice},
		{"kernels of a graph with equal times in µs", []string{work("a", 2_000, 1, 5), work("b", 2_000, 1, 5)}, trace.NoNote},
		{"kernels of a graph with durations of 0 µs", []string{work("a", 2_000, 0, 5), work("a", 2_000, 0, 5)}, trace.NoNote},
		{"an op without a correlation id runs on", []string{
			call("cudaLaunchKernel", 1_900, 5, 1), call("cudaDeviceSynchronize", 1_990, 130, 2), work("a", 2_000, 100, 1),
			work("b", 2_400, 6_000, 0), work("c", 2_500, 10, 3), call("cudaLaunchKernel", 2_450, 5, 3),
		}, trace.NoteRunsOn},
		{"branches of a graph, in order of completion", []string{
			call("cudaGraphLaunch", 1_000, 10, 5), work("short", 2_200, 10, 5), work("long", 2_000, 500, 5),
			work("short", 3_200, 10, 5), work("long", 3_000, 500, 5),
		}, trace.NoNote},
		{"the clock is set back between launches", []string{work("a", 2_200, 10, 5), work("b", 2_000, 100, 6)}, trace.NoteSetBack},
	} {
		checked, merged, reads := counts(t, windowOf(t, c.events))
		for kind, of := range oddKinds {
			want := int64(0)
			if kind == c.want {
				want = 1
			}
			if checked[of] != want || merged[of] != want || reads[of] != want {
				t.Errorf("%s: %s: the check counts %d, the merge %d, the reader %d, want %d", c.name, of, checked[of], merged[of], reads[of], want)
			}
		}
	}
}

// windowOf writes the events to a file and returns its window.
func windowOf(t *testing.T, events []string) set.Set {
	t.Helper()
	sets, err := set.Find([]string{write(t, "w-TP-0.trace.json", `{"traceEvents": [`+strings.Join(events, ", ")+`]}`)})
	if err != nil {
		t.Fatal(err)
	}
	return sets[0]
}

// altered writes a real capture of two ranks, of which the second is changed.
func altered(t *testing.T, change func([]event) []event) set.Set {
	t.Helper()
	dir := t.TempDir()
	files, err := filepath.Glob("../../../testdata/traces/graph_work/*TP-*")
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	for i, path := range files {
		text := packedtest.Read(t, path)
		if i == 1 {
			var doc map[string]json.RawMessage
			var events []event
			if err := json.Unmarshal(text, &doc); err != nil {
				t.Fatal(err)
			}
			d := json.NewDecoder(bytes.NewReader(doc["traceEvents"]))
			d.UseNumber()
			if err := d.Decode(&events); err != nil {
				t.Fatal(err)
			}
			doc["traceEvents"], _ = json.Marshal(change(events))
			text, _ = json.Marshal(doc)
		}
		if err := os.WriteFile(filepath.Join(dir, "w-TP-"+strconv.Itoa(i)+".trace.json"), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	sets, err := set.Find([]string{dir})
	if err != nil || len(sets[0].Files) != 2 {
		t.Fatal(sets, err)
	}
	return sets[0]
}

// counts returns the violations by kind that the check, the merge and the reader find.
func counts(t *testing.T, window set.Set) (checked, merged, reads map[string]int64) {
	t.Helper()
	checked, merged, reads = map[string]int64{}, map[string]int64{}, map[string]int64{}
	r, err := Check(context.Background(), window, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, of := range oddKinds {
		known[of] = true
	}
	for _, f := range r.Files {
		for _, o := range f.Odd {
			if known[o.Kind] {
				checked[o.Kind] += o.Count
			}
		}
	}
	if r.Incomplete() != (len(checked) > 0) {
		t.Errorf("incomplete %t, but found %v", r.Incomplete(), checked)
	}
	res, err := merge.To(context.Background(), window, io.Discard, merge.Options{Level: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range res.Notes {
		merged[oddKinds[n.Kind]] += n.Count
	}
	traces, _, err := reader.ReadSet(context.Background(), window, reader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range traces {
		for _, n := range tr.Notes {
			reads[oddKinds[n.Kind]] += n.Count
		}
	}
	return checked, merged, reads
}
