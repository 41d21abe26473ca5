package read

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// TestArgs: the args of a span are those of its own event, with what the trace does not keep.
func TestArgs(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "traces", "graph_work", "*.json.gz"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	traces, err := ReadFile(t.Context(), set.File{Path: files[0]}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	tr, registers := traces[0], 0
	for i := 0; i < len(tr.Spans); i += len(tr.Spans)/40 + 1 {
		s := &tr.Spans[i]
		args, err := Args(t.Context(), tr, int32(i))
		if err != nil {
			t.Fatalf("span %d, %s: %v", i, tr.Strings.Get(s.Name), err)
		}
		for _, a := range args {
			switch a.Name {
			case "correlation":
				if a.Value != strconv.FormatInt(s.Corr, 10) {
					t.Errorf("span %d: correlation %s, want %d", i, a.Value, s.Corr)
				}
			case "registers per thread":
				registers++
			}
		}
	}
	if registers == 0 {
		t.Error("no kernel has registers")
	}
	tr.Spans[0].Dur++
	if args, err := Args(t.Context(), tr, 0); !errors.Is(err, ErrNoArgs) {
		t.Errorf("of another span: %v, %v", args, err)
	}
}

// TestArgsText: nested values stay JSON, texts lose their quotes, and times may count from a base that comes last. Of
// two equal events the one on the span's row is meant.
func TestArgsText(t *testing.T) {
	event := func(tid, args string) string {
		return `{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":` + tid + `,"ts":5.5,"dur":2,"args":` + args + `}`
	}
	path := filepath.Join(t.TempDir(), "a.json")
	text := `{"traceEvents":[` + event("1", `{}`) + `,` + event("2", `{"Input Dims": [[2, 3], []], "Concrete Inputs": ["", "a\"b"], "note": "x\ny" , "none":null}`) + `],"baseTimeNanoseconds":1700000000000000000}`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	traces, err := ReadFile(t.Context(), set.File{Path: path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	tr := traces[0]
	for _, base := range []int64{tr.Source.BaseNS, 0} { // 0: that of an earlier stretch
		tr.Source.BaseNS = base
		for i := range tr.Spans {
			got, err := Args(t.Context(), tr, int32(i))
			want := []Arg{}
			if tr.Tracks[tr.Spans[i].Track].TID == "2" {
				want = []Arg{{"Input Dims", "[[2, 3], []]"}, {"Concrete Inputs", `["", "a\"b"]`}, {"note", "x\ny"}, {"none", "null"}}
			}
			if err != nil || len(got) != len(want) {
				t.Fatalf("%q, %v; want %q", got, err, want)
			}
			for k := range want {
				if got[k] != want[k] {
					t.Errorf("%q, want %q", got[k], want[k])
				}
			}
		}
	}
	if tr.Spans[0].Cat != trace.CPUOp {
		t.Error("no CPU op")
	}
}

// TestArgsRow: the args of a span of an Nsight Systems export are the columns of its row, without those that are NULL.
func TestArgsRow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made.sqlite")
	database(t, path, `CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)`,
		`INSERT INTO StringIds VALUES (1, 'gemm')`,
		`CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, "end" INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER,
			globalPid INTEGER, demangledName INTEGER, shortName INTEGER, registersPerThread INTEGER, graphId INTEGER)`,
		`CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER)`,
		`INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000)`,
		`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 200, 0, 7, 5, 281474976710656, 1, 1, 96, NULL), (300, 400, 0, 7, 6, 281474976710656, 1, 1, 32, 9)`)
	traces, err := ReadFile(t.Context(), set.File{Path: path}, Options{})
	if err != nil || len(traces[0].Spans) != 2 {
		t.Fatal(traces, err)
	}
	for i, want := range [][]Arg{{{"registersPerThread", "96"}}, {{"registersPerThread", "32"}, {"graphId", "9"}}} {
		got, err := Args(t.Context(), traces[0], int32(i))
		if err != nil || len(got) != 8+len(want) || !slices.Equal(got[8:], want) {
			t.Errorf("span %d: %q, %v; want %q", i, got, err, want)
		}
	}
}
