package merge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/packedtest"

	"github.com/stepscope/stepscope/internal/tracefile/set"
)

// restore undoes the merge of one event by the rules of docs/formats, implemented independently, and returns its file.
func restore(t *testing.T, m set.Merged, e map[string]any) int {
	t.Helper()
	pid := e["pid"].(string)
	for k, r := range m.Ranks {
		old, ok := strings.CutPrefix(pid, r.PIDPrefix)
		if !ok {
			continue
		}
		e["pid"] = old
		n := int64(m.IDMap.Stride)
		back := func(in map[string]any, key string, flow bool) {
			id, ok := in[key].(json.Number)
			if !ok {
				return
			}
			i, err := id.Int64()
			if err != nil || i == 0 && !flow || n == 1 {
				return
			}
			if i%n != int64(k) {
				t.Fatalf("%s %d of %v is not of file %d", key, i, e["name"], k)
			}
			in[key] = json.Number(fmt.Sprint(i / n))
		}
		back(e, "id", true)
		if args, ok := e["args"].(map[string]any); ok {
			back(args, "correlation", false)
			back(args, "External id", false)
		}
		return k
	}
	t.Fatalf("pid %q has no label of %d ranks", pid, len(m.Ranks))
	return -1
}

// canonical formats an event independently of the order of its fields. Sort indices are compared by TestRowOrder.
func canonical(t *testing.T, e map[string]any) string {
	t.Helper()
	e["pid"] = fmt.Sprint(e["pid"])
	if e["name"] == "process_sort_index" {
		e["args"] = nil
	}
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestEveryEventOnce(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"graph_work", "graphs", "stacks", "balanced"} {
		t.Run(name, func(t *testing.T) {
			if name == "balanced" && testing.Short() {
				t.Skip("the longest of the sets")
			}
			set := testSet(t, name)
			d, res := merged(t, set, Options{ProfileID: set.ID})
			m := stepscope(t, d)
			left := make([]map[string]int, len(set.Files))
			var want int64
			for k, f := range set.Files {
				left[k] = map[string]int{}
				for _, e := range parse(t, packedtest.Read(t, f.Path)).Events {
					left[k][canonical(t, e)]++
					want++
				}
			}
			for _, e := range d.Events {
				k := restore(t, m, e)
				left[k][canonical(t, e)]--
			}
			for k := range left {
				for e, n := range left[k] {
					if n != 0 {
						t.Fatalf("file %d: %+d times: %s", k, -n, e)
					}
				}
			}
			if res.Events != want || int64(len(d.Events)) != want {
				t.Errorf("%d events, the result says %d, want %d", len(d.Events), res.Events, want)
			}
			if res.Incomplete() {
				t.Errorf("incomplete: %+v", res)
			}
		})
	}
}

// Perfetto joins an s and an f of the same category, name and id into one arrow, whatever their pids.
func TestFlowsStayInTheirRank(t *testing.T) {
	for _, name := range []string{"graphs", "stacks"} {
		d, _ := merged(t, testSet(t, name), Options{})
		owner := map[string]string{}
		for _, e := range d.Events {
			if e["ph"] != "s" && e["ph"] != "f" {
				continue
			}
			key := fmt.Sprint(e["cat"], e["name"], e["id"])
			rank, _, _ := strings.Cut(e["pid"].(string), "]")
			if other, ok := owner[key]; ok && other != rank {
				t.Fatalf("%s: flow %s is of %s and %s", name, key, other, rank)
			}
			owner[key] = rank
		}
		if len(owner) == 0 {
			t.Fatalf("%s: no flows", name)
		}
	}
}

func TestMetadata(t *testing.T) {
	set := testSet(t, "graphs")
	d, _ := merged(t, set, Options{ProfileID: set.ID})
	var devices []struct{ ID int }
	if err := json.Unmarshal(d.Meta["deviceProperties"], &devices); err != nil || len(devices) != 16 {
		t.Errorf("%d devices of 4 ranks with 4 each, %v", len(devices), err)
	}
	m := stepscope(t, d)
	if m.ProfileID != set.ID || m.Format != 1 || len(m.Ranks) != 4 || len(m.Missing) != 0 {
		t.Errorf("%+v", m)
	}
	for k, r := range m.Ranks {
		var info struct{ Rank int }
		if err := json.Unmarshal(r.Info, &info); err != nil || info.Rank != k {
			t.Errorf("distributedInfo of %s: %s", r.Label, r.Info)
		}
		if r.Label != fmt.Sprintf("TP%02d", k) || !r.Complete || r.TraceID == "" || r.Events == 0 {
			t.Errorf("%+v", r)
		}
	}
	if string(d.Meta["baseTimeNanoseconds"]) != "1790857026000000000" {
		t.Errorf("base %s", d.Meta["baseTimeNanoseconds"])
	}
}

