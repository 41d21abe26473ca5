package explain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/testing/packedtest"

	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/tracefile/merge"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// textOf returns one rank's file of a set in the repository, decompressed.
func textOf(t testing.TB, capture string, rank int) []byte {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(testTraces, capture, fmt.Sprintf("*-TP-%d.trace.json*", rank)))
	if len(paths) != 1 {
		t.Fatalf("%s has no file of rank %d", capture, rank)
	}
	return packedtest.Read(t, paths[0])
}

// dirOf writes files, given as alternating NAME and text, into a new directory.
func dirOf(t testing.TB, files ...any) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, files[i].(string)), files[i+1].([]byte), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// remeasured changes the last digit of durations, which are in µs. Two recordings never have equal durations; a file that has those of
// another is its copy.
func remeasured(text []byte) []byte {
	return regexp.MustCompile(`("dur":\s*\d+\.\d\d)\d`).ReplaceAll(text, []byte("${1}7"))
}

// TestDataParallel has two replicas that share only the capture: a late rank of one is not compared with ranks of the
// other.
func TestDataParallel(t *testing.T) {
	name := func(tp, dp int) string { return fmt.Sprintf("7-TP-%d-DP-%d.trace.json", tp, dp) }
	slow, fine := []([]byte){textOf(t, "graph_work", 0), textOf(t, "graph_work", 1)}, []([]byte){textOf(t, "graphs", 0), textOf(t, "graphs", 1)}
	for _, c := range []struct {
		name string
		dir  string
		want []string
	}{
		{"both replicas late", dirOf(t, name(0, 0), slow[0], name(1, 0), slow[1], name(0, 1), remeasured(slow[0]), name(1, 1), remeasured(slow[1])),
			[]string{"work 6-14"}}, // one finding on ranks 1 and 3
		{"the second replica late", dirOf(t, name(0, 0), fine[0], name(1, 0), fine[1], name(0, 1), slow[0], name(1, 1), slow[1]),
			[]string{"rank 3 work 6-14"}},
		{"no replica late", dirOf(t, name(0, 0), fine[0], name(1, 0), fine[1], name(0, 1), remeasured(fine[0]), name(1, 1), remeasured(fine[1])), nil},
		{"pipeline stages", dirOf(t, "7-TP-0-PP-0.trace.json", slow[0], "7-TP-1-PP-0.trace.json", slow[1], "7-TP-0-PP-1.trace.json", fine[0], "7-TP-1-PP-1.trace.json", fine[1]),
			[]string{"rank 1 work 6-14"}},
		{"split by stage", dirOf(t, "7-TP-0-EXTEND.trace.json", fine[0], "7-TP-1-EXTEND.trace.json", fine[1], "7-TP-0-DECODE.trace.json", slow[0], "7-TP-1-DECODE.trace.json", slow[1]),
			[]string{"rank 1 work 17-25"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := analyzed(t, readDir(t, c.dir))
			got := stragglersOf(r)
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q%s", got, c.want, describe(r))
			}
			if late := lateRanks(r); c.name == "both replicas late" && !slices.Equal(late, []int{1, 3}) {
				t.Errorf("got late ranks %v, want 1 and 3%s", late, describe(r))
			}
			if (len(c.want) == 0) != has(r, result.Balanced) {
				t.Errorf("got balanced %v, want %v%s", len(c.want) != 0, len(c.want) == 0, describe(r))
			}
		})
	}
}

