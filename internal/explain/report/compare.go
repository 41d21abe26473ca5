package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Comparison is a comparison of captures, loads, batches or performance dumps, independent of its output format.
type Comparison struct {
	title     string
	sides     []string // the base first
	verdict   string   // one line per side after A, except in comparisons of two sides
	unlike    []string // differences between the workloads, the most important first
	gate      string   // the result of --fail-on; "" without that flag
	failed    bool     // --fail-on found a regression
	worse     []string
	undecided []string
	causes    []comparedCause
	tables    []*table
	notes     []string
	doubts    []string
	captures  *Comparison           // comparison of the captures of the compared runs
	sglang    func(io.Writer) error // writes SGLang's Markdown instead of this one; nil: there is none
}

// comparedCause is a cause of a change, as text.
type comparedCause struct {
	Mark, Title, Cost string
	Facts             []string
	Rows              []string // one per kernel
	Next              []string
	Guide, Finding    string
	Fits              bool // the cause has the same direction as the change of the step time
}

// Compared returns a comparison of captures. o limits the tables of the comparison.
func Compared(c *result.Comparison, o Options) *Comparison {
	v := &Comparison{title: "Comparison of captures", sides: []string{sideText(c.A), sideText(c.B)}, verdict: sentence(c.Verdict)}
	words := func(facts []fact.Fact) (out []string) {
		for _, f := range facts {
			out = append(out, columns.Clean(Words(f)))
		}
		return out
	}
	for _, d := range c.Doubts {
		v.doubts = append(v.doubts, "not one capture: "+columns.Clean(d)+": rank findings may be wrong")
	}
	v.doubts = append(v.doubts, prefixed("incomplete: ", words(c.Incomplete))...)
	v.unlike, v.worse, v.undecided, v.notes = words(c.Unlike), words(c.Regressions), words(c.Undecided), words(c.Notes)
	if c.Refused {
		v.unlike = v.unlike[1:] // the verdict contains the first difference
	}
	v.answer(c.Limit, c.Limits, c.Refused, "slower")
	for i := range c.Causes {
		v.causes = append(v.causes, causeText(&c.Causes[i]))
	}
	for _, t := range compareTables(c, o) {
		if len(t.rows) > 0 {
			v.tables = append(v.tables, t)
		}
	}
	return v
}

// WithCaptures adds the comparison of the captures of two runs.
func (v *Comparison) WithCaptures(c *Comparison) { v.captures = c }

// answer sets the result of --fail-on in the comparison.
func (v *Comparison) answer(limit float64, limits []string, refused bool, worse string) {
	if limit > 0 {
		limits = append([]string{metric.Percent(limit)}, limits...)
	}
	asked := strings.Join(limits, ", ")
	switch n := len(v.worse); {
	case len(limits) == 0:
	case refused:
		v.gate = "not judged by " + asked + ", since there is no verdict (--force judges nevertheless)"
	case n > 0 && len(limits) == 1 && limit > 0:
		v.gate, v.failed = fmt.Sprintf("REGRESSION: %s got %s by more than %s", plural(n, "figure"), worse, asked), true
	case n > 0:
		v.gate, v.failed = fmt.Sprintf("REGRESSION: %s changed by more than allowed (%s)", plural(n, "figure"), asked), true
	case len(limits) == 1 && limit > 0 && len(v.undecided) == 0:
		v.gate = "no regression above " + asked
	case len(v.undecided) >= len(limits):
		v.gate = "not judged by " + asked
	case len(v.undecided) > 0:
		v.gate = "no regression by the limits that could be judged of " + asked
	default:
		v.gate = "no regression by " + asked
	}
}

// causeText returns a cause as text.
func causeText(x *result.Cause) comparedCause {
	out := comparedCause{Mark: strings.ToUpper(columns.Clean(x.Change)), Title: columns.Clean(Words(withoutWorth(x.Text))), Guide: x.Guide, Finding: x.Finding, Fits: x.Fits}
	switch {
	case x.Change == result.New && x.B > 0:
		out.Cost = worthText(x.B, x.AtMost)
	case x.Change == result.Gone && x.A > 0:
		out.Cost = "was " + worthText(x.A, x.AtMost)
	case x.A > 0 && x.B > 0:
		out.Cost = metric.PercentChange(float64(x.B)/float64(x.A) - 1)
	}
	if x.A == 0 && strings.Contains(out.Title, metric.Duration(x.B)) || x.B == 0 && strings.Contains(out.Title, metric.Duration(x.A)) {
		out.Cost = "" // the title contains the cost
	}
	for _, f := range x.Evidence {
		// These facts compare with other ranks, but this comparison is with A.
		if len(x.Kernels) > 0 && (f.Key == "kernels_differ" || f.Key == "kernel_more") {
			continue
		}
		out.Facts = append(out.Facts, columns.Clean(Words(f)))
	}
	if x.CountB > 0 || x.CountA > 0 {
		out.Facts = slices.Insert(out.Facts, 0, fmt.Sprintf("%.0f → %.0f kernels a step", x.CountA, x.CountB))
	}
	for i := range x.Kernels {
		out.Rows = append(out.Rows, kernelChange(&x.Kernels[i]))
	}
	for _, f := range x.Next {
		out.Next = append(out.Next, columns.Clean(Words(f)))
	}
	return out
}

