package report

import (
	"bufio"
	"html"
	"io"
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Markdown writes r for GitHub and GitLab. The findings and the first tables are shown open. The other tables are
// folded, so that a comment on a merge request stays short.
func Markdown(w io.Writer, r *result.Report, o Options) error {
	b := bufio.NewWriter(w)
	title := "Analysis"
	if r.Source.ID != "" {
		title += " of " + codeSpan(r.Source.ID, false)
	}
	write := lines(b)
	write("## ", title, "\n")
	head := headline(r)
	for i := range head {
		head[i] = escapeMarkdown(head[i])
	}
	write(strings.Join(head, " · "))
	lacks := func(first bool) {
		if c := caveat(r); c != "" && r.NoFault == first {
			write("\n**Incomplete:** ", escapeMarkdown(c))
		}
	}
	lacks(true)
	if s := answer(r); s != "" {
		write("\n**", escapeMarkdown(s), "**")
	}
	lacks(false)
	write("")
	if len(r.Findings) == 0 {
		write(noFindings)
	}
	for i := range r.Findings {
		markdownFinding(write, &r.Findings[i], o.All)
	}
	if all := overall(r); all != nil {
		write("\nGPU time: ", escapeMarkdown(summary(all)))
	}
	if s := lightOf(r); s != "" {
		write("\nSpeed of light: ", escapeMarkdown(s))
	}
	for _, s := range lightChanges(r, mostChanges) {
		write("\n- ", escapeMarkdown(s))
	}
	if s := confidence(r); s != "" {
		write("\n", escapeMarkdown(s))
	}
	const open = 2 // tables shown unfolded
	for i, s := range sections(r, o.rows(), o.Layers) {
		markdownTable(write, s, i >= open)
	}
	return b.Flush()
}

// lines returns a function that writes the parts of a line and a newline.
func lines(w io.StringWriter) func(parts ...string) {
	return func(parts ...string) { w.WriteString(strings.Join(parts, "") + "\n") }
}

func markdownFinding(write func(...string), f *result.Finding, all bool) {
	line := "- **" + escapeMarkdown(strings.ToUpper(columns.Clean(f.Severity))) + "** " + escapeMarkdown(columns.Clean(Words(f.Title)))
	if c := worth(f); c != "" {
		line += " (**" + c + "**)"
	}
	write(line)
	evidence := proofs(f)
	if !all {
		evidence, _ = cut(evidence, firstEvidence, "")
	}
	for i := range evidence {
		text, name := proof(&evidence[i])
		line := "  - " + escapeMarkdown(text)
		if name != "" {
			line += ": " + codeSpan(name, false)
		}
		write(line)
	}
	if n := len(proofs(f)) - len(evidence); n > 0 {
		write("  - and ", plural(n, "more fact"))
	}
	for _, todo := range f.Next {
		write("  - → ", escapeMarkdown(columns.Clean(Words(todo))))
	}
	if f.Guide != "" {
		write("  - → `stepscope guide ", f.Guide, "`")
	}
}

func markdownTable(write func(...string), s *table, folded bool) {
	idx := make([]int, 0, len(s.cols))
	for i, c := range s.cols {
		if !c.page && !c.bar {
			idx = append(idx, i)
		}
	}
	t := &table{cols: s.cols, rows: s.rows}
	t.take(idx)
	head := s.title
	if s.omitted != "" {
		head += " (" + s.omitted + ")"
	}
	if folded { // Markdown is not interpreted inside this line
		write("\n<details><summary>", html.EscapeString(head), "</summary>\n")
	} else {
		write("\n### ", escapeMarkdown(head), "\n")
	}
	if s.lead != "" {
		write(escapeMarkdown(s.lead), "\n")
	}
	names, rule := make([]string, len(t.cols)), make([]string, len(t.cols))
	for i, c := range t.cols {
		names[i], rule[i] = escapeMarkdown(c.name), "---"
		if c.right {
			rule[i] = "--:"
		}
	}
	write("| ", strings.Join(names, " | "), " |")
	write("| ", strings.Join(rule, " | "), " |")
	for _, row := range t.rows {
		out := make([]string, len(row))
		for i, c := range row {
			if t.cols[i].code && c.text != "" && c.text != dash {
				out[i] = codeSpan(c.text, true)
			} else {
				out[i] = escapeMarkdown(c.text)
			}
		}
		write("| ", strings.Join(out, " | "), " |")
	}
	if folded {
		write("\n</details>")
	}
}

var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", `*`, `\*`, `_`, `\_`, `[`, `\[`, `]`, `\]`, `|`, `\|`, `~`, `\~`, `#`, `\#`, `$`, `\$`,
	`&`, `&amp;`, `<`, `&lt;`, `>`, `&gt;`,
)

// escapeMarkdown escapes text so that it can be used in Markdown, including table cells.
func escapeMarkdown(s string) string { return markdownEscapes.Replace(columns.Clean(s)) }

// EscapeMarkdown is [escapeMarkdown], for headings that other packages write.
func EscapeMarkdown(s string) string { return escapeMarkdown(s) }

// plainMarkdown escapes only the characters that begin an element, a link or a cell, so that ordinary names remain as
// SGLang writes them.
func plainMarkdown(s string) string { return elements.Replace(columns.Clean(s)) }

var elements = strings.NewReplacer("`", "\\`", `[`, `\[`, `]`, `\]`, `|`, `\|`, `&`, `&amp;`, `<`, `&lt;`, `>`, `&gt;`)

// codeSpan returns s as a code span. In a table, a pipe ends the cell even inside a code span. A backslash before the
// pipe prevents this and is not shown (GFM, section 4.10).
func codeSpan(s string, cell bool) string {
	s = columns.Clean(s)
	if s == "" {
		return ""
	}
	longest, run := 0, 0
	for _, r := range s {
		if r == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	fence := strings.Repeat("`", longest+1)
	if longest > 0 {
		s = " " + s + " "
	}
	if cell {
		s = strings.ReplaceAll(s, "|", `\|`)
	}
	return fence + s + fence
}