// TestIncomplete removes or truncates files.
func TestIncomplete(t *testing.T) {
	read := func(t *testing.T, dir string) *result.Report {
		sets, err := set.Find([]string{dir})
		if err != nil {
			t.Fatal(err)
		}
		ts, _, err := read.ReadSet(context.Background(), sets[0], read.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var missing []string
		for _, h := range sets[0].Holes() {
			missing = append(missing, h.Rank.String())
		}
		r, err := Analyze(ts, Options{Missing: missing})
		if err != nil {
			t.Fatal(err)
		}
		checkIdentities(t, r)
		return r
	}
	skew := [][]byte{textOf(t, "compute_skew", 0), textOf(t, "compute_skew", 1), textOf(t, "compute_skew", 2), textOf(t, "compute_skew", 3)}
	name := func(i int) string { return fmt.Sprintf("7-TP-%d.trace.json", i) }
	work := func(r *result.Report) []string {
		return stragglersOf(r, result.CauseWork, result.CauseDevice, result.CauseCommunication)
	}

	t.Run("a rank missing", func(t *testing.T) {
		r := read(t, dirOf(t, name(0), skew[0], name(2), skew[2], name(3), skew[3]))
		if got := work(r); !slices.Equal(got, []string{"rank 1 work 7-13"}) {
			t.Errorf("got %q, want rank 1 work 7-13 alone%s", got, describe(r))
		}
		if r.Source.Complete || !slices.Equal(r.Source.Missing, []string{"TP01"}) || !has(r, result.Data) {
			t.Errorf("the report does not name the missing rank TP01: %+v%s", r.Source, describe(r))
		}
	})
	t.Run("the late rank missing", func(t *testing.T) {
		r := read(t, dirOf(t, name(0), skew[0], name(1), skew[1], name(3), skew[3]))
		if got := work(r); len(got) != 0 {
			t.Errorf("got %q, want none%s", got, describe(r))
		}
	})
	for cut := range 4 {
		t.Run(fmt.Sprintf("rank %d cut", cut), func(t *testing.T) {
			var files []any
			for i, text := range skew {
				if i == cut {
					text = text[:len(text)*9/10]
				}
				files = append(files, name(i), text)
			}
			r := read(t, dirOf(t, files...))
			got := work(r)
			if len(got) != 1 || !strings.HasPrefix(got[0], "rank 2 work 7-") {
				t.Errorf("got %q, want rank 2 work from step 7 on alone%s", got, describe(r))
			}
			if r.Source.Complete || !has(r, result.Data) {
				t.Errorf("the report does not mention the cut file%s", describe(r))
			}
		})
	}
	t.Run("a single rank", func(t *testing.T) {
		r := read(t, dirOf(t, name(0), skew[2]))
		if got := stragglersOf(r); len(got) > 0 || has(r, result.Balanced) {
			t.Errorf("got a late or balanced finding for one rank, want neither%s", describe(r))
		}
	})
	t.Run("a rank without GPU work", func(t *testing.T) {
		ts := realSet(t, "compute_skew")
		cpuOnly(ts[1])
		r := analyzed(t, ts)
		if got := work(r); !slices.Equal(got, []string{"rank 2 work 7-13"}) || !has(r, result.Data) {
			t.Errorf("got %q, want rank 2 work 7-13 and a finding about the data%s", got, describe(r))
		}
	})
	t.Run("no GPU work at all", func(t *testing.T) {
		ts := realSet(t, "stacks")
		for i := range ts {
			cpuOnly(ts[i])
		}
		r := analyzed(t, ts)
		if len(r.Steps) == 0 || r.Source.StepRule != trace.ByAnnotations || len(stragglersOf(r)) > 0 || has(r, result.Balanced) || !has(r, result.Data) {
			t.Errorf("want steps by annotations and only findings about the data%s", describe(r))
		}
		for i := range ts {
			ts[i].Spans = slices.DeleteFunc(ts[i].Spans, func(s trace.Span) bool { return s.Cat == trace.UserAnnotation || s.Cat.Launch() })
		}
		if _, err := Analyze(ts, Options{}); !errors.Is(err, ErrNothing) {
			t.Errorf("neither GPU work nor steps: got error %v, want %v", err, ErrNothing)
		}
	})
}

func cpuOnly(t *trace.Trace) {
	t.Spans = slices.DeleteFunc(t.Spans, func(s trace.Span) bool { return s.Cat.OnGPU() })
}

// TestNoAnnotations removes the names of steps.
func TestNoAnnotations(t *testing.T) {
	strip := func(ts []*trace.Trace) []*trace.Trace {
		for _, t := range ts {
			t.Spans = slices.DeleteFunc(t.Spans, func(s trace.Span) bool {
				return s.Cat == trace.UserAnnotation || s.Cat == trace.GPUAnnotation
			})
		}
		return ts
	}
	// Steps are now the repeating passes, including the prefill.
	r := analyzed(t, strip(realSet(t, "graph_work")))
	if got := stragglersOf(r); !slices.Equal(got, []string{"rank 1 work 6-14"}) || r.Source.StepRule != trace.ByPattern {
		t.Errorf("graphs: got %q, steps by %s, want rank 1 work 6-14, steps by pattern%s", got, r.Source.StepRule, describe(r))
	}
	if r := analyzed(t, strip(realSet(t, "graphs"))); !has(r, result.Balanced) || len(stragglersOf(r)) > 0 {
		t.Errorf("graphs: want balanced and no late rank%s", describe(r))
	}
	if r := analyzed(t, strip(realSet(t, "compute_skew"))); !slices.Contains(stragglersOf(r), "rank 2 work 7-13") {
		t.Errorf("op by op: got %q, want rank 2 work 7-13 among them%s", stragglersOf(r), describe(r))
	}
	// Without sampling they are the graph launches; the prefill before them is outside.
	mute := func(ts []*trace.Trace) []*trace.Trace {
		for _, t := range strip(ts) {
			t.Spans = slices.DeleteFunc(t.Spans, func(s trace.Span) bool { return strings.Contains(t.Strings.Get(s.Name), "ArgMax") })
		}
		return ts
	}
	r = analyzed(t, mute(realSet(t, "graph_work")))
	if got := stragglersOf(r); !slices.Equal(got, []string{"rank 1 work 5-13"}) || r.Source.StepRule != trace.ByGraphs {
		t.Errorf("graph launches: got %q, steps by %s, want rank 1 work 5-13, steps by graphs%s", got, r.Source.StepRule, describe(r))
	}
	// Launched op by op, nothing separates steps then: no rank can be called late from a step on, nor can the capture
	// be called balanced.
	if r := analyzed(t, mute(realSet(t, "compute_skew"))); has(r, result.Balanced) || len(stragglersOf(r)) > 0 || !has(r, result.Data) {
		t.Errorf("no steps: want findings about the data only%s", describe(r))
	}
}

// TestMerged compares a merged file with its parts.
func TestMerged(t *testing.T) {
	for _, capture := range []string{"graph_work", "compute_skew"} {
		want := analyzed(t, realSet(t, capture))
		sets, err := set.Find([]string{filepath.Join(testTraces, capture)})
		if err != nil {
			t.Fatal(err)
		}
		ours := filepath.Join(t.TempDir(), "merged-7.trace.json.gz")
		if _, err := merge.File(context.Background(), sets[0], ours, merge.Options{}); err != nil {
			t.Fatal(err)
		}
		for name, path := range map[string]string{"ours": ours, "SGLang's": sglangMerged(t, sets[0])} {
			t.Run(capture+" "+name, func(t *testing.T) {
				got := analyzed(t, readDir(t, path))
				sameFindings(t, got, want, 0)
				if !slices.Equal(got.Source.Ranks, want.Source.Ranks) {
					t.Errorf("got ranks %q, want %q", got.Source.Ranks, want.Source.Ranks)
				}
				if g, w := fmt.Sprintf("%+v", got.Times), fmt.Sprintf("%+v", want.Times); g != w {
					t.Errorf("got times\n%s\nwant\n%s", g, w)
				}
				if g, w := fmt.Sprintf("%+v", got.Kernels), fmt.Sprintf("%+v", want.Kernels); g != w {
					t.Errorf("got kernels\n%.2000s\nwant\n%.2000s", g, w)
				}
				if g, w := fmt.Sprintf("%+v", got.CPU), fmt.Sprintf("%+v", want.CPU); g != w {
					t.Errorf("got CPU\n%.2000s\nwant\n%.2000s", g, w)
				}
			})
		}
	}
}

// sglangMerged merges files as SGLang does, with labelled pids, unchanged ids and the metadata of the first file.
func sglangMerged(t *testing.T, set set.Set) string {
	t.Helper()
	var out map[string]any
	var events []any
	for i, f := range set.Files {
		dec := json.NewDecoder(bytes.NewReader(packedtest.Read(t, f.Path)))
		dec.UseNumber()
		var d map[string]any
		if err := dec.Decode(&d); err != nil {
			t.Fatal(err)
		}
		for _, e := range d["traceEvents"].([]any) {
			e := e.(map[string]any)
			if pid, ok := e["pid"]; ok {
				e["pid"] = fmt.Sprintf("[%s] %v", f.Name.Rank, pid)
			}
			events = append(events, e)
		}
		if i == 0 {
			out = d
		}
	}
	out["traceEvents"] = events
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dirOf(t, "merged-8.trace.json", b.Bytes()), "merged-8.trace.json")
}