// The output depends neither on the order of the input files nor on the number of cores.
func TestSameBytesAlways(t *testing.T) {
	files := testSet(t, "graphs").Files
	run := func(procs int, order ...int) []byte {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		var paths []string
		for _, i := range order {
			paths = append(paths, files[i].Path)
		}
		var b bytes.Buffer
		if _, err := To(context.Background(), find(t, paths...), &b, Options{}); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	want := run(1, 0, 1, 2, 3)
	for _, procs := range []int{1, 2, 7} {
		if !bytes.Equal(run(procs, 3, 1, 0, 2), want) {
			t.Errorf("%d cores, other order: other bytes", procs)
		}
	}
}

// TestStages: the stages of a rank share its rows, and their ids do not collide.
func TestStages(t *testing.T) {
	_, paths := write(t,
		"id-TP-0-EXTEND.trace.json", traceOf("", span(9, "1", "a")),
		"id-TP-0-DECODE.trace.json", traceOf("", span(9, "2", "b")))
	d, _ := merged(t, find(t, paths...), Options{})
	pids := map[string]any{}
	for _, e := range d.Events {
		pids[e["name"].(string)] = e["pid"]
	}
	if pids["a"] != "[TP00] 9" || pids["b"] != "[TP00] 9" {
		t.Errorf("%v", pids)
	}
}

func TestNoLabelTwice(t *testing.T) {
	_, paths := write(t, "a.json", traceOf("", span(9, "1", "a")), "b.json", traceOf("", span(9, "2", "b")),
		"c.json", traceOf(`"distributedInfo": {"rank": 3}, `, span(9, "2", "c")))
	set := find(t, paths[0])
	set.Files = append(set.Files, find(t, paths[1]).Files[0], find(t, paths[2]).Files[0])
	_, res := merged(t, set, Options{})
	for i, want := range []string{"Unknown", "Unknown #2", "R03"} {
		if res.Files[i].Label != want {
			t.Errorf("file %d: label %q, want %q", i, res.Files[i].Label, want)
		}
	}
}

func TestBrokenInputs(t *testing.T) {
	whole := traceOf("", span(9, "1", "a"), span(9, "2", "b"))
	tests := []struct {
		name, text, reason string
		events             int64
	}{
		{"cut in an event", whole[:len(whole)-20], "the file ends in the middle of an event", 1},
		{"cut between events", traceOf("", span(9, "1", "a"))[:len(traceOf("", span(9, "1", "a")))-2], "the file ends before traceEvents does", 1},
		{"empty", "", "the file is empty", 0},
		{"not a trace", "hello", "not a trace: it begins with 68 65 6c 6c, neither JSON nor gzip nor zstd", 0},
		{"cut in the metadata", `{"a": [1, 2`, "the file ends in its metadata", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, _ := write(t, "id-TP-0.trace.json", whole, "id-TP-1.trace.json", tt.text)
			d, res := merged(t, find(t, dir), Options{})
			p := res.Files[1].Problem
			if p == nil || p.Reason != tt.reason || res.Files[1].Events != tt.events || !res.Incomplete() {
				t.Fatalf("problem %v, %d events", p, res.Files[1].Events)
			}
			if got := int64(len(d.Events)); got != 2+tt.events {
				t.Errorf("%d events in the output", got)
			}
			rank := stepscope(t, d).Ranks[1]
			if rank.Complete || rank.Problem == nil || *rank.Problem != *p {
				t.Errorf("the metadata says %+v", rank)
			}
		})
	}
}

