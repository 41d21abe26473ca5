package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// CompareText writes a comparison for a terminal: the verdict first.
func CompareText(w io.Writer, c *result.Comparison, o Options) error {
	var b strings.Builder
	for _, d := range c.Doubts {
		fmt.Fprintf(&b, "not one capture: %s: what is said of ranks may be wrong\n", columns.Clean(d))
	}
	fmt.Fprintf(&b, "A %s\nB %s\n\n%s\n", sideText(c.A), sideText(c.B), compareVerdict(c))
	for _, r := range c.Regressions {
		fmt.Fprintf(&b, "  - %s\n", Words(r))
	}
	for _, t := range compareTables(c, o.rows()) {
		if len(t.rows) > 0 {
			b.WriteString(t.below(o))
		}
	}
	b.WriteByte('\n')
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "note: %s\n", Words(n))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// CompareMarkdown writes a comparison for a merge request.
func CompareMarkdown(w io.Writer, c *result.Comparison, o Options) error {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n\nA: %s  \nB: %s\n", escapeMarkdown(compareVerdict(c)), escapeMarkdown(sideText(c.A)), escapeMarkdown(sideText(c.B)))
	for _, r := range c.Regressions {
		fmt.Fprintf(&b, "\n- %s", escapeMarkdown(Words(r)))
	}
	for _, t := range compareTables(c, o.rows()) {
		if len(t.rows) > 0 {
			markdownTable(lines(&b), t, false)
		}
	}
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "\n> %s\n", escapeMarkdown(Words(n)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func sideText(s result.Side) string {
	ranks := strings.Join(s.Ranks, ", ")
	if len(s.Ranks) > 4 {
		ranks = fmt.Sprintf("%d ranks", len(s.Ranks))
	}
	text := fmt.Sprintf("%s: %s, %d steps", s.ID, ranks, s.Steps)
	if s.Device != "" {
		text += ", " + s.Device
	}
	return text
}

// compareVerdict is the answer in a line.
func compareVerdict(c *result.Comparison) string {
	var parts []string
	for i := range c.Steps {
		d := &c.Steps[i]
		if d.Figure != "step" {
			continue
		}
		name := stepName(d)
		switch d.Verdict {
		case result.Slower, result.Faster:
			parts = append(parts, changed(name, d.Verdict, d.Change.Change))
		default:
			parts = append(parts, name+": "+d.Verdict)
		}
	}
	return verdict(len(c.Regressions), "slower", c.Limit, strings.Join(parts, "; "))
}

// changed says by how much a figure is better or worse.
func changed(name, verdict string, change float64) string {
	return fmt.Sprintf("%s %s by %s", name, verdict, strings.TrimLeft(metric.PercentChange(change), "+-−"))
}

// verdict is the answer to --fail-on, if that was given, and else what became of the figures.
func verdict(regressions int, worse string, limit float64, figures string) string {
	switch {
	case regressions > 0:
		return fmt.Sprintf("REGRESSION: %s got %s by more than %s", plural(regressions, "figure"), worse, metric.Percent(limit))
	case limit > 0:
		return fmt.Sprintf("no regression above %s: %s", metric.Percent(limit), figures)
	}
	return figures
}

func stepName(d *result.StepDiff) string { return bucketName(d.Kind, d.Batch) }

func bucketName(kind string, batch int) string {
	if batch < 0 {
		return kind
	}
	return fmt.Sprintf("%s bs=%d", kind, batch)
}

func compareTables(c *result.Comparison, limit int) []*table {
	steps := &table{id: "steps", title: "Steps, medians per step", cols: []column{
		{name: "kind"}, {name: "figure"}, {name: "A", right: true}, {name: "B", right: true},
		{name: "change", right: true}, {name: "95 % interval", right: true, drop: 2}, {name: "p", right: true, drop: 1},
		{name: "steps", right: true, drop: 3}, {name: "verdict"},
	}}
	for i := range c.Steps {
		d := &c.Steps[i]
		row := []cell{textCell(stepName(d)), textCell(strings.ReplaceAll(d.Figure, "_", " "))}
		steps.rows = append(steps.rows, append(row, changeCells(&d.Change, d.Verdict)...))
	}
	kernels := &table{id: "kernels", title: "Kernels, by their effect on the step", cols: []column{
		{name: "kind"}, {name: "kernel", flex: true, code: true, min: 24}, {name: "grid", drop: 5}, {name: "effect on step", right: true},
		{name: "count", right: true, drop: 4},
		{name: "A", right: true}, {name: "B", right: true}, {name: "change", right: true},
		{name: "95 % interval", right: true, drop: 2}, {name: "p", right: true, drop: 1}, {name: "steps", right: true, drop: 3}, {name: "verdict"},
	}}
	same := 0
	for i := range c.Kernels {
		d := &c.Kernels[i]
		if hardly(d.Verdict, d.Effect) {
			same++
			continue
		}
		if limit > 0 && len(kernels.rows) == limit {
			kernels.omitted = fmt.Sprintf("%d of %d", limit, len(c.Kernels))
			continue
		}
		count := fmt.Sprintf("%.3g", d.CountA)
		if d.CountA != d.CountB {
			count = fmt.Sprintf("%.3g → %.3g", d.CountA, d.CountB)
		}
		short := d.Short
		if d.Was != "" && d.Was != d.Name {
			short += " (in A " + kernel.Short(d.Was) + ")"
		}
		row := []cell{
			textCell(bucketName(d.Kind, d.Batch)), nameCell(short, d.Name), textCell(gridText(d.Grid)),
			textCell(metric.PercentChange(d.Effect)), textCell(count),
		}
		kernels.rows = append(kernels.rows, append(row, changeCells(&d.Change, d.Verdict)...))
	}
	if same > 0 {
		more := hidden(same)
		if kernels.omitted != "" {
			more = kernels.omitted + ", " + more
		}
		kernels.omitted = more
	}
	return []*table{steps, compareModules(c, limit), kernels}
}

// hardly tells rows that say nothing: the same, or perhaps not, with hardly any
// effect.
func hardly(verdict string, effect float64) bool {
	return verdict == result.Same || verdict == result.NotClear && math.Abs(effect) < 0.01
}

func hidden(n int) string {
	return metric.Count(n) + " without a clear effect are not shown"
}

func compareModules(c *result.Comparison, limit int) *table {
	t := &table{id: "modules", title: "Modules, by their effect on the step", cols: []column{
		{name: "kind"}, {name: "module", flex: true, tail: true, code: true, min: 24}, {name: "effect on step", right: true},
		{name: "A", right: true}, {name: "B", right: true}, {name: "change", right: true},
		{name: "95 % interval", right: true, drop: 2}, {name: "p", right: true, drop: 1}, {name: "steps", right: true, drop: 3}, {name: "verdict"},
	}}
	rows := slices.DeleteFunc(slices.Clone(c.Modules), func(d result.ModuleDiff) bool { return hardly(d.Verdict, d.Effect) })
	same := len(c.Modules) - len(rows)
	rows, t.omitted = cut(rows, limit, " modules")
	if same > 0 {
		t.omitted = strings.TrimPrefix(fmt.Sprintf("%s, %s", t.omitted, hidden(same)), ", ")
	}
	for i := range rows {
		d := &rows[i]
		row := []cell{textCell(bucketName(d.Kind, d.Batch)), textCell(d.Module), textCell(metric.PercentChange(d.Effect))}
		t.rows = append(t.rows, append(row, changeCells(&d.Change, d.Verdict)...))
	}
	return t
}

func changeCells(c *result.Change, verdict string) []cell {
	change, interval, p := dash, dash, dash
	if c.NA > 0 && c.NB > 0 && c.A != 0 {
		change = metric.PercentChange(c.Change)
		if c.Enough {
			interval = metric.PercentChange(c.Lo) + " … " + metric.PercentChange(c.Hi)
			p = fmt.Sprintf("%.2g", c.PAdj)
		}
	}
	side := func(ns float64, n int) cell {
		if n == 0 {
			return textCell(dash)
		}
		return durCell(ns)
	}
	return []cell{
		side(c.A, c.NA), side(c.B, c.NB), textCell(change), textCell(interval), textCell(p),
		textCell(fmt.Sprintf("%d, %d", c.NA, c.NB)), textCell(verdict),
	}
}

func gridText(g [3]int32) string {
	if g == [3]int32{} {
		return dash
	}
	return fmt.Sprintf("%d×%d×%d", g[0], g[1], g[2])
}
