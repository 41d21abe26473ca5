// Package columns formats text in columns for a terminal or a log.
package columns

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"text/tabwriter"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Left writes rows with left-aligned columns, two spaces apart.
func Left(w io.Writer, rows [][]string) error { return write(w, rows, 0) }

// Right writes rows with all columns right-aligned except the last. It is for rows of figures that end with a name.
func Right(w io.Writer, rows [][]string) error { return write(w, rows, tabwriter.AlignRight) }

// Section writes a title, an optional head and the rows. It writes nothing if there are no rows.
func Section(w io.Writer, title string, head []string, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	if _, err := fmt.Fprintf(w, "\n%s\n", title); err != nil {
		return err
	}
	if head != nil {
		rows = slices.Insert(rows, 0, head)
	}
	return Left(w, rows)
}

func write(w io.Writer, rows [][]string, flags uint) error {
	var out strings.Builder
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', flags)
	for _, r := range rows {
		for i, s := range r {
			switch {
			case i == 0:
			case i == len(r)-1 && flags == tabwriter.AlignRight:
				io.WriteString(t, "\t  ")
			default:
				io.WriteString(t, "\t")
			}
			io.WriteString(t, Clean(s))
		}
		io.WriteString(t, "\n")
	}
	t.Flush()
	for line := range strings.Lines(out.String()) {
		if _, err := io.WriteString(w, strings.TrimRight(line, " \n")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

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
type Align = text.Align

// Alignments of a column.
const (
	AlignLeft   = text.AlignLeft
	AlignRight  = text.AlignRight
	AlignCenter = text.AlignCenter
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

// Table returns the lines of a table. It has no header if all columns are unnamed.
func Table(style Style, cols []Column, rows [][]string) []string {
	t := table.NewWriter()
	look := table.StyleLight
	if style == ASCII || style == Boxed {
		look = table.StyleDefault
	}
	if style != Boxed {
		look.Options = table.Options{SeparateHeader: true}
		look.Box.PaddingLeft, look.Box.PaddingRight = "", "  "
	}
	look.Format.Header = text.FormatDefault
	t.SetStyle(look)
	header, named := make(table.Row, len(cols)), false
	configs := make([]table.ColumnConfig, len(cols))
	for i, c := range cols {
		header[i] = c.Name
		named = named || c.Name != ""
		configs[i] = table.ColumnConfig{Number: i + 1, Align: c.Align, AlignHeader: c.Align}
		if c.Wrap > 0 {
			configs[i].WidthMax, configs[i].WidthMaxEnforcer = c.Wrap, text.WrapSoft
		}
	}
	if named {
		t.AppendHeader(header)
	}
	t.SetColumnConfigs(configs)
	for _, r := range rows {
		row := make(table.Row, len(r))
		for i := range r {
			row[i] = r[i]
		}
		t.AppendRow(row)
	}
	out := t.Render
	if style == Markdown {
		out = t.RenderMarkdown
	}
	lines := strings.Split(out(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// Width returns the number of terminal columns that s occupies.
func Width(s string) int { return text.StringWidthWithoutEscSequences(s) }

// Wrap breaks a text into lines of at most width columns. It breaks between words, and within a word only if the word
// is wider than a line. Empty text yields no lines.
func Wrap(s string, width int) []string {
	if s == "" {
		return nil
	}
	lines := strings.Split(text.WrapSoft(s, max(width, 1)), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// Ends returns a line of the given width with left at its left end and right at its right end.
func Ends(left, right string, width int) string {
	left = Short(left, max(width-Width(right)-2, 0))
	return Short(left+strings.Repeat(" ", max(width-Width(left)-Width(right), 2))+right, width)
}

// Short truncates a text to width columns.
func Short(text string, width int) string {
	if Width(text) <= width {
		return text
	}
	if width < 1 {
		return ""
	}
	r := []rune(text)
	most := width // runes that may fit; more only if some have no width
	for most < len(r) && Width(string(r[:most])) < width {
		most *= 2
	}
	r = r[:min(most, len(r))]
	fit := sort.Search(len(r), func(n int) bool { return Width(string(r[:n+1])) >= width })
	return string(r[:fit]) + "…"
}
