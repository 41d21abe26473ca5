package report

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/explain/dumps"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// DumpsMarkdown writes a comparison in exactly the format of SGLang's compare_perf.py. Differences between the
// workloads precede this output. The confidence intervals of several dumps follow it.
func DumpsMarkdown(w io.Writer, c *dumps.Comparison, at time.Time) error {
	var b strings.Builder
	write := lines(&b)
	for _, line := range append(prefixed("MISMATCH in ", dumpDifferences(c, loops(c))), dumpDoubts(c)...) {
		write("> ", escapeMarkdown(line), "\n")
	}
	write("### Performance Comparison Report\n")
	if len(c.Sides) == 2 {
		dumpPair(write, c)
	} else {
		dumpMany(write, c)
	}
	write("\n")
	write("<details>\n<summary>Metadata</summary>\n")
	for i := range c.Sides {
		commit := "N/A"
		if len(c.Sides[i].Commits) > 0 {
			commit = strings.Join(c.Sides[i].Commits, ", ")
		}
		write("- ", dumpLabel(c, i), " Commit: ", codeSpan(commit, false))
	}
	write("- Timestamp: ", at.Format("2006-01-02T15:04:05.000000"))
	write("</details>")
	rows := append([]dumps.Row{c.E2E}, c.Stages...)
	if len(c.Sides) == 2 && slices.ContainsFunc(rows, func(r dumps.Row) bool { return r.Values[1].Tested }) {
		t := dumpTable("Stages, medians and intervals of several dumps", c)
		t.addRows(c, msCell, rows...)
		markdownTable(write, t, false)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// loops reports whether the table of two sides has a row with the numbers of denoising steps.
func loops(c *dumps.Comparison) bool {
	return len(c.Sides) == 2 && slices.ContainsFunc(c.Stages, func(r dumps.Row) bool {
		return r.Name == dumps.Loop && !slices.ContainsFunc(r.Values, func(v dumps.Value) bool { return v.N == 0 })
	})
}

// pairLabel returns SGLang's label for a row. The label counts a missing loop as one step.
func pairLabel(r *dumps.Row) string {
	counts := [2]int{1, 1}
	for i, v := range r.Values {
		if v.N > 0 {
			counts[i] = v.Count
		}
	}
	if counts[0] == counts[1] {
		return plainMarkdown(r.Name) + ofSteps(r, strconv.Itoa(counts[0]))
	}
	return plainMarkdown(r.Name) + ofSteps(r, fmt.Sprintf("%d->%d", counts[0], counts[1]))
}

// dumpLabel returns SGLang's name for a side.
func dumpLabel(c *dumps.Comparison, i int) string {
	switch {
	case i == 0:
		return "Baseline"
	case len(c.Sides) == 2:
		return "New"
	}
	return plainMarkdown(filepath.Base(c.Sides[i].Name))
}

// SGLang's status symbols for whole generations and for stages.
var (
	wholeSigns = map[string]string{result.Faster: "✅", result.Slower: "❌", dumps.Neutral: "⚪️"}
	stageSigns = map[string]string{result.Faster: "🟢", result.Slower: "🔴", dumps.Neutral: "⚪️"}
)

func dumpPair(write func(...string), c *dumps.Comparison) {
	a, b := c.E2E.Values[0], c.E2E.Values[1]
	write("#### 1. High-level Summary")
	write("| Metric | Baseline | New | Diff | Status |")
	write("| :--- | :--- | :--- | :--- | :--- |")
	write(fmt.Sprintf("| **E2E Latency** | %.2f ms | %.2f ms | **%+.2f ms (%+.1f%%)** | %s |", a.MS, b.MS, b.Diff, 100*b.Change, wholeSigns[b.Status]))
	write(fmt.Sprintf("| **Throughput** | %.2f req/s | %.2f req/s | - | - |", perSecond(a.MS), perSecond(b.MS)))
	write("\n")
	write("#### 2. Stage Breakdown")
	write("| Stage Name | Baseline (ms) | New (ms) | Diff (ms) | Diff (%) | Status |")
	write("| :--- | :--- | :--- | :--- | :--- | :--- |")
	for i := range c.Stages {
		r := &c.Stages[i]
		a, b := r.Values[0], r.Values[1]
		write(fmt.Sprintf("| %s | %.2f | %.2f | %+.2f | %+.1f%% | %s |", pairLabel(r), a.MS, b.MS, b.Diff, 100*b.Change, stageSigns[b.Status]))
	}
}

func dumpMany(write func(...string), c *dumps.Comparison) {
	names, rule := "Baseline", strings.Repeat("| :--- ", len(c.Sides)+1)+"|"
	for i := range c.Sides[1:] {
		names += " | " + dumpLabel(c, i+1)
	}
	row := func(name string, values []dumps.Value, unit string, signs map[string]string) {
		line := fmt.Sprintf("| %s | %.2f%s |", name, values[0].MS, unit)
		for _, v := range values[1:] {
			line += fmt.Sprintf(" %.2f%s (%+.1f%%) %s |", v.MS, unit, 100*v.Change, signs[v.Status])
		}
		write(line)
	}
	write("#### 1. High-level Summary")
	write("| Metric | ", names, " |")
	write(rule)
	row("**E2E Latency**", c.E2E.Values, " ms", wholeSigns)
	write("\n")
	write("#### 2. Stage Breakdown")
	write("| Stage Name | ", names, " |")
	write(rule)
	for i := range c.Stages {
		row(plainMarkdown(c.Stages[i].Name), c.Stages[i].Values, "", stageSigns)
	}
}
