package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// compareTables returns the tables of steps, modules and kernels. Rows with too few steps are only counted. They are
// shown if all rows are requested or if there are no other rows.
func compareTables(c *result.Comparison, o Options) []*table {
	limit, brief := o.rows(), !o.Full && !o.All
	told := func(d result.StepDiff) bool { return d.Verdict != result.Unclear }
	steps := &table{id: "steps", title: "Steps, medians and means", cols: []column{
		{name: "kind"}, {name: "figure"}, {name: "A", right: true}, {name: "B", right: true},
		{name: "change", right: true}, {name: "95 % interval", right: true, drop: 2}, {name: "p", right: true, drop: 1},
		{name: "steps", right: true, drop: 3}, {name: "verdict"},
	}}
	few, hide := map[string]bool{}, !o.All && slices.ContainsFunc(c.Steps, told)
	folded, unmoved := 0, 0
	for i := range c.Steps {
		d := &c.Steps[i]
		switch {
		case hide && !told(*d):
			few[stepName(c, d)] = true
			folded++
			continue
		case brief && d.Figure != "step" && d.Verdict != result.Slower && d.Verdict != result.Faster:
			unmoved++
			continue
		}
		row := []cell{textCell(stepName(c, d)), textCell(strings.ReplaceAll(d.Figure, "_", " "))}
		steps.rows = append(steps.rows, append(row, changeCells(&d.Change, d.Verdict, durCell)...))
	}
	for i := range c.Throughput {
		if d := &c.Throughput[i]; !hide || d.Enough {
			steps.rows = append(steps.rows, throughputRow(d))
		}
	}
	if folded > 0 {
		steps.omit(fmt.Sprintf("%s with too few steps (%s)", metric.Count(folded), strings.Join(slices.Sorted(maps.Keys(few)), ", ")))
	}
	if unmoved > 0 && (c.Refused || c.Judged >= result.JudgedSteps) {
		steps.omit(plural(unmoved, "more figure"))
	} else if unmoved > 0 {
		steps.omit(metric.Count(unmoved) + " without a significant change")
	}
	kernels := &table{id: "kernels", title: "Kernels, by their effect on the step", cols: []column{
		{name: "kind"}, {name: "kernel", flex: true, code: true, min: 24}, {name: "grid", drop: 5}, {name: "effect on step", right: true},
		{name: "count", right: true, drop: 4},
		{name: "A", right: true}, {name: "B", right: true}, {name: "change", right: true},
		{name: "95 % interval", right: true, drop: 2}, {name: "p", right: true, drop: 1}, {name: "steps", right: true, drop: 3}, {name: "verdict"},
	}}
	same, unclear, shown := 0, 0, 0
	hide = !o.All && slices.ContainsFunc(c.Kernels, func(d result.KernelDiff) bool { return d.Verdict != result.Unclear })
	for i := range c.Kernels {
		d := &c.Kernels[i]
		if hide && d.Verdict == result.Unclear {
			unclear++
			continue
		}
		if hardly(d.Verdict, d.Effect) || d.A == 0 && d.B == 0 { // both are 0 for, e.g., kernels of the first step only
			same++
			continue
		}
		if shown++; limit > 0 && shown > limit {
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
		kernels.rows = append(kernels.rows, append(row, changeCells(&d.Change, d.Verdict, durCell)...))
	}
	if limit > 0 && shown > limit {
		kernels.omit(leftOut(limit, shown, ""))
	}
	if unclear > 0 {
		kernels.omit(metric.Count(unclear) + " with too few steps")
	}
	if same > 0 {
		kernels.omit(hidden(same))
	}
	roles := compareLight(c)
	if c.Refused { // the roles are the answer, if anything is
		return []*table{roles, steps, compareModules(c, o), kernels}
	}
	return []*table{steps, roles, compareModules(c, o), kernels}
}

// throughputRow returns a row for the table of steps: the time of the windows per step, or output tokens per second.
func throughputRow(d *result.Throughput) []cell {
	name, text := strings.ReplaceAll(d.Figure, "_", " "), durCell[float64]
	if d.Figure == "throughput" {
		name, text = "output tok/s", func(v float64) cell { return textCell(metric.Three(v) + "/s") }
	}
	interval := dash
	if d.Enough {
		interval = metric.PercentChange(d.Lo) + " … " + metric.PercentChange(d.Hi)
	}
	return []cell{
		textCell(bucketName(d.Kind, d.Batch)), textCell(name), text(d.A), text(d.B), textCell(metric.PercentChange(d.Change)), textCell(interval),
		textCell(dash), textCell(fmt.Sprintf("%d, %d", d.NA, d.NB)), textCell(d.Verdict),
	}
}

// hardly reports whether a row is unimportant: the figure is unchanged, or the verdict is unclear and the effect is
// small.
func hardly(verdict string, effect float64) bool {
	return verdict == result.Same || verdict == result.NotClear && math.Abs(effect) < 0.01
}

func hidden(n int) string {
	return metric.Count(n) + " without a clear effect"
}

func compareModules(c *result.Comparison, o Options) *table {
	t := &table{id: "modules", title: "Modules, by their effect on the step", cols: []column{
		{name: "kind"}, {name: "module", flex: true, tail: true, code: true, min: 24}, {name: "effect on step", right: true},
		{name: "A", right: true}, {name: "B", right: true}, {name: "change", right: true},
		{name: "95 % interval", right: true, drop: 2}, {name: "p", right: true, drop: 1}, {name: "steps", right: true, drop: 3}, {name: "verdict"},
	}}
	rows := slices.Clone(c.Modules)
	if told := func(d result.ModuleDiff) bool { return d.Verdict != result.Unclear }; !o.All && slices.ContainsFunc(rows, told) {
		rows = slices.DeleteFunc(rows, func(d result.ModuleDiff) bool { return !told(d) })
	}
	unclear := len(c.Modules) - len(rows)
	rows = slices.DeleteFunc(rows, func(d result.ModuleDiff) bool { return hardly(d.Verdict, d.Effect) })
	same := len(c.Modules) - unclear - len(rows)
	rows, t.omitted = cut(rows, o.rows(), " modules")
	if unclear > 0 {
		t.omit(metric.Count(unclear) + " with too few steps")
	}
	if same > 0 {
		t.omit(hidden(same))
	}
	for i := range rows {
		d := &rows[i]
		row := []cell{textCell(bucketName(d.Kind, d.Batch)), textCell(d.Module), textCell(metric.PercentChange(d.Effect))}
		t.rows = append(t.rows, append(row, changeCells(&d.Change, d.Verdict, durCell)...))
	}
	return t
}

// changeCells returns the cells of A, B, the change, its interval and p-value, the samples, and the verdict.
func changeCells(c *result.Change, verdict string, unit func(float64) cell) []cell {
	change, interval, p := dash, dash, dash
	if c.NA > 0 && c.NB > 0 && c.A != 0 {
		change = metric.PercentChange(c.Change)
		if c.Enough {
			interval = metric.PercentChange(c.Lo) + " … " + metric.PercentChange(c.Hi)
			p = fmt.Sprintf("%.2g", c.PAdj)
		}
	}
	side := func(v float64, n int) cell {
		if n == 0 {
			return textCell(dash)
		}
		return unit(v)
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

// omit adds rows to the description of the omitted rows.
func (t *table) omit(rows string) {
	if t.omitted != "" {
		rows = t.omitted + ", " + rows
	}
	t.omitted = rows
}
