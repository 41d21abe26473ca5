package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/dumps"
)

// dumpTables returns the tables of whole generations, stages, denoising steps and memory.
func dumpTables(c *dumps.Comparison, limit int) []*table {
	whole := dumpTable("e2e", "Whole generations", []dumps.Row{c.E2E}, nothing)
	whole.rows = append(whole.rows, throughput(&c.E2E, len(whole.cols)))
	stages := c.Stages
	for _, v := range c.Rest.Values {
		if v.N > 0 {
			stages = append(stages[:len(stages):len(stages)], c.Rest)
			break
		}
	}
	steps, omitted := c.Steps, ""
	if limit > 0 && len(steps) > limit {
		steps, omitted = nil, "--all shows each"
		for _, r := range c.Steps {
			if r.Step < 1 || outlier(c, r.Step) {
				steps = append(steps, r)
			}
		}
	}
	each := dumpTable("steps", "Denoising steps", steps, func(r *dumps.Row, side int) string {
		for _, s := range c.Slow {
			if s.Step == r.Step && (s.Side == side || s.Side == 0) {
				return "outlier in " + sideLetter(s.Side)
			}
		}
		return ""
	})
	each.omitted = omitted
	return []*table{whole, dumpTable("stages", "Stages", stages, nothing), each, peaksTable(c)}
}

func nothing(*dumps.Row, int) string { return "" }

// outlier reports whether a denoising step is an outlier on at least one side.
func outlier(c *dumps.Comparison, step int) bool {
	for _, s := range c.Slow {
		if s.Step == step {
			return true
		}
	}
	return false
}

// dumpTable returns a table with one row per measured time. A table of two sides has additional columns. said returns
// the text that replaces a missing verdict.
func dumpTable(id, title string, rows []dumps.Row, said func(r *dumps.Row, side int) string) *table {
	t := &table{id: id, title: title, cols: []column{{name: "", flex: true, min: 24}, {name: "A", right: true}}}
	if len(rows) == 0 {
		return t
	}
	sides, tested := len(rows[0].Values), false
	for i := range rows {
		for _, v := range rows[i].Values {
			tested = tested || v.Tested
		}
	}
	if sides == 2 {
		t.cols = append(t.cols, column{name: "B", right: true}, column{name: "difference", right: true}, column{name: "change", right: true})
		if tested {
			t.cols = append(t.cols, column{name: "95 % interval", right: true, drop: 1}, column{name: "p", right: true, drop: 2}, column{name: "dumps", right: true, drop: 3})
		}
		t.cols = append(t.cols, column{name: "verdict"})
	} else {
		for i := 1; i < sides; i++ {
			t.cols = append(t.cols, column{name: sideLetter(i), right: true}, column{name: "change", right: true}, column{name: "verdict"})
		}
	}
	for i := range rows {
		r := &rows[i]
		base := &r.Values[0]
		row := []cell{textCell(stageLabel(r)), msCell(base)}
		for side := 1; side < sides; side++ {
			v := &r.Values[side]
			row = append(row, msCell(v))
			change, diff, interval, p := dash, dash, dash, dash
			if base.N > 0 && v.N > 0 {
				diff = msChange(v.Diff)
				if base.MS > 0 {
					change = metric.PercentChange(v.Change)
				}
			}
			if v.Tested {
				interval = metric.PercentChange(v.Lo) + " … " + metric.PercentChange(v.Hi)
				p = fmt.Sprintf("%.2g", v.PAdj)
			}
			if sides == 2 {
				row = append(row, textCell(diff))
			}
			row = append(row, textCell(change))
			if sides == 2 && tested {
				row = append(row, textCell(interval), textCell(p), textCell(fmt.Sprintf("%d, %d", base.N, v.N)))
			}
			row = append(row, textCell(cmp.Or(v.Verdict, said(r, side))))
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// stageLabel returns the label of a row. In old dumps, a stage is the sum of several steps; the label then includes the
// number of steps.
func stageLabel(r *dumps.Row) string {
	var counts []string
	for _, v := range r.Values {
		if n := strconv.Itoa(v.Count); v.N > 0 && !slices.Contains(counts, n) {
			counts = append(counts, n)
		}
	}
	return r.Name + ofSteps(r, strings.Join(counts, "->"))
}

func ofSteps(r *dumps.Row, counts string) string {
	if r.Name != dumps.Loop {
		return ""
	}
	return " (" + counts + " steps)"
}

func msCell(v *dumps.Value) cell {
	if v.N == 0 {
		return textCell(dash)
	}
	return durCell(v.MS * 1e6)
}

// throughput returns the row with the number of generations per second if generations run one after another.
func throughput(e2e *dumps.Row, width int) []cell {
	row := []cell{textCell("throughput")}
	per := (width - 2) / (len(e2e.Values) - 1)
	for i, v := range e2e.Values {
		row = append(row, textCell(fmt.Sprintf("%.3g/s", perSecond(v.MS))))
		for k := 1; i > 0 && k < per; k++ {
			row = append(row, textCell(""))
		}
	}
	return row
}

func perSecond(ms float64) float64 {
	if ms == 0 {
		return 0
	}
	return 1000 / ms
}

// peaksTable returns the table of the peaks of allocated memory.
func peaksTable(c *dumps.Comparison) *table {
	t := &table{id: "memory", title: "Memory, peak allocated", cols: []column{{name: "checkpoint", flex: true, min: 24}}}
	for i := range c.Sides {
		t.cols = append(t.cols, column{name: sideLetter(i), right: true})
		if i > 0 {
			t.cols = append(t.cols, column{name: "change", right: true})
		}
	}
	for _, m := range c.Memory {
		row := []cell{textCell(m.Checkpoint)}
		for i, mb := range m.PeakMB {
			text, change := dash, dash
			if mb >= 0 {
				text = metric.Bytes(mb * (1 << 20))
				if m.PeakMB[0] > 0 {
					change = metric.PercentChange(mb/m.PeakMB[0] - 1)
				}
			}
			row = append(row, textCell(text))
			if i > 0 {
				row = append(row, textCell(change))
			}
		}
		t.rows = append(t.rows, row)
	}
	return t
}
