package report

import (
	"bufio"
	"io"
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// firstEvidence is the number of evidence lines that a finding shows without --all.
const firstEvidence = 4

// evidenceOf returns the number of evidence lines that a finding shows on a terminal. It is small, since the whole
// answer should fit on one screen.
func evidenceOf(i int, f *result.Finding) int {
	switch {
	case f.Severity != "high" && f.Severity != "medium":
		return 0
	case i == 0:
		return 3
	}
	return 1
}

// Text writes r for a terminal: the verdict and the findings, then the requested tables, or the names of all tables if
// none are requested.
func Text(w io.Writer, r *result.Report, o Options) error {
	tables := sections(r, o.rows(), o.Layers)
	shown, other := o.choose(tables)
	b := bufio.NewWriter(w)
	if err := text(b, r, o, shown); err != nil {
		return err
	}
	if len(shown) == 0 && len(other) > 0 {
		t := textWriter{b: b, width: o.width(), p: paint(o.Color)}
		t.line("")
		for _, l := range columns.Wrap("Tables (stepscope analyze with --full or --tables NAME,…): "+strings.Join(other, ", "), t.width) {
			t.line(t.p.faint(l))
		}
	}
	return b.Flush()
}

// Findings writes the same as Text, but without the tables.
func Findings(w io.Writer, r *result.Report, o Options) error {
	return text(w, r, o, nil)
}

func text(w io.Writer, r *result.Report, o Options, tables []*table) error {
	b := bufio.NewWriter(w)
	t := textWriter{b: b, width: o.width(), p: paint(o.Color), all: o.All}
	t.head(r)
	t.findings(r)
	t.background(r)
	for _, s := range tables {
		t.table(s)
	}
	return b.Flush()
}

type textWriter struct {
	b     *bufio.Writer
	width int
	p     paint
	all   bool
}

func (t *textWriter) line(s string) {
	t.b.WriteString(s)
	t.b.WriteByte('\n')
}

// indented writes wrapped text after a prefix. Further lines are indented.
func (t *textWriter) indented(prefix string, indent int, text string) {
	for _, l := range columns.Wrap(text, t.width-indent) {
		t.line(prefix + l)
		prefix = strings.Repeat(" ", indent)
	}
}

func (t *textWriter) caveat(text string) {
	for _, l := range columns.Wrap(text, t.width) {
		t.line(t.p.severity("warning", l))
	}
}

func (t *textWriter) head(r *result.Report) {
	doubt := len(r.Source.Doubts) > 0
	if doubt {
		t.caveat(caveat(r))
	}
	head := strings.Join(headline(r), " · ")
	if id := columns.Clean(r.Source.ID); id != "" {
		head = id + "  " + head
	}
	for i, l := range columns.Wrap(head, t.width) {
		if i == 0 && answer(r) == "" {
			l = t.p.bold(l)
		}
		t.line(l)
	}
	lacks := func(first bool) {
		if c := caveat(r); c != "" && !doubt && r.NoFault == first {
			t.caveat("incomplete: " + c)
		}
	}
	lacks(true)
	for _, l := range columns.Wrap(answer(r), t.width) {
		t.line(t.p.bold(l))
	}
	lacks(false)
	t.line("")
}

// background writes the summary of GPU time and the limits of the findings' reliability.
func (t *textWriter) background(r *result.Report) {
	all, trust := overall(r), confidence(r)
	if all != nil || trust != "" {
		t.line("")
	}
	if all != nil {
		p := split(all)
		prefix := "GPU time  "
		s := summary(all)
		if room := t.width - len(prefix) - columns.Width(s) - 2; room >= minBar {
			prefix += textBar(p.segments(all.Total), min(room, maxBar), t.p) + "  "
		}
		t.indented(prefix, len("GPU time  "), s)
	}
	if s := lightOf(r); s != "" {
		t.indented("Speed of light  ", len("Speed of light  "), s)
	}
	for i, s := range lightChanges(r, mostChanges) {
		t.indented(map[bool]string{true: "What to change  ", false: "                "}[i == 0], len("What to change  "), s)
	}
	for _, l := range columns.Wrap(trust, t.width) {
		t.line(t.p.faint(l))
	}
}

func (t *textWriter) findings(r *result.Report) {
	if len(r.Findings) == 0 {
		if answer(r) == "" { // if there is a verdict, it states that there are no findings
			t.line(noFindings)
		}
		return
	}
	const mark = 8 // width of the severity in columns
	for i := range r.Findings {
		f := &r.Findings[i]
		c := worth(f)
		word := strings.ToUpper(columns.Clean(f.Severity))
		lead := t.p.severity(f.Severity, word) + strings.Repeat(" ", max(mark-len([]rune(word)), 1))
		room := t.width - mark
		if c != "" {
			room -= len([]rune(c)) + 2
		}
		for j, l := range columns.Wrap(columns.Clean(Words(f.Title)), max(room, 20)) {
			if j > 0 {
				t.line(strings.Repeat(" ", mark) + t.p.bold(l))
				continue
			}
			if c != "" {
				pad := strings.Repeat(" ", max(max(room, 20)-columns.Width(l), 0)+2)
				t.line(lead + t.p.bold(l) + pad + t.p.bold(c))
			} else {
				t.line(lead + t.p.bold(l))
			}
		}
		evidence := proofs(f)
		if !t.all {
			evidence = evidence[:min(len(evidence), evidenceOf(i, f))]
		}
		for j := range evidence {
			s, name := proof(&evidence[j])
			if name != "" {
				s += ": " + name
			}
			for k, l := range columns.Wrap(s, t.width-mark-2) {
				lead := "- "
				if k > 0 {
					lead = "  "
				}
				t.line(strings.Repeat(" ", mark) + lead + l)
			}
		}
		if n := len(proofs(f)) - len(evidence); n > 0 && len(evidence) > 0 {
			t.line(strings.Repeat(" ", mark) + t.p.faint("  and "+plural(n, "more fact")+" (--all)"))
		}
		if len(evidence) == 0 && !t.all {
			continue
		}
		for _, todo := range f.Next {
			for k, l := range columns.Wrap(columns.Clean(Words(todo)), t.width-mark-2) {
				lead := "→ "
				if k > 0 {
					lead = "  "
				}
				t.line(strings.Repeat(" ", mark) + lead + l)
			}
		}
	}
	if names := guides(r.Findings); len(names) > 0 {
		t.line("")
		for _, l := range columns.Wrap("Guides: stepscope guide "+strings.Join(names, "; stepscope guide "), t.width) {
			t.line(t.p.faint(l))
		}
	}
}

func (t *textWriter) table(s *table) {
	t.line("")
	if more := "  (" + s.omitted + ")"; s.omitted == "" {
		t.line(t.p.bold(s.title))
	} else if columns.Width(s.title+more) <= t.width {
		t.line(t.p.bold(s.title) + t.p.faint(more))
	} else {
		t.line(t.p.bold(s.title))
		for _, l := range columns.Wrap(strings.TrimSpace(more), t.width) {
			t.line(t.p.faint(l))
		}
	}
	for _, l := range columns.Wrap(s.lead, t.width) {
		t.line(t.p.faint(l))
	}
	if legend := t.legend(s); legend != "" {
		t.line(legend)
	}
	for _, l := range s.render(t.width, t.p) {
		t.line(l)
	}
}

func (t *textWriter) legend(s *table) string {
	var out []string
	for _, name := range s.legend {
		out = append(out, t.p.segment(name, segmentRune(name))+" "+name)
	}
	return strings.Join(out, "  ")
}
