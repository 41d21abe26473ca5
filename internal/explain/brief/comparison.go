package brief

import (
	"fmt"
	"strings"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// comparison is the content of an answer about a comparison. docs/formats/brief.md describes the JSON.
type comparison struct {
	Format int `json:"format"`
	compared
	Captures *compared `json:"captures,omitempty"` // of the compared runs
	Omitted  []Omitted `json:"omitted"`
}

type compared struct {
	Sides     []string   `json:"sides"` // the base first
	Verdict   string     `json:"verdict"`
	Gate      string     `json:"gate"` // result of --fail-on; "": not asked
	Failed    bool       `json:"failed"`
	Worse     []string   `json:"regressions"`
	Undecided []string   `json:"undecided"`
	Unlike    []string   `json:"unlike"`  // differences between the workloads
	Missing   []string   `json:"missing"` // data that the sides lack
	Causes    []cause    `json:"causes"`
	Columns   []string   `json:"columns"` // of rows
	Rows      [][]string `json:"rows"`    // the figures compared
	Notes     []string   `json:"notes"`
}

type cause struct {
	Change  string   `json:"change"`
	Title   string   `json:"title"`
	Cost    string   `json:"cost"`    // "": in the title, or not known
	Fits    bool     `json:"fits"`    // in the direction of the change of the step time
	Finding string   `json:"finding"` // its id in the analysis of the side that has it; "": no finding
	Facts   []string `json:"facts"`
	More    int      `json:"more_facts"`
	Next    []string `json:"next"`
	Guide   string   `json:"guide"`
}

// Compared returns a comparison of captures for [Comparison]: its names are short, and safe to show.
func Compared(c *result.Comparison) *report.Comparison {
	return report.Compared(report.Named(c, name), report.Options{})
}

// Comparison answers with a comparison, in at most limit bytes. Args.Input names both sides.
func Comparison(v *report.Comparison, of Args, limit int) *Answer {
	o := v.Outline()
	return newAnswer(limit, func(m amount) content {
		c := &comparison{Format: 1, Omitted: []Omitted{}}
		var left int
		if c.compared, left = newCompared(o, m); o.Captures != nil {
			captures, more := newCompared(o.Captures, m)
			c.Captures, left = &captures, left+more
		}
		c.Omitted = omit(c.Omitted, left, "causes, facts, rows and sentences", of.command("compare", "--full"))
		return c
	})
}

// newCompared returns a comparison, and the number of its parts that are left out.
func newCompared(o *report.Outline, m amount) (c compared, left int) {
	c = compared{Verdict: Cut(o.Verdict, 2*m.sentence), Gate: Cut(o.Gate, m.sentence), Failed: o.Failed, Causes: []cause{}, Columns: append([]string{}, o.Head...), Rows: [][]string{}}
	for _, l := range []struct {
		to   *[]string
		from []string
		n    int
	}{
		{&c.Sides, o.Sides, max(m.rows, 2)}, {&c.Worse, o.Worse, m.notes}, {&c.Undecided, o.Undecided, m.notes}, {&c.Unlike, o.Unlike, m.notes},
		{&c.Missing, o.Doubts, m.notes}, {&c.Notes, o.Notes, m.notes},
	} {
		var more int
		*l.to, more = m.sentences(l.from, l.n)
		left += more
	}
	causes, more := few(o.Causes, m.findings)
	left += more
	for _, x := range causes {
		out := cause{Change: strings.ToLower(x.Change), Title: Cut(x.Title, m.sentence), Cost: x.Cost, Fits: x.Fits, Finding: name(x.Finding), Guide: x.Guide}
		out.Facts, out.More = m.sentences(x.Facts, m.facts)
		out.Next, _ = m.sentences(x.Next, max(m.facts/3, 1))
		left += out.More
		c.Causes = append(c.Causes, out)
	}
	rows, more := few(o.Rows, 2*m.rows)
	left += more
	for _, row := range rows {
		cells, _ := m.sentences(row, len(row))
		for i := range cells {
			cells[i] = Cut(cells[i], 80)
		}
		c.Rows = append(c.Rows, cells)
	}
	return c, left
}

func (c *comparison) text() string {
	var b strings.Builder
	b.WriteString("# Comparison\n")
	c.write(&b)
	if c.Captures != nil {
		b.WriteString("\n# Their captures\n")
		c.Captures.write(&b)
	}
	omittedText(&b, c.Omitted)
	return b.String()
}

func (c *compared) write(b *strings.Builder) {
	for i, s := range c.Sides {
		fmt.Fprintf(b, "%c: %s\n", 'A'+i%26, s)
	}
	fmt.Fprintf(b, "\nVerdict: %s\n", c.Verdict)
	if c.Gate != "" {
		fmt.Fprintf(b, "Limits: %s\n", c.Gate)
	}
	list(b, "Regressions", c.Worse)
	list(b, "Limits not judged", c.Undecided)
	list(b, "Different workloads", c.Unlike)
	list(b, "Missing", c.Missing)
	for i := range c.Causes {
		x := &c.Causes[i]
		if i == 0 {
			b.WriteString("\n## Causes, the most important first\n")
		}
		fmt.Fprintf(b, "%d. %s: %s", i+1, strings.ToUpper(x.Change), x.Title)
		if x.Cost != "" {
			fmt.Fprintf(b, " [%s]", x.Cost)
		}
		if x.Finding != "" {
			fmt.Fprintf(b, " (finding `%s`)", x.Finding)
		}
		b.WriteByte('\n')
		facts(b, x.Facts, x.Next, x.More)
	}
	if len(c.Rows) > 0 {
		b.WriteString("\n## Figures\n")
		table(b, c.Columns, c.Rows)
	}
	list(b, "Notes", c.Notes)
}

// facts writes the facts of a finding or a cause, the next steps, and the number of the facts that are left out.
func facts(b *strings.Builder, facts, next []string, more int) {
	for _, s := range facts {
		b.WriteString("   - " + s + "\n")
	}
	for _, s := range next {
		b.WriteString("   - next: " + s + "\n")
	}
	if more > 0 {
		fmt.Fprintf(b, "   - omitted: %s\n", plural(more, "fact"))
	}
}
