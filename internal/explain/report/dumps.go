package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/dumps"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// DumpsCompared returns a comparison of performance dumps.
func DumpsCompared(c *dumps.Comparison, o Options) *Comparison {
	v := &Comparison{title: "Comparison of performance dumps", doubts: dumpDoubts(c), unlike: dumpDifferences(c, false)}
	var verdicts []string
	for i := range c.Sides {
		v.sides = append(v.sides, dumpSide(&c.Sides[i]))
		if i > 0 {
			verdicts = append(verdicts, stopped(ofSide(c, i)+dumpVerdict(c, i)))
		}
	}
	v.verdict = strings.Join(verdicts, "\n")
	for _, r := range c.Worse {
		text := ofSide(c, r.Side) + columns.Clean(r.Name) + ": " + metric.PercentChange(r.Change)
		if !r.Tested {
			text += " (not tested: too few dumps)"
		}
		v.worse = append(v.worse, text)
	}
	if c.Limit > 0 {
		for _, side := range c.Unmeasured {
			v.undecided = append(v.undecided, ofSide(c, side)+"E2E is not judged: total_duration_ms is 0")
		}
	}
	v.answer(c.Limit, nil, false, "slower")
	for _, s := range c.Slow {
		title := fmt.Sprintf("denoising step %d of %s took %s, its other steps %s", s.Step, sideLetter(s.Side), msCell(s.MS).text, msCell(s.Others).text)
		v.causes = append(v.causes, comparedCause{Mark: "OUTLIER", Title: title, Fits: true})
	}
	v.tables, v.notes = []*table{dumpFigures(c, o.rows())}, dumpNotes(c)
	v.sglang = func(w io.Writer) error { return DumpsMarkdown(w, c, time.Now()) }
	return v
}

// sideLetter returns the name of a side: A, B, …, Z, and after Z a number.
func sideLetter(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return fmt.Sprintf("#%d", i+1)
}

// ofSide returns the name of a side as the start of a line. It returns "" if B is the only side that is compared with A.
func ofSide(c *dumps.Comparison, side int) string {
	if len(c.Sides) == 2 {
		return ""
	}
	return sideLetter(side) + ": "
}

// dumpSide describes a side.
func dumpSide(s *dumps.About) string {
	text := s.Name + ": " + plural(s.Dumps, "dump")
	for _, list := range [][]string{s.Models, s.Sizes} {
		if len(list) == 1 {
			text += ", " + list[0]
		}
	}
	if len(s.StepCount) == 1 {
		text += ", " + plural(s.StepCount[0], "denoising step")
	}
	if len(s.Commits) == 1 && s.Commits[0] != "N/A" {
		text += ", commit " + s.Commits[0]
	}
	return columns.Clean(text)
}

// dumpDifferences returns the differences between the workloads, which cast doubt on all figures. If counted is set, it
// omits the numbers of steps, because the table contains them.
func dumpDifferences(c *dumps.Comparison, counted bool) (lines []string) {
	for _, u := range c.Unlike {
		if counted && u.What == dumps.StepCount {
			continue
		}
		var each []string
		for i, values := range u.Values {
			var quoted []string
			for _, v := range values {
				quoted = append(quoted, shortenName(columns.Clean(v), 60))
			}
			each = append(each, sideLetter(i)+" "+cmp.Or(strings.Join(quoted, " and "), "unknown"))
		}
		lines = append(lines, u.What+": "+strings.Join(each, ", "))
	}
	return lines
}

// dumpDoubts lists the sides that did not use SGLang's pipeline, and the sides without a total time.
func dumpDoubts(c *dumps.Comparison) (lines []string) {
	for i := range c.Sides {
		if c.Sides[i].Diffusers {
			lines = append(lines, sideLetter(i)+" fell back to Diffusers' own pipeline, so it shows nothing about SGLang's")
		}
		if c.E2E.Values[i].N == 0 {
			lines = append(lines, sideLetter(i)+" has no total time: total_duration_ms is 0, so E2E is not judged")
		}
	}
	return lines
}

// dumpVerdict returns the verdict on a side: the change of E2E and the stages that cause this change.
func dumpVerdict(c *dumps.Comparison, side int) string {
	v, base := &c.E2E.Values[side], &c.E2E.Values[0]
	if base.N == 0 || v.N == 0 {
		return "E2E is not judged, since it is missing on one side: total_duration_ms is 0"
	}
	var parts []string
	if changed(v) {
		for _, k := range c.Causes[side] {
			parts = append(parts, k.Stage+" "+signed(msCell, k.Diff)+stepList(k.Steps))
		}
	} else {
		for i := range c.Stages {
			if s := &c.Stages[i].Values[side]; changed(s) {
				parts = append(parts, c.Stages[i].Name+" "+signed(msCell, s.Diff))
			}
		}
	}
	text := fmt.Sprintf("E2E %s: %s (%s)", v.Verdict, fromTo(msCell(base.MS).text, msCell(v.MS).text), metric.PercentChange(v.Change))
	if len(parts) > 0 {
		text += ": " + columns.Clean(strings.Join(parts, ", "))
	}
	return text
}

func changed(v *dumps.Value) bool { return v.Verdict == result.Slower || v.Verdict == result.Faster }

func stepList(steps []int) string {
	if len(steps) == 0 {
		return ""
	}
	var names []string
	for _, n := range steps {
		names = append(names, fmt.Sprintf("step %d", n))
	}
	return " (most of it in " + strings.Replace(strings.Join(names, ", "), "step 0", "the first step", 1) + ")"
}

