package report

import (
	"strings"

	pretty "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

const (
	gutter  = 2  // columns between two cells
	minFlex = 18 // a shortened name keeps at least this much
	minBar  = 8
	maxBar  = 28
)

// render writes the table as lines no wider than width: names are shortened
// first, then columns go in the order that their drop says.
func (t *table) render(width int, p paint) []string {
	t = t.fit(width)
	bar := t.barWidth(width)
	w := pretty.NewWriter()
	style := pretty.StyleLight
	style.Options = pretty.Options{SeparateHeader: true}
	style.Format.Header = text.FormatDefault
	style.Box.PaddingLeft, style.Box.PaddingRight = "", strings.Repeat(" ", gutter)
	w.SetStyle(style)
	header := make(pretty.Row, len(t.cols))
	configs := make([]pretty.ColumnConfig, len(t.cols))
	for i, c := range t.cols {
		header[i] = c.name
		a := text.AlignLeft
		if c.right {
			a = text.AlignRight
		}
		configs[i] = pretty.ColumnConfig{Number: i + 1, Align: a, AlignHeader: a}
	}
	w.AppendHeader(header)
	w.SetColumnConfigs(configs)
	for _, row := range t.rows {
		out := make(pretty.Row, len(row))
		for i, c := range row {
			out[i] = c.text
			if t.cols[i].bar {
				out[i] = textBar(c.bar, bar, p)
			}
		}
		w.AppendRow(out)
	}
	lines := strings.Split(w.Render(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	if len(lines) > 1 {
		lines[0] = p.bold(lines[0])
		lines[1] = p.faint(strings.Repeat("─", min(width, text.StringWidthWithoutEscSequences(lines[1]))))
	}
	return lines
}

// fit returns a copy that is at most width wide, if that can be had.
func (t *table) fit(width int) *table {
	c := &table{cols: t.cols, rows: t.rows}
	idx := make([]int, 0, len(t.cols))
	for i := range t.cols {
		if !t.cols[i].page {
			idx = append(idx, i)
		}
	}
	c.take(idx)
	for {
		widths := c.widths()
		over := -width
		for _, w := range widths {
			over += w + gutter
		}
		over -= gutter
		over = c.shorten(widths, over)
		if over <= 0 {
			return c
		}
		worst := -1
		for i, col := range c.cols {
			if col.drop > 0 && (worst < 0 || col.drop > c.cols[worst].drop) {
				worst = i
			}
		}
		if worst < 0 {
			return c
		}
		idx := make([]int, 0, len(c.cols))
		for i := range c.cols {
			if i != worst {
				idx = append(idx, i)
			}
		}
		c.take(idx)
	}
}

func (t *table) widths() []int {
	out := make([]int, len(t.cols))
	for i, col := range t.cols {
		out[i] = text.StringWidthWithoutEscSequences(col.name)
		if col.bar {
			out[i] = max(out[i], minBar)
			continue
		}
		for _, row := range t.rows {
			out[i] = max(out[i], text.StringWidthWithoutEscSequences(row[i].text))
		}
	}
	return out
}

// shorten takes over columns of width from the widest names and returns what
// it could not take. Nothing is shortened when that would not be enough.
func (t *table) shorten(widths []int, over int) int {
	limits := append([]int(nil), widths...)
	for over > 0 {
		widest := -1
		for i, col := range t.cols {
			if col.flex && limits[i] > minFlex && (widest < 0 || limits[i] > limits[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return over
		}
		limits[widest]--
		over--
	}
	for i := range t.cols {
		if limits[i] < widths[i] {
			for _, row := range t.rows {
				row[i].text = shortenName(row[i].text, limits[i])
			}
		}
	}
	return 0
}

// barWidth is what is left of width for the table's bar column.
func (t *table) barWidth(width int) int {
	left := width
	for i, w := range t.widths() {
		left -= gutter
		if !t.cols[i].bar {
			left -= w
		}
	}
	return min(max(left+gutter, minBar), maxBar)
}

// shortenName cuts out of the middle, nearer to the end: names of kernels tell
// most at their start, and their last characters tell siblings apart.
func shortenName(s string, width int) string {
	if text.StringWidthWithoutEscSequences(s) <= width || width < 2 {
		return s
	}
	tail := (width - 1) / 3
	runes := []rune(s)
	head := width - 1 - tail
	if head+tail >= len(runes) {
		return s
	}
	return string(runes[:head]) + "…" + string(runes[len(runes)-tail:])
}

// textBar draws the segments over width columns, each cell by what covers its middle.
func textBar(segs []segment, width int, p paint) string {
	var b strings.Builder
	end, from := 0.0, 0
	for _, s := range segs {
		end += max(s.frac, 0)
		to := min(int(end*float64(width)+0.5), width)
		if to > from {
			b.WriteString(p.segment(s.name, strings.Repeat(segmentRune(s.name), to-from)))
			from = to
		}
	}
	return b.String()
}

// segmentRune tells the parts apart where there is no colour.
func segmentRune(name string) string {
	switch name {
	case "transfer", "communication":
		return "▓"
	case "wait":
		return "▒"
	case "copy":
		return "▪"
	case "idle", "unknown", "profiler":
		return "·"
	case "sync", "MoE":
		return "▓"
	case "launch":
		return "▒"
	case "device":
		return "░"
	}
	return "█"
}
