package report

import (
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
)

const (
	gutter  = 2  // number of blank columns between two cells
	minFlex = 12 // minimum width of a shortened name
	minBar  = 8
	maxBar  = 28
)

// render returns the table as lines no wider than width. To fit the width, names are shortened first; then columns are
// dropped in the order of column.drop.
func (t *table) render(width int, p paint) []string {
	t, limits := t.fit(width)
	bar := t.barWidth(width)
	cols, named := make([]columns.Column, len(t.cols)), false
	for i, c := range t.cols {
		named = named || c.name != ""
		cols[i].Name = c.name
		if c.right {
			cols[i].Align = columns.AlignRight
		}
		if c.wrap {
			cols[i].Wrap = limits[i]
		}
	}
	rows := make([][]string, len(t.rows))
	for i, row := range t.rows {
		for k, c := range row {
			if t.cols[k].bar {
				c.text = textBar(c.bar, bar, p)
			}
			rows[i] = append(rows[i], c.text)
		}
	}
	lines := columns.Table(columns.Ruled, cols, rows)
	if named && len(lines) > 1 {
		lines[0] = p.bold(lines[0])
		lines[1] = p.faint(strings.Repeat("─", min(width, columns.Width(lines[1]))))
	}
	return lines
}

// below returns the title and, under it, the table. It is used for reports that consist mainly of tables.
func (t *table) below(o Options) string {
	p := paint(o.Color)
	head := "\n" + p.bold(t.title)
	switch more := "  (" + t.omitted + ")"; {
	case t.omitted == "":
	case columns.Width(t.title+more) <= o.width():
		head += more
	default:
		head += "\n" + strings.Join(columns.Wrap(strings.TrimSpace(more), o.width()), "\n")
	}
	return head + "\n" + strings.Join(t.render(o.width(), p), "\n") + "\n"
}

// fit returns a copy of the table that is at most width wide, if possible, and the widths of the copy's columns.
func (t *table) fit(width int) (*table, []int) {
	c := &table{cols: t.cols, rows: t.rows}
	c.drop(func(i int) bool { return t.cols[i].page })
	for {
		widths := c.widths()
		over := -width - gutter
		for _, w := range widths {
			over += w + gutter
		}
		if limits, ok := c.shorten(widths, over, true); ok {
			return c, limits
		}
		worst := -1
		for i, col := range c.cols {
			if col.drop > 0 && (worst < 0 || col.drop > c.cols[worst].drop) {
				worst = i
			}
		}
		if worst < 0 {
			limits, _ := c.shorten(widths, over, false)
			return c, limits
		}
		c.drop(func(i int) bool { return i == worst })
	}
}

// drop removes the columns for which gone returns true.
func (t *table) drop(gone func(int) bool) {
	idx := make([]int, 0, len(t.cols))
	for i := range t.cols {
		if !gone(i) {
			idx = append(idx, i)
		}
	}
	t.take(idx)
}

func (t *table) widths() []int {
	out := make([]int, len(t.cols))
	for i, col := range t.cols {
		out[i] = columns.Width(col.name)
		if col.bar {
			out[i] = max(out[i], minBar)
			continue
		}
		for _, row := range t.rows {
			out[i] = max(out[i], columns.Width(row[i].text))
		}
	}
	return out
}

// shorten reduces the widths of the widest names by a total of over. If comfort is set, no name becomes shorter than a
// comfortable length. ok reports whether the reduction was possible. If it was not and comfort is set, shorten changes
// nothing.
func (t *table) shorten(widths []int, over int, comfort bool) (limits []int, ok bool) {
	limits = append([]int(nil), widths...)
	for ; over > 0; over-- {
		widest := -1
		for i, col := range t.cols {
			least := minFlex
			if comfort {
				least = max(least, col.min)
			}
			if col.flex && limits[i] > least && (widest < 0 || limits[i] > limits[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		limits[widest]--
	}
	if over > 0 && comfort {
		return nil, false
	}
	for i, col := range t.cols {
		if limits[i] < widths[i] && !col.wrap {
			for _, row := range t.rows {
				if col.tail {
					row[i].text = shortenPath(row[i].text, limits[i])
				} else {
					row[i].text = shortenName(row[i].text, limits[i])
				}
			}
		}
	}
	return limits, over <= 0
}

// barWidth returns the width that remains for the table's bar column.
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

// shortenName removes a part after the middle of a name. The start of a kernel's name matters most, and the last
// characters distinguish similar kernels.
func shortenName(s string, width int) string {
	if columns.Width(s) <= width || width < 2 {
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

// shortenPath removes the start of a path, which similar paths share.
func shortenPath(s string, width int) string {
	runes := []rune(s)
	if columns.Width(s) <= width || width < 2 || width > len(runes) {
		return s
	}
	return "…" + string(runes[len(runes)-width+1:])
}

// textBar draws the segments as a bar that is width columns wide. Each column shows the segment at the column's middle.
func textBar(segs []segment, width int, p paint) string {
	var b strings.Builder
	end, from := 0.0, 0
	for _, s := range segs {
		end += max(s.Frac, 0)
		to := min(int(end*float64(width)+0.5), width)
		if to > from {
			b.WriteString(p.segment(s.Name, strings.Repeat(segmentRune(s.Name), to-from)))
			from = to
		}
	}
	return b.String()
}

// segmentRune returns the character of a segment. It distinguishes segments on a terminal without colours.
func segmentRune(name string) string {
	switch name {
	case "transfer", "communication":
		return "▓"
	case "wait", "peers":
		return "▒"
	case "copy":
		return "▪"
	case "idle", "unknown", "profiler", "between":
		return "·"
	case "sync", "MoE":
		return "▓"
	case "launch":
		return "▒"
	case "device", unrecorded:
		return "░"
	}
	return "█"
}