// dumpNotes returns the limitations of the comparison.
func dumpNotes(c *dumps.Comparison) (notes []string) {
	if len(c.NotSaid) > 0 {
		notes = append(notes, "some dumps lack their "+strings.Join(c.NotSaid, ", ")+", so this could not be compared")
	}
	if slices.ContainsFunc(c.E2E.Values[1:], func(v dumps.Value) bool { return v.N > 0 && !v.Tested }) {
		notes = append(notes, "too few dumps for a significance test: verdicts are SGLang's thresholds (2 % of the whole; 10 % and 120 ms of a stage), and "+
			"the variation between runs of one build is unknown; give four or more of each side, as A1.json,A2.json,… or a directory")
	}
	return notes
}

// dumpFigures returns the table of all figures. If there are more denoising steps than limit, the table has only the
// first step, the median of the others, and the outliers.
func dumpFigures(c *dumps.Comparison, limit int) *table {
	t := dumpTable("Times, throughput, peak memory", c)
	t.addRows(c, msCell, c.E2E)
	var rates []float64
	for _, v := range c.E2E.Values {
		rates = append(rates, cmp.Or(perSecond(v.MS), -1))
	}
	t.addRows(c, func(v float64) cell { return textCell(fmt.Sprintf("%.3g/s", v)) }, figureRow("throughput", rates))
	t.addRows(c, msCell, append(slices.Clone(c.Stages), c.Rest)...)
	few := limit > 0 && len(c.Steps) > limit
	if few {
		t.omit("--all shows each denoising step")
	}
	for i := range c.Steps {
		if r := &c.Steps[i]; !few || r.Step < 1 || slices.ContainsFunc(c.Slow, func(s dumps.SlowStep) bool { return s.Step == r.Step }) {
			t.addRows(c, msCell, *r)
		}
	}
	for _, m := range c.Memory {
		t.addRows(c, func(mb float64) cell { return textCell(metric.Bytes(mb * (1 << 20))) }, figureRow("peak memory, "+m.Checkpoint, m.PeakMB))
	}
	t.prune()
	return t
}

// dumpTable returns a table without rows. It has columns for each side and for its change from A.
func dumpTable(title string, c *dumps.Comparison) *table {
	t := &table{id: "rows", title: title, cols: []column{{flex: true, min: 24}, {name: "A", right: true}}}
	for i := range c.Sides[1:] {
		t.cols = append(t.cols, column{name: sideLetter(i + 1), right: true}, column{name: "difference", right: true, drop: 4}, column{name: "change", right: true},
			column{name: "95 % interval", right: true, drop: 1}, column{name: "p", right: true, drop: 2}, column{name: "dumps", right: true, drop: 3}, column{name: "verdict"})
	}
	return t
}

// addRows adds those of the rows that have a value. unit formats the values.
func (t *table) addRows(c *dumps.Comparison, unit func(float64) cell, rows ...dumps.Row) {
	for i := range rows {
		r, row := &rows[i], []cell(nil)
		for side, v := range r.Values {
			a := &r.Values[0]
			cells := changeCells(&result.Change{A: a.MS, B: v.MS, NA: a.N, NB: v.N, Change: v.Change, Lo: v.Lo, Hi: v.Hi, PAdj: v.PAdj, Enough: v.Tested},
				cmp.Or(v.Verdict, outlier(c, r, side)), unit)
			if side == 0 {
				row = []cell{textCell(rowLabel(r)), cells[0]}
				continue
			}
			diff := textCell(dash)
			if a.N > 0 && v.N > 0 {
				diff = textCell(signed(unit, v.Diff))
			}
			if !v.Tested {
				cells[5] = textCell(dash)
			}
			row = append(append(row, cells[1], diff), cells[2:]...)
		}
		if slices.ContainsFunc(r.Values, func(v dumps.Value) bool { return v.N > 0 }) {
			t.rows = append(t.rows, row)
		}
	}
}

// figureRow returns a row of figures that are not times. A negative figure is unknown.
func figureRow(name string, figures []float64) dumps.Row {
	r := dumps.Row{Name: name, Step: -1}
	for _, x := range figures {
		v := dumps.Value{MS: x, Diff: x - figures[0], Change: ratio(x-figures[0], figures[0])}
		if x >= 0 {
			v.N = 1
		}
		r.Values = append(r.Values, v)
	}
	return r
}

// outlier returns the verdict on a denoising step that took much longer than others.
func outlier(c *dumps.Comparison, r *dumps.Row, side int) string {
	for _, s := range c.Slow {
		if s.Step == r.Step && (s.Side == side || s.Side == 0) {
			return "outlier in " + sideLetter(s.Side)
		}
	}
	return ""
}

// rowLabel returns the label of a row. In old dumps, a stage is the sum of several steps; the label then includes the
// number of steps.
func rowLabel(r *dumps.Row) string {
	switch r.Name {
	case dumps.FirstStep:
		return "first denoising step"
	case dumps.OtherSteps:
		return "other steps, median"
	}
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

func msCell(ms float64) cell { return durCell(ms * 1e6) }

// signed formats a difference.
func signed(unit func(float64) cell, v float64) string {
	if v > 0 {
		return "+" + unit(v).text
	}
	return unit(v).text
}

func perSecond(ms float64) float64 { return ratio(1000, ms) }
