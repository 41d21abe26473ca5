package set

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/base/progress"
)

// file describes a trace by the properties that determine its window: its name, the world in it, and its start in ms.
type file struct {
	name  string
	world string // RANK/SIZE; "": the file does not say
	begin int64
	event string // category of its events
}

const broken = "broken" // as world: the file has no text

func write(t *testing.T, files ...file) string {
	t.Helper()
	d := t.TempDir()
	for _, f := range files {
		world := ""
		if r, size, ok := strings.Cut(f.world, "/"); ok {
			world = fmt.Sprintf(`"distributedInfo": {"rank": %s, "world_size": %s}, `, r, size)
		}
		text := fmt.Sprintf(`{%s"baseTimeNanoseconds": 1700000000000000000, "traceEvents": [{"ph": "X", "pid": 1, "tid": 1, "ts": %d, "dur": 1, "name": "a", "cat": %q}]}`, world, f.begin*1000, f.event)
		if f.world == broken {
			text = ""
		}
		if err := os.WriteFile(filepath.Join(d, f.name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// TestWindows: files without a window id in their names are grouped by content.
func TestWindows(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []file
		want  string
	}{
		{"vLLM: two windows of two ranks, and the API process in each", []file{
			{"rank0.1700000003.pt.trace.json", "0/2", 1000, "kernel"}, {"rank1.1700000003.pt.trace.json", "1/2", 1020, "kernel"},
			{"vm_7.async_llm.1700000003.pt.trace.json", "", 980, "cpu_op"},
			{"rank0.1700000029.pt.trace.json", "0/2", 25000, "kernel"}, {"rank1.1700000029.pt.trace.json", "1/2", 25300, "kernel"},
			{"vm_7.async_llm.1700000029.pt.trace.json", "", 24000, "cpu_op"},
		}, "1700000025: rank0.1700000029.pt.trace.json rank1.1700000029.pt.trace.json; 1700000001: rank0.1700000003.pt.trace.json rank1.1700000003.pt.trace.json"},
		{"the second window lacks a rank", []file{
			{"rank0.1700000003.pt.trace.json", "0/2", 1000, "kernel"}, {"rank1.1700000003.pt.trace.json", "1/2", 1001, "kernel"}, {"rank1.1700000011.pt.trace.json", "1/2", 9000, "kernel"},
		}, "1700000009: rank1.1700000011.pt.trace.json; 1700000001: rank0.1700000003.pt.trace.json rank1.1700000003.pt.trace.json"},
		{"a rank whose file is empty", []file{
			{"rank0.1700000003.pt.trace.json", "0/2", 1000, "kernel"}, {"rank1.1700000003.pt.trace.json", broken, 0, ""},
		}, "1700000001: rank0.1700000003.pt.trace.json rank1.1700000003.pt.trace.json"},
		{"the ranks are hosts whose clocks are an hour apart", []file{
			{"rank0.1700000003000.pt.trace.json", "0/2", 1000, "kernel"}, {"rank1.1700003603000.pt.trace.json", "1/2", 3_601_000, "kernel"},
		}, "1700000001: rank0.1700000003000.pt.trace.json rank1.1700003603000.pt.trace.json"},
		{"two windows in one second", []file{
			{"rank0.1700000003000.pt.trace.json", "0/1", 1100, "kernel"}, {"rank0.1700000003400.pt.trace.json", "0/1", 1600, "kernel"},
		}, "1700000001.600000000: rank0.1700000003400.pt.trace.json; 1700000001.100000000: rank0.1700000003000.pt.trace.json"},
		{"names that say no rank, where the files do", []file{
			{"a_1.1700000003000.pt.trace.json", "1/2", 1000, "kernel"}, {"b_1.1700000003000.pt.trace.json", "0/2", 1000, "kernel"},
			{"b_1.1700000009000.pt.trace.json", "0/2", 7000, "kernel"}, {"a_1.1700000009000.pt.trace.json", "1/2", 7000, "kernel"},
		}, "a_1.1700000009000: a_1.1700000009000.pt.trace.json b_1.1700000009000.pt.trace.json; a_1.1700000003000: a_1.1700000003000.pt.trace.json b_1.1700000003000.pt.trace.json"},
		{"another program's trace, which has GPU work", []file{
			{"rank0.1700000003000.pt.trace.json", "0/1", 1000, "kernel"}, {"vm_7.1700000003000.pt.trace.json", "", 900, "kernel"},
		}, "1700000001: rank0.1700000003000.pt.trace.json; vm_7.1700000003000: vm_7.1700000003000.pt.trace.json"},
		{"an API process alone", []file{{"vm_7.async_llm.1700000003000.pt.trace.json", "", 1000, "cpu_op"}},
			"vm_7.async_llm.1700000003000: vm_7.async_llm.1700000003000.pt.trace.json"},
		{"a merged file without an id", []file{{"rank0.1700000003000.pt.trace.json", "0/1", 1000, "kernel"}, {"merged-.trace.json", "", 1000, "kernel"}},
			"1700000001: rank0.1700000003000.pt.trace.json"},
		{"names without an id", []file{{"TP-0.trace.json", "0/2", 1000, "kernel"}, {"TP-1.trace.json", "1/2", 1000, "kernel"}},
			"1700000001: TP-0.trace.json TP-1.trace.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sets, err := Find([]string{write(t, c.files...)})
			if err != nil {
				t.Fatal(err)
			}
			if got := brief(sets); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestVLLM: whichever file of a window was written last, the worker's file determines the window.
func TestVLLM(t *testing.T) {
	const rank0, api = "rank0.1795738198042636273.pt.trace.json.gz", "vm_9084.async_llm.1795738197808341937.pt.trace.json.gz"
	for _, last := range []string{rank0, api} {
		d := t.TempDir()
		for _, name := range []string{rank0, api} {
			text, err := os.ReadFile(filepath.Join("../../../testdata/windows/vllm_cpu", name))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(d, name), text, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		late := time.Now().Add(time.Hour)
		if err := os.Chtimes(filepath.Join(d, last), late, late); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"", "1795738196"} {
			window, missing, err := Choose(&progress.Console{W: &strings.Builder{}}, []string{d}, id)
			if err != nil || len(missing) > 0 {
				t.Fatal(err, missing)
			}
			if got, want := brief([]Set{window}), "1795738196: "+rank0; got != want {
				t.Errorf("%s last, --profile-id %q: got %s, want %s", last, id, got, want)
			}
			if n := window.Notes; len(n) != 1 || filepath.Base(n[0].Source) != api {
				t.Errorf("notes %v, want one of %s", n, api)
			}
		}
	}
}

// TestBelow: from a directory of windows, the newest or the requested one is taken.
func TestBelow(t *testing.T) {
	for _, c := range []struct {
		name   string
		begins map[string]int64 // start of each directory's trace, ms
		id     string
		want   string // the directory; "": none
		said   string
	}{
		{"one", map[string]int64{"17.5": 0}, "", "17.5", "has no traces itself: using "},
		{"the newest", map[string]int64{"17.5": 0, "29.5": 9000, "18.5": 4000}, "", "29.5", "(others: 18.5, 17.5; choose with --profile-id)"},
		{"by its id", map[string]int64{"17.5": 0, "29.5": 9000}, "w17.5", "17.5", ""},
		{"by its directory", map[string]int64{"17.5": 0, "29.5": 9000}, "17.5", "17.5", ""},
		{"an id that none has", map[string]int64{"17.5": 0, "29.5": 9000}, "4", "", ""},
		{"servers that were recorded at once", map[string]int64{"host-1": 0, "host-2": 20}, "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := t.TempDir()
			for name, begin := range c.begins {
				if err := os.Rename(write(t, file{"w" + name + "-TP-0.trace.json", "", begin, "kernel"}), filepath.Join(d, name)); err != nil {
					t.Fatal(err)
				}
			}
			var said strings.Builder
			window, _, err := Choose(&progress.Console{W: &said}, []string{d}, c.id)
			switch {
			case c.want == "" && (err == nil || !strings.Contains(err.Error(), "subdirectories have some: give ")):
				t.Errorf("took %v, %v", window.Files, err)
			case c.want == "":
			case err != nil:
				t.Fatal(err)
			case filepath.Base(filepath.Dir(window.Files[0].Path)) != c.want || !strings.Contains(said.String(), c.said):
				t.Errorf("took %s, said %s", window.Files[0].Path, said.String())
			}
		})
	}
}