// withoutWorth removes the worth of a finding from the finding's sentence, because the evidence states it too.
func withoutWorth(f fact.Fact) fact.Fact {
	if what, ok := f.Get("what").(fact.Fact); ok {
		f = f.With("what", withoutWorth(what))
	}
	if effect, _ := f.Get("effect").(fact.Fact); effect.Key == "verdict_worth" {
		f = f.With("effect", fact.Fact{})
	}
	return f
}

// kernelChange describes the change of a kernel: "nvjet…: 6 → 18 a step, 108 → 317 µs".
func kernelChange(k *result.KernelChange) string {
	name := shortenName(columns.Clean(k.Short), 70)
	count := func(n float64) string { return fmt.Sprintf("%.3g", n) }
	switch {
	case k.CountA == 0:
		return fmt.Sprintf("%s: new, %s a step, %s", name, count(k.CountB), metric.Duration(k.B))
	case k.CountB == 0:
		return fmt.Sprintf("%s: gone, %s a step and %s in A", name, count(k.CountA), metric.Duration(k.A))
	case count(k.CountA) == count(k.CountB):
		return fmt.Sprintf("%s: %s a step, %s", name, count(k.CountB), fromTo(metric.Duration(k.A), metric.Duration(k.B)))
	}
	return fmt.Sprintf("%s: %s a step, %s", name, fromTo(count(k.CountA), count(k.CountB)), fromTo(metric.Duration(k.A), metric.Duration(k.B)))
}

// sentence returns the words of a fact as a sentence, with a capital letter and a full stop. It returns "" if the fact
// has no words.
func sentence(f fact.Fact) string { return stopped(columns.Clean(Words(f))) }

func stopped(s string) string {
	if s == "" {
		return ""
	}
	return capital(s) + "."
}

// capital capitalises the first word, unless it is a name, such as that of an op.
func capital(s string) string {
	word, _, _ := strings.Cut(s, " ")
	if word = strings.TrimRight(word, ",:;"); word == "" || strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLower(r) && r != '-' }) {
		return s
	}
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}

// Verdict returns the answer in one line: the result of --fail-on, if that flag was given, and the verdict.
func (v *Comparison) Verdict() string {
	if v.gate == "" {
		return v.verdict
	}
	return v.gate + ". " + v.verdict
}

// Failed reports whether a figure changed by more than --fail-on allows, in this comparison or in the comparison of the
// captures.
func (v *Comparison) Failed() bool { return v.failed || v.captures != nil && v.captures.failed }

// Undecided reports whether a limit of --fail-on could not be checked. A limit that was not checked does not count as
// met.
func (v *Comparison) Undecided() bool { return len(v.undecided) > 0 }

