package set

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/base/progress"
)

// dir creates empty files, each a minute younger than the previous one.
func dir(t *testing.T, names ...string) string {
	t.Helper()
	d := t.TempDir()
	for i, n := range names {
		path := filepath.Join(d, n)
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(1_700_000_000, 0).Add(time.Duration(i) * time.Minute)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// brief formats sets as "ID: file file; ID: …".
func brief(sets []Set) string {
	var parts []string
	for _, s := range sets {
		var files []string
		for _, f := range s.Files {
			files = append(files, filepath.Base(f.Path))
		}
		parts = append(parts, s.ID+": "+strings.Join(files, " "))
	}
	return strings.Join(parts, "; ")
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []string
		want  string
		notes []string // substrings of the notes of the first set
	}{
		{"ranks in order", []string{"7-TP-1.trace.json.gz", "7-TP-10.trace.json.gz", "7-TP-2.trace.json.gz", "7-TP-0.trace.json.gz"},
			"7: 7-TP-0.trace.json.gz 7-TP-1.trace.json.gz 7-TP-2.trace.json.gz 7-TP-10.trace.json.gz", nil},
		{"the newest window first", []string{"9-TP-0.trace.json.gz", "5-TP-0.trace.json.gz", "5-TP-1.trace.json.gz"},
			"5: 5-TP-0.trace.json.gz 5-TP-1.trace.json.gz; 9: 9-TP-0.trace.json.gz", nil},
		{"prefixes are part of the window", []string{"a-7-TP-0.trace.json", "b-7-TP-0.trace.json"},
			"b-7: b-7-TP-0.trace.json; a-7: a-7-TP-0.trace.json", nil},
		{"coordinates", []string{"7-TP-1-DP-1.trace.json", "7-TP-0-DP-1.trace.json", "7-TP-1-DP-0.trace.json", "7-TP-0-DP-0.trace.json"},
			"7: 7-TP-0-DP-0.trace.json 7-TP-1-DP-0.trace.json 7-TP-0-DP-1.trace.json 7-TP-1-DP-1.trace.json", nil},
		{"stages side by side", []string{"7-TP-0-DECODE.trace.json", "7-TP-0-EXTEND.trace.json"},
			"7: 7-TP-0-DECODE.trace.json 7-TP-0-EXTEND.trace.json", nil},
		{"a merged file beside its parts", []string{"7-TP-0.trace.json.gz", "merged-7.trace.json.gz"},
			"7: 7-TP-0.trace.json.gz", []string{"a merged file"}},
		{"a merged file alone", []string{"merged-7.trace.json.gz"}, "7: merged-7.trace.json.gz", nil},
		{"graph captures", []string{"7-TP-0.trace.json.gz", "cuda_graph_capture-7-TP-0.trace.json.gz"},
			"7: 7-TP-0.trace.json.gz", []string{"a CUDA graph capture"}},
		{"other JSON", []string{"7-TP-0.trace.json.gz", "truth.json", "notes.txt", "x.json.gz"}, "7: 7-TP-0.trace.json.gz", nil},
		{"torch's handler", []string{"w_rank0.1700000000000000000.pt.trace.json", "w_rank1.1700000000000000123.pt.trace.json"},
			"w-1700000000: w_rank0.1700000000000000000.pt.trace.json w_rank1.1700000000000000123.pt.trace.json", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			sets, err := Find([]string{dir(t, c.files...)})
			if err != nil {
				t.Fatal(err)
			}
			if got := brief(sets); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			for _, w := range c.notes {
				found := false
				for _, n := range sets[0].Notes {
					found = found || strings.Contains(n.Text(), w)
				}
				if !found {
					t.Errorf("no note of %q: %v", w, sets[0].Notes)
				}
			}
			if len(sets[0].Notes) != len(c.notes) {
				t.Errorf("notes %v, want %d", sets[0].Notes, len(c.notes))
			}
		})
	}
}

// TestFindNamed: files given by path are used whatever their names.
func TestFindNamed(t *testing.T) {
	d := dir(t, "merged-7.trace.json", "odd.json")
	odd, merged := filepath.Join(d, "odd.json"), filepath.Join(d, "merged-7.trace.json")
	sets, err := Find([]string{odd, merged, odd})
	if err != nil {
		t.Fatal(err)
	}
	if got := brief(sets); got != "odd: odd.json; 7: merged-7.trace.json" {
		t.Error(got)
	}
	if n := sets[0].Notes; len(n) != 1 || n[0].Text() != "given twice, read once" {
		t.Errorf("notes %v", n)
	}
}