// A file truncated anywhere contributes its whole events, and the merged file is complete.
func TestTruncatedAtEveryByte(t *testing.T) {
	events := []string{span(9, "1", "a"), span(9, "2", "b"), `{"ph": "s", "id": 3, "pid": 9, "tid": 1, "ts": 2.5, "cat": "ac2g", "name": "ac2g"}`}
	text := traceOf(`"baseTimeNanoseconds": 7, `, events...)
	ends := []int{}
	at := 0
	for _, e := range events {
		at += strings.Index(text[at:], e) + len(e)
		ends = append(ends, at)
	}
	for n := range len(text) {
		dir, _ := write(t, "id-TP-0.trace.json", text, "id-TP-1.trace.json", text[:n])
		d, res := merged(t, find(t, dir), Options{})
		want := int64(0)
		for _, end := range ends {
			if n >= end {
				want++
			}
		}
		if res.Files[1].Events != want || int64(len(d.Events)) != 3+want || res.Files[1].Problem == nil {
			t.Fatalf("cut at %d: %d events of it, want %d; problem %v", n, res.Files[1].Events, want, res.Files[1].Problem)
		}
	}
}

func TestMissingRanks(t *testing.T) {
	info := func(rank int) string {
		return fmt.Sprintf(`"distributedInfo": {"rank": %d, "world_size": 4}, `, rank)
	}
	dir, _ := write(t, "id-TP-0.trace.json", traceOf(info(0), span(9, "1", "a")),
		"id-TP-2.trace.json", traceOf(info(2), span(9, "1", "a")))
	d, res := merged(t, find(t, dir), Options{Missing: []string{"gone.json"}})
	var got []string
	for _, m := range stepscope(t, d).Missing {
		got = append(got, m.String())
	}
	want := []string{
		"TP01: no file of this rank, judging by the names of the others",
		"rank 3: distributedInfo says 4 ranks, 2 files have one of them",
		"gone.json: no such file",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || !res.Incomplete() {
		t.Errorf("missing:\n%s", strings.Join(got, "\n"))
	}
}

// If names count ranks as distributedInfo does, each missing rank is reported once.
func TestMissingOfMany(t *testing.T) {
	dir, _ := write(t, "run_rank-3.trace.json", traceOf(`"distributedInfo": {"rank": 3, "world_size": 9}, `, span(9, "1", "a")))
	d, _ := merged(t, find(t, dir), Options{})
	var got []string
	for _, m := range set.Together(stepscope(t, d).Missing) {
		got = append(got, m.String())
	}
	want := []string{
		"TP00: no file of this rank, judging by the names of the others", "TP01: no file of this rank, judging by the names of the others", "TP02: no file of this rank, judging by the names of the others",
		"5 ranks (rank 4 to rank 8): distributedInfo says 9 ranks, 1 file has one of them",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("missing:\n%s", strings.Join(got, "\n"))
	}
}

// A merged file contains all ranks, although its distributedInfo comes from one.
func TestMergedLacksNothing(t *testing.T) {
	dir := t.TempDir()
	if _, err := File(context.Background(), testSet(t, "graph_work"), filepath.Join(dir, "any.json.gz"), Options{}); err != nil {
		t.Fatal(err)
	}
	window := find(t, filepath.Join(dir, "any.json.gz"))
	head := set.ReadHead(window.Files[0], nil)
	if missing := set.FindMissing(window, []*set.Head{head}); len(missing) > 0 {
		t.Errorf("missing %v", missing)
	}
	if l := set.Labels([]*set.Head{head}); l[0] != "merged" {
		t.Errorf("label %q", l[0])
	}
}

func TestNothingHalfWritten(t *testing.T) {
	left := func(dir string, want int) {
		t.Helper()
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != want {
			t.Errorf("%v, %v left behind", entries, err)
		}
	}
	out := t.TempDir()
	path := filepath.Join(out, "merged.json.gz")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := File(ctx, testSet(t, "graphs"), path, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	left(out, 0)
	dir, paths := write(t, "id-TP-0.trace.json", "", "id-TP-1.trace.json", "{")
	if _, err := File(context.Background(), find(t, dir), path, Options{}); !errors.Is(err, ErrNothing) {
		t.Errorf("nothing readable: %v", err)
	}
	if _, err := Perfetto(context.Background(), find(t, dir), path, Options{}); !errors.Is(err, ErrNothing) {
		t.Errorf("nothing readable: %v", err)
	}
	left(out, 0)
	if _, err := File(context.Background(), find(t, dir), paths[1], Options{}); err == nil || !strings.Contains(err.Error(), "is one of the inputs") {
		t.Errorf("an input as output: %v", err)
	}
	left(dir, 2)
}

// A reader that disconnects ends the merge with its error.
func TestWriteError(t *testing.T) {
	_, err := To(context.Background(), testSet(t, "graphs"), failing{}, Options{})
	if !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }
