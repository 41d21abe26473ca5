package explain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/testing/explaintest"
	"github.com/stepscope/stepscope/internal/testing/packedtest"
	"github.com/stepscope/stepscope/internal/tracefile/merge"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// remeasured changes the last digit of durations, which are in µs. Two recordings never have equal durations; a file that has those of
// another is its copy.
func remeasured(text []byte) []byte {
	return regexp.MustCompile(`("dur":\s*\d+\.\d\d)\d`).ReplaceAll(text, []byte("${1}7"))
}

// TestDataParallel has two replicas that share only the capture: a late rank of one is not compared with ranks of the
// other.
func TestDataParallel(t *testing.T) {
	name := func(tp, dp int) string { return fmt.Sprintf("7-TP-%d-DP-%d.trace.json", tp, dp) }
	slow, fine := []([]byte){explaintest.TextOf(t, "graph_work", 0), explaintest.TextOf(t, "graph_work", 1)}, []([]byte){explaintest.TextOf(t, "graphs", 0), explaintest.TextOf(t, "graphs", 1)}
	for _, c := range []struct {
		name string
		dir  string
		want []string
	}{
		{"both replicas late", explaintest.DirOf(t, name(0, 0), slow[0], name(1, 0), slow[1], name(0, 1), remeasured(slow[0]), name(1, 1), remeasured(slow[1])),
			[]string{"work 6-14"}}, // one finding on ranks 1 and 3
		{"the second replica late", explaintest.DirOf(t, name(0, 0), fine[0], name(1, 0), fine[1], name(0, 1), slow[0], name(1, 1), slow[1]),
			[]string{"rank 3 work 6-14"}},
		{"no replica late", explaintest.DirOf(t, name(0, 0), fine[0], name(1, 0), fine[1], name(0, 1), remeasured(fine[0]), name(1, 1), remeasured(fine[1])), nil},
		{"pipeline stages", explaintest.DirOf(t, "7-TP-0-PP-0.trace.json", slow[0], "7-TP-1-PP-0.trace.json", slow[1], "7-TP-0-PP-1.trace.json", fine[0], "7-TP-1-PP-1.trace.json", fine[1]),
			[]string{"rank 1 work 6-14"}},
		{"split by stage", explaintest.DirOf(t, "7-TP-0-EXTEND.trace.json", fine[0], "7-TP-1-EXTEND.trace.json", fine[1], "7-TP-0-DECODE.trace.json", slow[0], "7-TP-1-DECODE.trace.json", slow[1]),
			[]string{"rank 1 work 17-25"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := explaintest.Analyzed(t, explaintest.ReadDir(t, c.dir))
			got := explaintest.Stragglers(r)
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q%s", got, c.want, explaintest.Describe(r))
			}
			if late := explaintest.LateRanks(r); c.name == "both replicas late" && !slices.Equal(late, []int{1, 3}) {
				t.Errorf("got late ranks %v, want 1 and 3%s", late, explaintest.Describe(r))
			}
			if (len(c.want) == 0) != explaintest.Has(r, result.Balanced) {
				t.Errorf("got balanced %v, want %v%s", len(c.want) != 0, len(c.want) == 0, explaintest.Describe(r))
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
		r, err := explain.Analyze(ts, explain.Options{Missing: missing})
		if err != nil {
			t.Fatal(err)
		}
		explaintest.CheckIdentities(t, r)
		return r
	}
	skew := [][]byte{explaintest.TextOf(t, "compute_skew", 0), explaintest.TextOf(t, "compute_skew", 1), explaintest.TextOf(t, "compute_skew", 2), explaintest.TextOf(t, "compute_skew", 3)}
	name := func(i int) string { return fmt.Sprintf("7-TP-%d.trace.json", i) }
	work := func(r *result.Report) []string {
		return explaintest.Stragglers(r, result.CauseWork, result.CauseDevice, result.CauseCommunication)
	}

	t.Run("a rank missing", func(t *testing.T) {
		r := read(t, explaintest.DirOf(t, name(0), skew[0], name(2), skew[2], name(3), skew[3]))
		if got := work(r); !slices.Equal(got, []string{"rank 1 work 7-13"}) {
			t.Errorf("got %q, want rank 1 work 7-13 alone%s", got, explaintest.Describe(r))
		}
		if r.Source.Complete || !slices.Equal(r.Source.Missing, []string{"TP01"}) || !explaintest.Has(r, result.Data) {
			t.Errorf("the report does not name the missing rank TP01: %+v%s", r.Source, explaintest.Describe(r))
		}
	})
	t.Run("the late rank missing", func(t *testing.T) {
		r := read(t, explaintest.DirOf(t, name(0), skew[0], name(1), skew[1], name(3), skew[3]))
		if got := work(r); len(got) != 0 {
			t.Errorf("got %q, want none%s", got, explaintest.Describe(r))
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
			r := read(t, explaintest.DirOf(t, files...))
			got := work(r)
			if len(got) != 1 || !strings.HasPrefix(got[0], "rank 2 work 7-") {
				t.Errorf("got %q, want rank 2 work from step 7 on alone%s", got, explaintest.Describe(r))
			}
			if r.Source.Complete || !explaintest.Has(r, result.Data) {
				t.Errorf("the report does not mention the cut file%s", explaintest.Describe(r))
			}
		})
	}
	t.Run("a single rank", func(t *testing.T) {
		r := read(t, explaintest.DirOf(t, name(0), skew[2]))
		if got := explaintest.Stragglers(r); len(got) > 0 || explaintest.Has(r, result.Balanced) {
			t.Errorf("got a late or balanced finding for one rank, want neither%s", explaintest.Describe(r))
		}
	})
	t.Run("a rank without GPU work", func(t *testing.T) {
		ts := explaintest.RealSet(t, "compute_skew")
		explaintest.CPUOnly(ts[1])
		r := explaintest.Analyzed(t, ts)
		if got := work(r); !slices.Equal(got, []string{"rank 2 work 7-13"}) || !explaintest.Has(r, result.Data) {
			t.Errorf("got %q, want rank 2 work 7-13 and a finding about the data%s", got, explaintest.Describe(r))
		}
	})
	t.Run("no GPU work at all", func(t *testing.T) {
		ts := explaintest.RealSet(t, "stacks")
		for i := range ts {
			explaintest.CPUOnly(ts[i])
		}
		r := explaintest.Analyzed(t, ts)
		if len(r.Steps) == 0 || r.Source.StepRule != trace.ByAnnotations || len(explaintest.Stragglers(r)) > 0 || explaintest.Has(r, result.Balanced) || !explaintest.Has(r, result.Data) {
			t.Errorf("want steps by annotations and only findings about the data%s", explaintest.Describe(r))
		}
		for i := range ts {
			ts[i].Spans = slices.DeleteFunc(ts[i].Spans, func(s trace.Span) bool { return s.Cat == trace.UserAnnotation || s.Cat.Launch() })
		}
		if _, err := explain.Analyze(ts, explain.Options{}); !errors.Is(err, explain.ErrNothing) {
			t.Errorf("neither GPU work nor steps: got error %v, want %v", err, explain.ErrNothing)
		}
	})
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
	r := explaintest.Analyzed(t, strip(explaintest.RealSet(t, "graph_work")))
	if got := explaintest.Stragglers(r); !slices.Equal(got, []string{"rank 1 work 6-14"}) || r.Source.StepRule != trace.ByPattern {
		t.Errorf("graphs: got %q, steps by %s, want rank 1 work 6-14, steps by pattern%s", got, r.Source.StepRule, explaintest.Describe(r))
	}
	if r := explaintest.Analyzed(t, strip(explaintest.RealSet(t, "graphs"))); !explaintest.Has(r, result.Balanced) || len(explaintest.Stragglers(r)) > 0 {
		t.Errorf("graphs: want balanced and no late rank%s", explaintest.Describe(r))
	}
	if r := explaintest.Analyzed(t, strip(explaintest.RealSet(t, "compute_skew"))); !slices.Contains(explaintest.Stragglers(r), "rank 2 work 7-13") {
		t.Errorf("op by op: got %q, want rank 2 work 7-13 among them%s", explaintest.Stragglers(r), explaintest.Describe(r))
	}
	// Without sampling they are the graph launches; the prefill before them is outside.
	mute := func(ts []*trace.Trace) []*trace.Trace {
		for _, t := range strip(ts) {
			t.Spans = slices.DeleteFunc(t.Spans, func(s trace.Span) bool { return strings.Contains(t.Strings.Get(s.Name), "ArgMax") })
		}
		return ts
	}
	r = explaintest.Analyzed(t, mute(explaintest.RealSet(t, "graph_work")))
	if got := explaintest.Stragglers(r); !slices.Equal(got, []string{"rank 1 work 5-13"}) || r.Source.StepRule != trace.ByGraphs {
		t.Errorf("graph launches: got %q, steps by %s, want rank 1 work 5-13, steps by graphs%s", got, r.Source.StepRule, explaintest.Describe(r))
	}
	// Launched op by op, nothing separates steps then: no rank can be called late from a step on, nor can the capture
	// be called balanced.
	if r := explaintest.Analyzed(t, mute(explaintest.RealSet(t, "compute_skew"))); explaintest.Has(r, result.Balanced) || len(explaintest.Stragglers(r)) > 0 || !explaintest.Has(r, result.Data) {
		t.Errorf("no steps: want findings about the data only%s", explaintest.Describe(r))
	}
}

// TestMerged compares a merged file with its parts.
func TestMerged(t *testing.T) {
	for _, capture := range []string{"graph_work", "compute_skew"} {
		want := explaintest.Analyzed(t, explaintest.RealSet(t, capture))
		sets, err := set.Find([]string{filepath.Join(explaintest.Traces, capture)})
		if err != nil {
			t.Fatal(err)
		}
		ours := filepath.Join(t.TempDir(), "merged-7.trace.json.gz")
		if _, err := merge.File(context.Background(), sets[0], ours, merge.Options{}); err != nil {
			t.Fatal(err)
		}
		for name, path := range map[string]string{"ours": ours, "SGLang's": sglangMerged(t, sets[0])} {
			t.Run(capture+" "+name, func(t *testing.T) {
				got := explaintest.Analyzed(t, explaintest.ReadDir(t, path))
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
	return filepath.Join(explaintest.DirOf(t, "merged-8.trace.json", b.Bytes()), "merged-8.trace.json")
}