func TestFindNothing(t *testing.T) {
	if _, err := Find([]string{dir(t)}); !errors.Is(err, ErrNone) {
		t.Errorf("an empty directory: %v", err)
	}
	if _, err := Find([]string{dir(t, "truth.json")}); !errors.Is(err, ErrNone) {
		t.Errorf("no trace in it: %v", err)
	}
	if _, err := Find([]string{filepath.Join(t.TempDir(), "gone")}); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("no such directory: %v", err)
	}
}

func TestHoles(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []string
		want  []string
	}{
		{"whole", []string{"7-TP-0.trace.json", "7-TP-1.trace.json"}, nil},
		{"one", []string{"7-TP-0.trace.json", "7-TP-2.trace.json"}, []string{"TP01"}},
		{"the first", []string{"7-TP-1.trace.json"}, []string{"TP00"}},
		{"of a grid", []string{"7-TP-0-DP-0.trace.json", "7-TP-1-DP-0.trace.json", "7-TP-1-DP-1.trace.json"}, []string{"TP00-DP01"}},
		{"data-parallel attention", []string{"7-TP-0-DP-0.trace.json", "7-TP-1-DP-0.trace.json", "7-TP-2-DP-1.trace.json", "7-TP-3-DP-1.trace.json"}, nil},
		{"one rank each", []string{"7-TP-0-DP-0.trace.json", "7-TP-1-DP-1.trace.json"}, nil},
		{"of data-parallel attention", []string{"7-TP-0-DP-0.trace.json", "7-TP-1-DP-0.trace.json", "7-TP-2-DP-1.trace.json"}, []string{"TP03-DP01"}},
		{"of one stage", []string{"7-TP-0-DECODE.trace.json", "7-TP-1-DECODE.trace.json", "7-TP-0-EXTEND.trace.json"}, []string{"TP01 EXTEND"}},
		{"expert parallel", []string{"7-TP-0-EP-0.trace.json", "7-TP-3-EP-3.trace.json"}, nil},
		{"no names", []string{"a.trace.json"}, nil},
		{"no layout", []string{"7-TP-999999999.trace.json"}, nil},
	} {
		sets, err := Find([]string{dir(t, c.files...)})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range sets[0].Holes() {
			got = append(got, strings.TrimSpace(h.Rank.String()+" "+h.Stage))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestPlainNames: files without ranks in their names form one window if they begin together; windows of one process, or
// at different times, are separate.
func TestPlainNames(t *testing.T) {
	at := func(us int64) []byte {
		return fmt.Appendf(nil, `{"baseTimeNanoseconds": 1700000000000000000, "traceEvents": [{"ph": "X", "pid": 1, "tid": 1, "ts": %d, "dur": 1, "name": "a", "cat": "kernel"}]}`, us)
	}
	for _, c := range []struct {
		names []string
		times []int64 // us
		want  int     // number of files in the window
	}{
		{[]string{"a.pt.trace.json", "b.pt.trace.json", "c.pt.trace.json"}, []int64{5, 200_000, 90}, 3},
		{[]string{"host_71.1.pt.trace.json", "host_72.2.pt.trace.json"}, []int64{5, 700_000}, 2},
		{[]string{"host_71.1.pt.trace.json", "host_71.2.pt.trace.json"}, []int64{5, 700_000}, 1},
		{[]string{"a.pt.trace.json", "b.pt.trace.json"}, []int64{5, 4_000_000}, 1},
	} {
		d := t.TempDir()
		for i, name := range c.names {
			if err := os.WriteFile(filepath.Join(d, name), at(c.times[i]), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		var said strings.Builder
		window, _, err := Choose(&progress.Console{W: &said}, []string{d}, "")
		if err != nil || len(window.Files) != c.want {
			t.Errorf("%v: %d files, want %d; %v %s", c.names, len(window.Files), c.want, err, said.String())
		}
	}
}

// TestContentDecides: traces are found by content if no name in the directory gives a rank.
func TestContentDecides(t *testing.T) {
	one := []byte(`{"traceEvents": [{"ph": "X", "pid": 1, "tid": 1, "ts": 1700000000000000, "dur": 1, "name": "a", "cat": "kernel"}]}`)
	ranked := []byte(`{"distributedInfo": {"rank": 0, "world_size": 2}, "traceEvents": [{"ph": "X", "pid": 1, "tid": 1, "ts": 1700000000000000, "dur": 1, "name": "a", "cat": "kernel"}]}`)
	array := []byte(`[{"ph": "X", "pid": 1, "tid": 1, "ts": 1700000000000000, "dur": 1, "name": "a"}]`)
	truth := []byte(`{"rank": 1, "cause": [{"ts": 1}]}`)
	for _, c := range []struct {
		files map[string][]byte
		want  string
	}{
		{map[string][]byte{"trace.json": one, "truth.json": truth}, "trace.json"},
		{map[string][]byte{"decode.json": one}, "decode.json"},
		{map[string][]byte{"trace_view.json": array}, "trace_view.json"},
		{map[string][]byte{"trace (1).json": one}, "trace (1).json"},
		{map[string][]byte{"7-TP-0.trace (1).json": one, "server_args.json": truth}, "7-TP-0.trace (1).json"},
		{map[string][]byte{"7-TP-0.trace.json": one, "decode.json": one}, "7-TP-0.trace.json; a trace, but its name gives no rank, unlike the others here"},
		{map[string][]byte{"7-TP-0.trace.json": one, "7-TP-1.trace.json": one}, "7-TP-0.trace.json 7-TP-1.trace.json"},
		{map[string][]byte{"7-TP-0.trace.json": ranked, "7-TP-1.trace.json": ranked}, "7-TP-0.trace.json; a copy of 7-TP-0.trace.json under another rank's name"},
		{map[string][]byte{"7-TP-0.trace.json": one, "7-TP-1.trace.json": array}, "7-TP-0.trace.json 7-TP-1.trace.json"},
		{map[string][]byte{"truth.json": truth}, "no trace files found"},
	} {
		d := t.TempDir()
		for name, text := range c.files {
			if err := os.WriteFile(filepath.Join(d, name), text, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		sets, err := Find([]string{d})
		got := fmt.Sprint(err)
		if err == nil {
			_, got, _ = strings.Cut(brief(sets), ": ")
			for _, n := range sets[0].Notes {
				got += "; " + n.Text()
			}
		}
		if names, note, _ := strings.Cut(c.want, "; "); !strings.Contains(got, names) || !strings.Contains(got, note) || note == "" && err == nil && got != names {
			t.Errorf("%v: %q, want %q", slices.Collect(maps.Keys(c.files)), got, c.want)
		}
	}
}

// TestFindAscend: the directories of torch_npu's ranks form one window, wherever the path points. A second recording of
// the ranks in the same directory is a window of its own.
func TestFindAscend(t *testing.T) {
	home := t.TempDir()
	ascendRanks(t, home, 1700000000, "host_1_20260101_ascend_pt", "host_2_20260101_ascend_pt")
	for path, want := range map[string]string{
		home: "TP02 TP03", filepath.Join(home, "host_1_20260101_ascend_pt"): "TP03",
		filepath.Join(home, "host_2_20260101_ascend_pt", "ASCEND_PROFILER_OUTPUT"): "TP02",
	} {
		sets, err := Find([]string{path})
		if err != nil || len(sets) != 1 || sets[0].ID != "1700000000" {
			t.Fatalf("%s: %d sets, %v", path, len(sets), err)
		}
		if got := ranksOf(sets[0]); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	ascendRanks(t, home, 1700000060, "host_1_20260102_ascend_pt", "host_2_20260102_ascend_pt")
	sets, err := Find([]string{home})
	if err != nil || len(sets) != 2 || sets[0].ID != "1700000060" || ranksOf(sets[0]) != "TP02 TP03" || ranksOf(sets[1]) != "TP02 TP03" {
		t.Errorf("two recordings: %s, %v", brief(sets), err)
	}
}

func ranksOf(s Set) string {
	var got []string
	for _, f := range s.Files {
		got = append(got, f.Name.Rank.String())
	}
	return strings.Join(got, " ")
}

// ascendRanks writes the directories of two ranks, 3 and 2, which record at the time at, in s.
func ascendRanks(t *testing.T, home string, at int, workers ...string) {
	t.Helper()
	for rank, worker := range workers {
		dir := filepath.Join(home, worker, "ASCEND_PROFILER_OUTPUT")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf(`[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":%d,"ts":"%d000000.5","dur":1}]`, rank, at)
		for _, f := range []struct{ path, text string }{
			{filepath.Join(dir, "trace_view.json"), text}, {filepath.Join(dir, "communication.json"), "{}"},
			{filepath.Join(home, worker, fmt.Sprintf("profiler_info_%d.json", 3-rank)), "{}"},
		} {
			if err := os.WriteFile(f.path, []byte(f.text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
