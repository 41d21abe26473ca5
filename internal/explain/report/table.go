package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
)

// A table is the content of a table, independent of its output format.
type table struct {
	id    string // unique in the report; the HTML anchor
	title string
	lead  string // explains the figures where column names do not
	cols  []column
	rows  [][]cell
	// omitted describes the rows that were left out, such as "10 of 64, by total time"; "" if none were.
	omitted string
	legend  []string // segment names of its bars, in order
}

type column struct {
	name  string
	help  string // the tooltip
	right bool   // numbers
	flex  bool   // text that may be shortened to save space
	min   int    // of flex: columns are dropped before it gets shorter than this
	tail  bool   // of flex: its end matters most, as in the path of a module
	wrap  bool   // of flex: wraps instead
	code  bool   // names of kernels, ops, files
	bar   bool   // cells hold segments, not text
	page  bool   // only in HTML
	// drop > 0: the column may be dropped to save space, the highest first.
	drop int
}

// A cell is a text with its sort key.
type cell struct {
	text string
	full string  // the unshortened name; "" if text is not shortened
	num  float64 // sort key of numbers
	bar  []segment
	span *span
}

// A segment is one part of a bar. The parts of the longest bar of a table sum up to at most 1.
type segment struct {
	Name string // selects the colour
	Frac float64
}

// A span is the spread of a sample, on a scale common to its column.
type span struct{ Min, Median, P99, Max float64 }

const dash = "–" // unknown, or not applicable

func textCell(s string) cell { return cell{text: columns.Clean(s)} }

func nameCell(short, full string) cell {
	short, full = columns.Clean(short), columns.Clean(full)
	switch {
	case short == "":
		short = full
	case full == short:
		full = ""
	}
	return cell{text: short, full: full}
}

func durCell[T metric.Number](ns T) cell {
	if ns == 0 {
		return cell{text: "0"}
	}
	return cell{text: metric.Duration(ns), num: float64(ns)}
}

func bytesCell(n int64) cell {
	if n <= 0 {
		return cell{text: dash, num: -1}
	}
	return cell{text: metric.Bytes(n), num: float64(n)}
}

// countCell shows a count, negative ones as unknown.
func countCell[T ~int | ~int64](n T) cell {
	if n < 0 {
		return cell{text: dash, num: -1}
	}
	return cell{text: metric.Count(n), num: float64(n)}
}

// shareCell shows a fraction, always with one decimal, so that decimal points align.
func shareCell(f float64) cell { return cell{text: share(f), num: finite(f)} }

// excessCell shows an excess as a percentage, from tenfold on as a factor: "12.3 %", "×40".
func excessCell(f float64) cell {
	c := shareCell(f)
	if c.num >= 9 {
		c.text = "×" + metric.Count(int64(math.Round(1+c.num)))
	}
	return c
}

func share(f float64) string { return metric.Tenths(finite(f)) }

// rateCell shows a positive number with three digits, in the unit of the column's name. 0 means unknown.
func rateCell(v float64) cell {
	if v = finite(v); v <= 0 {
		return cell{text: dash, num: -1}
	}
	return cell{text: three(v), num: v}
}

func three(v float64) string { return metric.Three(v) }

func barCell(segs ...segment) cell {
	c := cell{bar: segs}
	for i := range segs {
		segs[i].Frac = finite(segs[i].Frac)
		c.num += segs[i].Frac
	}
	return c
}

// ratio returns a/b, and 0 for b = 0.
func ratio[A, B metric.Number](a A, b B) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// finite replaces NaN and infinities by 0.
func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// prune removes columns that are empty in all rows.
func (t *table) prune() {
	t.drop(func(i int) bool {
		return !slices.ContainsFunc(t.rows, func(row []cell) bool {
			c := row[i]
			return c.text != "" && c.text != dash || len(c.bar) > 0 || c.span != nil
		})
	})
}

// take keeps the columns idx, in this order.
func (t *table) take(idx []int) {
	pick := func(row []cell) []cell {
		out := make([]cell, len(idx))
		for k, i := range idx {
			out[k] = row[i]
		}
		return out
	}
	cols := make([]column, len(idx))
	for k, i := range idx {
		cols[k] = t.cols[i]
	}
	rows := make([][]cell, len(t.rows))
	for i, row := range t.rows {
		rows[i] = pick(row)
	}
	t.cols, t.rows = cols, rows
}

// ranked returns a copy of rows with the largest first, cut to limit.
func ranked[T any](rows []T, limit int, order string, by func(*T) float64) ([]T, string) {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b T) int { return cmp.Compare(by(&b), by(&a)) })
	return cut(rows, limit, order)
}

// largest returns the largest value of a row, which is the scale of bars.
func largest[T any](rows []T, of func(*T) float64) (most float64) {
	for i := range rows {
		most = max(most, finite(of(&rows[i])))
	}
	return most
}

// cut returns the first limit rows (0: all) and a description of the omission.
func cut[T any](rows []T, limit int, order string) ([]T, string) {
	if limit <= 0 || len(rows) <= limit {
		return rows, ""
	}
	return rows[:limit], leftOut(limit, len(rows), order)
}

func leftOut(shown, of int, order string) string {
	return metric.Count(shown) + " of " + metric.Count(of) + order
}