// Text writes the comparison for a terminal: the verdict, the causes of the change, and the requested tables.
func (v *Comparison) Text(w io.Writer, o Options) error {
	var b strings.Builder
	v.text(&b, o)
	if v.captures != nil {
		b.WriteString("\nTheir captures\n")
		v.captures.text(&b, o)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (v *Comparison) text(b *strings.Builder, o Options) {
	p, width := paint(o.Color), o.width()
	// say writes lead followed by s, wrapped, with a hanging indent.
	say := func(lead, s string, as func(string) string) {
		indent := strings.Repeat(" ", columns.Width(lead))
		for _, l := range columns.Wrap(s, width-columns.Width(lead)) {
			if as != nil {
				l = as(l)
			}
			b.WriteString(lead + l + "\n")
			lead = indent
		}
	}
	warn := func(s string) string { return p.severity("warning", s) }
	for _, d := range v.doubts {
		say("", d, warn)
	}
	for i, s := range v.sides {
		say(sideLetter(i)+" ", s, nil)
	}
	for _, u := range v.unlike {
		say("mismatch: ", u, warn)
	}
	for line := range strings.SplitSeq(v.verdict, "\n") {
		say("", line, p.bold)
	}
	if v.gate != "" {
		b.WriteByte('\n')
		say("", v.gate, p.bold)
	}
	for _, r := range v.worse {
		say("  - ", r, nil)
	}
	for _, u := range v.undecided {
		say("  ", u, warn)
	}
	v.causesText(b, say, o, p, width)
	shown, other := o.choose(v.tables)
	if len(shown) == 0 && len(v.tables) > 0 {
		shown, other = v.tables[:1], other[1:]
	}
	for _, t := range shown {
		b.WriteString(t.below(o))
	}
	b.WriteByte('\n')
	if len(other) > 0 {
		say("", "More tables (stepscope compare --full): "+strings.Join(other, ", "), p.faint)
	}
	for _, n := range v.notes {
		say("note: ", n, nil)
	}
}

// firstCauses is the number of causes that are shown in full without --all.
const firstCauses = 2

func (v *Comparison) causesText(b *strings.Builder, say func(lead, s string, as func(string) string), o Options, p paint, width int) {
	const mark = 8
	for i := range v.causes {
		c := &v.causes[i]
		if i == 0 {
			b.WriteByte('\n')
		}
		title := c.Title
		if c.Cost != "" {
			title += " (" + c.Cost + ")"
		}
		say(c.Mark+strings.Repeat(" ", max(mark-len(c.Mark), 1)), title, p.bold)
		full := o.All || o.Full
		if !full && (i >= firstCauses || i > 0 && !c.Fits) {
			continue
		}
		facts, rows := c.Facts, c.Rows
		if !full {
			facts, rows = facts[:min(len(facts), 3)], rows[:min(len(rows), 4)]
		}
		lead := strings.Repeat(" ", mark)
		for _, f := range facts {
			say(lead+"- ", f, nil)
		}
		for _, r := range rows {
			say(lead+"  ", r, nil)
		}
		if n := len(c.Facts) - len(facts) + len(c.Rows) - len(rows); n > 0 {
			say(lead+"  ", "and "+plural(n, "more fact")+" (--full)", p.faint)
		}
		for _, n := range c.Next {
			say(lead+"→ ", n, nil)
		}
	}
	var names []string
	for i := range v.causes {
		if g := v.causes[i].Guide; g != "" && !slices.Contains(names, g) {
			names = append(names, g)
		}
	}
	if len(names) > 0 {
		b.WriteByte('\n')
		say("", "Guides: stepscope guide "+strings.Join(names, "; stepscope guide "), p.faint)
	}
}

// Markdown writes the comparison for a merge request.
func (v *Comparison) Markdown(w io.Writer) error {
	if v.sglang != nil {
		return v.sglang(w)
	}
	var b strings.Builder
	v.markdown(&b)
	if v.captures != nil {
		b.WriteString("\n## Their captures\n\n")
		v.captures.markdown(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (v *Comparison) markdown(b *strings.Builder) {
	write := lines(b)
	var sides []string
	for i, s := range v.sides {
		sides = append(sides, sideLetter(i)+": "+escapeMarkdown(s))
	}
	write(strings.Join(sides, "  \n"))
	for _, u := range append(slices.Clone(v.doubts), prefixed("mismatch: ", v.unlike)...) {
		write("\n> ", escapeMarkdown(u))
	}
	write("\n**", escapeMarkdown(v.verdict), "**")
	if v.gate != "" {
		write("\n**", escapeMarkdown(v.gate), "**")
	}
	if len(v.worse)+len(v.undecided) > 0 {
		write("")
	}
	for _, r := range slices.Concat(v.worse, v.undecided) {
		write("- ", escapeMarkdown(r))
	}
	if len(v.causes) > 0 {
		write("")
	}
	for i := range v.causes {
		c := &v.causes[i]
		line := "- **" + escapeMarkdown(c.Mark) + "** " + escapeMarkdown(c.Title)
		if c.Cost != "" {
			line += " (**" + escapeMarkdown(c.Cost) + "**)"
		}
		write(line)
		for _, f := range c.Facts {
			write("  - ", escapeMarkdown(f))
		}
		for _, r := range c.Rows {
			write("  - ", escapeMarkdown(r))
		}
		for _, n := range c.Next {
			write("  - → ", escapeMarkdown(n))
		}
		if c.Guide != "" {
			write("  - → `stepscope guide ", c.Guide, "`")
		}
	}
	for i, t := range v.tables {
		markdownTable(write, t, i > 0)
	}
	for _, n := range v.notes {
		write("\n> ", escapeMarkdown(n))
	}
}

func prefixed(with string, list []string) (out []string) {
	for _, s := range list {
		out = append(out, with+s)
	}
	return out
}

func sideText(s result.Side) string {
	ranks := strings.Join(s.Ranks, ", ")
	if len(s.Ranks) > 4 {
		ranks = fmt.Sprintf("%d ranks", len(s.Ranks))
	}
	text := fmt.Sprintf("%s: %s, %s", s.ID, ranks, plural(s.Steps, "step"))
	if s.Device != "" {
		text += ", " + s.Device
	}
	return columns.Clean(text)
}

// stepName names the steps of a row, with the server's own name of the kind if c has several names for it.
func stepName(c *result.Comparison, d *result.StepDiff) string {
	name := bucketName(d.Kind, d.Batch)
	if slices.ContainsFunc(c.Steps, func(x result.StepDiff) bool { return x.Kind == d.Kind && x.Batch == d.Batch && x.Mode != d.Mode }) {
		name += " " + d.Mode
	}
	return name
}

func bucketName(kind string, batch int) string {
	if batch < 0 {
		return kind
	}
	return fmt.Sprintf("%s bs=%d", kind, batch)
}
