package columns

import "strings"

// Style is the style of a table with a header.
type Style int

// Ruled draws a line of ─ under the header, and ASCII a line of -. Boxed draws lines around all cells. Markdown writes
// a Markdown table.
const (
	Ruled Style = iota
	ASCII
	Boxed
	Markdown
)

// Align is the alignment of a column's text.
type Align int

// Alignments of a column.
const (
	AlignLeft Align = iota
	AlignRight
	AlignCenter
)

// Column is one column of a table. Text wider than Wrap continues on the next line. If Wrap is 0, text is not wrapped.
type Column struct {
	Name  string
	Align Align
	Wrap  int
}

// All returns columns with the same alignment.
func All(align Align, names ...string) []Column {
	cols := make([]Column, len(names))
	for i, n := range names {
		cols[i] = Column{Name: n, Align: align}
	}
	return cols
}

// Table returns the lines of a table. It has no header if all columns are unnamed, unless the style is Markdown.
func Table(style Style, cols []Column, rows [][]string) []string {
	header, named := make([]string, len(cols)), false
	for i, c := range cols {
		header[i] = c.Name
		named = named || c.Name != ""
	}
	if style == Markdown {
		return markdown(cols, header, rows)
	}
	t := table{boxed: style == Boxed, cols: cols, widths: make([]int, len(cols))}
	cells := make([][][]string, 0, 1+len(rows)) // the lines of each cell
	for _, row := range append([][]string{header}, rows...) {
		cells = append(cells, t.cells(row))
	}
	rule := t.rule(style)
	var lines []string
	if t.boxed {
		lines = append(lines, rule)
	}
	if named {
		lines = append(t.row(lines, cells[0]), rule)
	}
	for _, row := range cells[1:] {
		lines = t.row(lines, row)
	}
	if t.boxed {
		lines = append(lines, rule)
	}
	return lines
}

// table is a table that is being drawn.
type table struct {
	boxed  bool
	cols   []Column
	widths []int // of the columns, in columns of the terminal
}

// cells returns the lines of a row's cells and widens the columns for them.
func (t *table) cells(row []string) [][]string {
	cells := make([][]string, len(t.cols))
	for i := range min(len(row), len(t.cols)) {
		if cells[i] = strings.Split(row[i], "\n"); t.cols[i].Wrap > 0 {
			cells[i] = Wrap(row[i], t.cols[i].Wrap)
		}
		for _, line := range cells[i] {
			t.widths[i] = max(t.widths[i], Width(line))
		}
	}
	return cells
}

// rule returns the line between the header and the rows.
func (t *table) rule(style Style) string {
	if t.boxed {
		var out strings.Builder
		for _, w := range t.widths {
			out.WriteString("+" + strings.Repeat("-", w+2))
		}
		return out.String() + "+"
	}
	wide := 0
	for _, w := range t.widths {
		wide += w + 2
	}
	if style == ASCII {
		return strings.Repeat("-", wide)
	}
	return strings.Repeat("─", wide)
}

// row appends the lines of a row.
func (t *table) row(lines []string, cells [][]string) []string {
	high := 1
	for _, c := range cells {
		high = max(high, len(c))
	}
	for n := range high {
		var out strings.Builder
		for i, c := range cells {
			text := ""
			if n < len(c) {
				text = c[n]
			}
			blank := t.widths[i] - Width(text)
			before := 0
			switch t.cols[i].Align {
			case AlignRight:
				before = blank
			case AlignCenter:
				before = blank / 2
			}
			text = strings.Repeat(" ", before) + text + strings.Repeat(" ", blank-before)
			if t.boxed {
				out.WriteString("| " + text + " ")
			} else {
				out.WriteString(text + "  ")
			}
		}
		if t.boxed {
			out.WriteString("|")
		}
		lines = append(lines, strings.TrimRight(out.String(), " "))
	}
	return lines
}

// markdown returns the lines of a Markdown table.
func markdown(cols []Column, header []string, rows [][]string) []string {
	marks := make([]string, len(cols))
	for i, c := range cols {
		marks[i] = []string{AlignLeft: " --- ", AlignRight: " ---:", AlignCenter: ":---:"}[c.Align]
	}
	escape := strings.NewReplacer("|", `\|`, "\n", "<br/>")
	line := func(row []string) string {
		out := "|"
		for _, cell := range row {
			out += " " + escape.Replace(cell) + " |"
		}
		return out
	}
	lines := []string{line(header), "|" + strings.Join(marks, "|") + "|"}
	for _, row := range rows {
		lines = append(lines, line(row))
	}
	return lines
}
