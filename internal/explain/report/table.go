package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
)

// A table is the content of a table, independent of the output format.
type table struct {
	id    string // unique in the report; used as the HTML anchor
	title string
	lead  string // explains the figures where column names do not
	cols  []column
	rows  [][]cell
	// omitted describes the rows that were left out, such as "10 of 64, by total time". It is "" if no rows were left
	// out.
	omitted string
	legend  []string // segment names of the bars, in order
}

type column struct {
	name  string
	help  string // the tooltip
	right bool   // numbers
	flex  bool   // text that may be shortened to save space
	min   int    // of flex: columns are dropped before the text becomes shorter than this
	tail  bool   // of flex: the end of the text matters most, as in the path of a module
	wrap  bool   // of flex: the text is wrapped instead of shortened
	code  bool   // the column has names of kernels, ops or files
	bar   bool   // cells hold segments, not text
	page  bool   // the column is shown only in HTML
	// drop > 0: the column may be dropped to save space. The column with the highest value is dropped first.
	drop int
}

// A cell is a text with its sort key.
type cell struct {
	text string
	full string  // the unshortened name; "" if text is not shortened
	num  float64 // sort key of a number
	bar  []segment
	span *span
}

// A segment is one part of a bar. The parts of the longest bar of a table sum up to at most 1.
type segment struct {
	Name string // selects the colour
	Frac float64
}

// A span is the spread of a sample, on a scale that all spans of a column share.
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

// countCell shows a count. A negative count is shown as unknown.
func countCell[T ~int | ~int64](n T) cell {
	if n < 0 {
		return cell{text: dash, num: -1}
	}
	return cell{text: metric.Count(n), num: float64(n)}
}

// shareCell shows a fraction, always with one decimal, so that decimal points align.
func shareCell(f float64) cell { return cell{text: share(f), num: finite(f)} }

// excessCell shows an excess as a percentage, such as "12.3 %". From tenfold on, it shows a factor, such as "×40".
func excessCell(f float64) cell {
	c := shareCell(f)
	if c.num >= 9 {
		c.text = "×" + metric.Count(int64(math.Round(1+c.num)))
	}
	return c
}

func share(f float64) string { return metric.Tenths(finite(f)) }

// rateCell shows a positive number with three digits. The unit is in the name of the column. 0 means unknown.
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

// ratio returns a/b, or 0 if b = 0.
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

// take keeps only the columns with the indices idx, in the order of idx.
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

// ranked returns a copy of rows, sorted by descending value and cut to limit rows.
func ranked[T any](rows []T, limit int, order string, by func(*T) float64) ([]T, string) {
	rows = slices.Clone(rows)
	sorts.Stable(rows, func(a, b T) int { return cmp.Compare(by(&b), by(&a)) })
	return cut(rows, limit, order)
}

// largest returns the largest value of all rows, which sets the scale of the bars.
func largest[T any](rows []T, of func(*T) float64) (most float64) {
	for i := range rows {
		most = max(most, finite(of(&rows[i])))
	}
	return most
}

// cut returns the first limit rows (0: all rows) and a description of the omitted rows.
func cut[T any](rows []T, limit int, order string) ([]T, string) {
	if limit <= 0 || len(rows) <= limit {
		return rows, ""
	}
	return rows[:limit], leftOut(limit, len(rows), order)
}

func leftOut(shown, of int, order string) string {
	return metric.Count(shown) + " of " + metric.Count(of) + order
}
