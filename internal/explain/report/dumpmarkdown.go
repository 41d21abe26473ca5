package report

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/explain/dumps"
)

// DumpsMarkdown writes a comparison in exactly the format of SGLang's compare_perf.py. Differences between the
// workloads precede this output. The confidence intervals of several dumps follow it.
func DumpsMarkdown(w io.Writer, c *dumps.Comparison, at time.Time) error {
	var b strings.Builder
	write := lines(&b)
	for _, line := range unlikeLines(c, loops(c)) {
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
			commit = columns.Clean(strings.Join(c.Sides[i].Commits, ", "))
		}
		write("- ", dumpLabel(c, i), " Commit: `", commit, "`")
	}
	write("- Timestamp: ", at.Format("2006-01-02T15:04:05.000000"))
	write("</details>")
	if t := dumpTable("stages", "Stages, medians and intervals of several dumps", append([]dumps.Row{c.E2E}, c.Stages...), nothing); len(t.cols) > 6 && len(c.Sides) == 2 {
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
		return columns.Clean(r.Name) + ofSteps(r, strconv.Itoa(counts[0]))
	}
	return columns.Clean(r.Name) + ofSteps(r, fmt.Sprintf("%d->%d", counts[0], counts[1]))
}

// dumpLabel returns SGLang's name for a side.
func dumpLabel(c *dumps.Comparison, i int) string {
	switch {
	case i == 0:
		return "Baseline"
	case len(c.Sides) == 2:
		return "New"
	}
	return columns.Clean(filepath.Base(c.Sides[i].Name))
}

// SGLang's status symbols for whole generations and for stages.
var (
	wholeSigns = map[string]string{dumps.Faster: "✅", dumps.Slower: "❌", dumps.Neutral: "⚪️"}
	stageSigns = map[string]string{dumps.Faster: "🟢", dumps.Slower: "🔴", dumps.Neutral: "⚪️"}
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
	var names []string
	for i := 1; i < len(c.Sides); i++ {
		names = append(names, dumpLabel(c, i))
	}
	rule := "| :--- | :--- | " + strings.Repeat(":--- | ", len(names)-1) + ":--- |"
	write("#### 1. High-level Summary")
	write("| Metric | Baseline | ", strings.Join(names, " | "), " |")
	write(rule)
	line := fmt.Sprintf("| **E2E Latency** | %.2f ms |", c.E2E.Values[0].MS)
	for _, v := range c.E2E.Values[1:] {
		line += fmt.Sprintf(" %.2f ms (%+.1f%%) %s |", v.MS, 100*v.Change, wholeSigns[v.Status])
	}
	write(line)
	write("\n")
	write("#### 2. Stage Breakdown")
	write("| Stage Name | Baseline | ", strings.Join(names, " | "), " |")
	write(rule)
	for i := range c.Stages {
		r := &c.Stages[i]
		line := fmt.Sprintf("| %s | %.2f |", columns.Clean(r.Name), r.Values[0].MS)
		for _, v := range r.Values[1:] {
			line += fmt.Sprintf(" %.2f (%+.1f%%) %s |", v.MS, 100*v.Change, stageSigns[v.Status])
		}
		write(line)
	}
}
