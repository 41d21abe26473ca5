package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/gate"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// comparison is one in which a rank does more, with the names of a hostile capture.
func comparison() *result.Comparison {
	change := func(a, b float64, n int) result.Change {
		return result.Change{A: a, B: b, NA: n, NB: n, Change: b/a - 1, Lo: b/a - 1.02, Hi: b/a - 0.98, P: 0.001, PAdj: 0.002, Enough: n > 3}
	}
	late := fact.Of("straggler", "rank", "TP02", "when", fact.Of("late_since", "first", 7), "why", fact.Of("late_work"), "cost", fact.Of("late_cost", "cost", 2e6, "share", 0.1))
	c := &result.Comparison{
		Format: 1, A: result.Side{ID: "before", Ranks: []string{"TP00", "TP02"}, Steps: 20, Device: "H200"}, B: result.Side{ID: "after", Ranks: []string{"TP00", "TP02"}, Steps: 24, Device: "H100"},
		Verdict: fact.Of("comparison", "steps", fact.Of("compared_steps", "steps", []fact.Fact{fact.Of("compared_step", "kind", "decode", "batch", fact.Of("at_batch", "batch", 16), "a", 20e6, "b", 22e6, "change", 0.1, "p", 0.002)}),
			"why", fact.Of("compared_more_kernels", "rank", "TP02", "n", 84)),
		Unlike: []fact.Fact{fact.Of("compare_devices", "a", "H200", "b", "H100")},
		Causes: []result.Cause{
			{Change: result.New, Kind: "straggler", Severity: "high", Finding: "straggler-tp02-work-7", Ranks: []string{"TP02"}, First: 7, Last: 23, B: 2e6, Fits: true,
				Text: late, CountA: 117, CountB: 201, Evidence: []fact.Fact{fact.Of("last_in", "last", 75, "of", 84), fact.Of("kernels_differ", "mine", 201, "peers", 117)},
				Kernels: []result.KernelChange{{Short: "gemm<script>alert(1)</script>", CountA: 6, CountB: 18, A: 108e3, B: 317e3}, {Short: "silu", CountB: 12, B: 13e3}, {Short: "copy", CountA: 2, A: 4e3}, {Short: "norm", CountA: 2, CountB: 2, A: 4e3, B: 8e3}},
				Next:    []fact.Fact{fact.Of("next_work", "rank", "TP02")}, Guide: "late-rank"},
			{Change: result.Gone, Kind: "host_bound", Severity: "medium", Finding: "host_bound-decode", First: -1, Last: -1, A: 3e6, Text: fact.Name("hosts were \x1b[31mlate"), Evidence: []fact.Fact{fact.Of("cause_unseen")}},
		},
		Steps: []result.StepDiff{
			{Kind: "decode", Mode: "DECODE", Batch: 16, Figure: "step", Verdict: result.Slower, Change: change(20e6, 22e6, 20)},
			{Kind: "decode", Mode: "DECODE", Batch: 16, Figure: "idle", Verdict: result.NotClear, Change: change(2e6, 2.1e6, 20)},
			{Kind: "prefill", Mode: "EXTEND", Batch: 2, Figure: "step", Verdict: result.Unclear, Change: change(50e6, 52e6, 2)},
		},
		Throughput: []result.Throughput{
			{Kind: "decode", Mode: "DECODE", Batch: 16, Figure: "time_per_step", Verdict: result.Slower, A: 20e6, B: 26.2e6, NA: 20, NB: 20, Change: 0.31, Lo: 0.17, Hi: 0.47, Enough: true},
			{Kind: "decode", Mode: "DECODE", Batch: 16, Figure: "throughput", Verdict: result.Slower, A: 800, B: 610.7, NA: 20, NB: 20, Change: -0.237, Lo: -0.32, Hi: -0.145, Enough: true},
			{Kind: "prefill", Mode: "EXTEND", Batch: 2, Figure: "time_per_step", Verdict: result.Unclear, A: 50e6, B: 52e6, NA: 2, NB: 2, Change: 0.04},
		},
		Kernels: []result.KernelDiff{
			{Kind: "decode", Batch: 16, Name: "gemm", Short: "gemm", Verdict: result.Slower, CountA: 6, CountB: 12, Effect: 0.05, Change: change(1e6, 2e6, 20)},
			{Kind: "decode", Batch: 16, Name: "norm", Short: "norm", Verdict: result.Same, CountA: 6, CountB: 6, Effect: 0.0001, Change: change(1e6, 1.01e6, 20)},
			{Kind: "prefill", Batch: 2, Name: "gemm", Short: "gemm", Verdict: result.Unclear, CountA: 6, CountB: 6, Effect: 0.05, Change: change(1e6, 2e6, 2)},
		},
		Regressions: []fact.Fact{fact.Of("worse_steps", "figure", "step", "kind", "decode", "batch", fact.Of("with_batch", "batch", 16), "change", 0.1, "low", 0.08, "high", 0.12)},
		Limit:       0.05, Limits: []string{"decode.step>2%"}, Undecided: []fact.Fact{fact.Of("limit_few", "limit", "prefill.step>5%")},
		Notes: []fact.Fact{fact.Of("compare_two_captures")},
	}
	result.NoNil(c)
	return c
}

func TestComparison(t *testing.T) {
	for name, o := range map[string]Options{"compare.txt": {}, "compare-full.txt": {Full: true, Width: 80}, "compare-all.txt": {All: true, Width: 140}} {
		var b bytes.Buffer
		if err := Compared(comparison(), o).Text(&b, o); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(b.String(), "\n") {
			if w := columns.Width(line); w > o.width() || strings.Contains(line, "\x1b") {
				t.Errorf("%s: a line of %d columns: %q", name, w, line)
			}
		}
		golden(t, name, b.Bytes())
	}
	v := Compared(comparison(), Options{Full: true})
	var b bytes.Buffer
	if err := v.Markdown(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "compare.md", b.Bytes())
	if !v.Failed() {
		t.Error("a regression, and not failed")
	}
}

// TestComparisonPage: the page of two runs with captures has both, its tables sort, and it is no wider than the window.
func TestComparisonPage(t *testing.T) {
	v := BenchCompared(benchComparison(1.25, bench.CompareOptions{Limits: gate.Limits{{By: 0.1}}}), Options{Full: true})
	v.WithCaptures(Compared(comparison(), Options{Full: true}))
	var b bytes.Buffer
	if err := v.HTML(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{"Worse: median TTFT 269 ms", "REGRESSION: ", "TP02 is late from step 7 on", "TP02 runs 84 more kernels a step than in A", "the devices differ"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "\x1b") {
		t.Error("names of kernels are not escaped")
	}
	var got struct {
		Wide, Sorted, Ids, Headings int
	}
	browse(t, page, `
  const d = document.documentElement, ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  return {wide: d.scrollWidth - d.clientWidth, sorted: document.querySelectorAll("th button").length, ids: ids.length - new Set(ids).size, headings: document.querySelectorAll("h1").length};
`, &got)
	if got.Wide > 0 || got.Sorted < 20 || got.Ids > 0 || got.Headings != 1 {
		t.Errorf("%+v", got)
	}
}
