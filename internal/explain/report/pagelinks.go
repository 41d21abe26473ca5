package report

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Findings link to rows of the page's tables, to cells of the page's heat maps, and to the trace. Links are found by
// kinds, names and numbers, never by the words of a sentence. They lead only to elements that the page contains.

// pageFound is a finding with its links.
type pageFound struct {
	*result.Finding
	Heading  string
	Chips    []pageLink // the ranks and steps of the finding
	Evidence []pageProof
	See      []pageLink
	Open     string // command that shows the finding in Perfetto; "": it has no position there
}

type pageProof struct {
	Text, Name, Full string
	See              []pageLink
}

// pageLink is a link to an element of the page, or plain text if Href is "". Following the link marks Step and Rank in
// the plots; -1 marks nothing.
type pageLink struct {
	Text, Href string
	Step, Rank int
}

// find adds the findings with their links, and assigns an id to each row to which a link leads.
func (p *page) find(r *result.Report) {
	for i := range r.Findings {
		f := &r.Findings[i]
		x := pageFound{Finding: f, Heading: capital(columns.Clean(Words(f.Title)))}
		for k, name := range f.Names {
			href := ""
			if k < 4 {
				href = p.row("ranks", "rank", columns.Clean(name))
			}
			x.Chips = append(x.Chips, pageLink{columns.Clean(name), href, -1, -1})
		}
		if text := stepsOf(f); text != "" {
			x.Chips = append(x.Chips, pageLink{text, p.row("steps", "step", strconv.Itoa(f.FirstStep)), f.FirstStep, -1})
		}
		if p.HasMaps && len(f.Ranks) > 0 && f.FirstStep >= 0 {
			x.See = append(x.See, pageLink{"the map of ranks × steps", "#at-map-" + f.Measure(), f.FirstStep, f.Ranks[0]})
		}
		for _, l := range result.KindOf(f.Kind).Links {
			if href := p.link(r, f, l); href != "" {
				x.See = append(x.See, pageLink{Text: l.Text, Href: href, Step: -1, Rank: -1})
			}
		}
		for _, e := range proofs(f) {
			x.Evidence = append(x.Evidence, p.proof(r, &e, f))
		}
		if f.FirstStep >= 0 && len(f.Ranks) > 0 {
			x.Open = p.Open
		}
		p.Findings = append(p.Findings, x)
	}
}

// link returns the link to the row of a finding in a table, or else to the table. It returns "" if the page lacks the
// table, or the row of a step or gap.
func (p *page) link(r *result.Report, f *result.Finding, l result.Link) string {
	if l.ByPlace {
		return p.gapAt(r, &f.At)
	}
	if l.ByStep {
		for _, n := range f.Steps {
			if href := p.row(l.Table, "step", strconv.Itoa(n)); href != "" {
				return href
			}
		}
		return ""
	}
	kind := kindOf(r, f)
	if kind == "" {
		return p.row(l.Table)
	}
	return cmp.Or(p.row(l.Table, "rank", allRanks, "kind", kind), p.row(l.Table, "kind", kind), p.row(l.Table))
}

// proof returns a piece of evidence with links to the table rows of its name, its gap and its step.
func (p *page) proof(r *result.Report, e *result.Evidence, f *result.Finding) (out pageProof) {
	out.Text, out.Name = proof(e)
	name := columns.Clean(Words(e.Name))
	out.Full = shortenName(name, pageLimits.name)
	for _, t := range []struct{ id, column, text string }{{"kernels", "kernel", "kernel"}, {"ops", "name", "op"}, {"frames", "name", "frame"}} {
		if href := p.row(t.id, t.column, name); name != "" && href != "" {
			out.See = append(out.See, pageLink{t.text, href, -1, -1})
		}
	}
	if e.Step < 0 {
		return out
	}
	step := strconv.Itoa(e.Step)
	if href := p.gap(r, e); href != "" {
		out.See = append(out.See, pageLink{"gap", href, -1, -1})
	}
	if href := p.row("steps", "step", step); href != "" && e.Step != f.FirstStep {
		out.See = append(out.See, pageLink{"step " + step, href, e.Step, -1})
	}
	return out
}

// gap returns the link to the idle gap that e is about, or "" if there is no such gap.
func (p *page) gap(r *result.Report, e *result.Evidence) string {
	if g := gapOf(r, e); g != nil {
		return p.rowOf(r, g)
	}
	return ""
}

// gapOf returns the idle gap that e is about: a gap in the same step that has exactly the length that e states. It
// returns nil if there is no such gap.
func gapOf(r *result.Report, e *result.Evidence) *result.Gap {
	for i := range r.Gaps {
		if g := &r.Gaps[i]; e.Unit == "ns" && e.Step >= 0 && g.Step == e.Step && float64(g.Dur) == e.Value {
			return g
		}
	}
	return nil
}

// gapAt returns the link to the idle gap that covers most of an interval, or "" if no gap covers half of it.
func (p *page) gapAt(r *result.Report, at *result.Place) string {
	for i := range r.Gaps {
		if g := &r.Gaps[i]; at.Known() && g.Rank == at.Rank && 2*(min(g.Start+g.Dur, at.End)-max(g.Start, at.Start)) > at.End-at.Start {
			return p.rowOf(r, g)
		}
	}
	return ""
}

// rowOf returns the link to the row of a gap.
func (p *page) rowOf(r *result.Report, g *result.Gap) string {
	step := dash
	if g.Step >= 0 {
		step = strconv.Itoa(g.Step)
	}
	return p.row("gaps", "rank", columns.Clean(rankName(r, g.Rank)), "step", step, "length", durCell(g.Dur).text)
}

// row returns the link to the first row of a table that has the wanted cells. want holds pairs of column and text. If
// want is empty, row returns the link to the table. If no row matches, row returns "".
func (p *page) row(table string, want ...string) string {
	if len(want) == 0 && slices.ContainsFunc(p.Tables, func(t pageTable) bool { return t.ID == table }) {
		return "#" + table
	}
	return p.where(table, func(cell func(string) pageCell) bool {
		for k := 0; k < len(want); k += 2 {
			if c := cell(want[k]); c.Text != want[k+1] && c.Full != want[k+1] {
				return false
			}
		}
		return len(want) > 0
	})
}

// where returns the link to the first row of a table for which is returns true, and assigns an id to that row. It
// returns "" if there is no such row.
func (p *page) where(table string, is func(cell func(column string) pageCell) bool) string {
	at := slices.IndexFunc(p.Tables, func(t pageTable) bool { return t.ID == table })
	if at < 0 {
		return ""
	}
	t := &p.Tables[at]
	for i := range t.Rows {
		r := &t.Rows[i]
		if !is(func(column string) (none pageCell) {
			if c := slices.IndexFunc(t.Cols, func(c pageColumn) bool { return c.Name == column }); c >= 0 {
				return r.Cells[c]
			}
			return none
		}) {
			continue
		}
		r.ID = t.ID + "-" + strconv.Itoa(i+1)
		if table == "steps" { // the first cell is the step
			r.ID = "step-" + slug(r.Cells[0].Text)
		}
		return "#" + r.ID
	}
	return ""
}

// kindOf returns the kind of a finding's steps.
func kindOf(r *result.Report, f *result.Finding) string {
	if len(f.Steps) > 0 {
		first := slices.Min(f.Steps)
		for i := range r.Steps {
			if r.Steps[i].Step == first {
				return r.Steps[i].Kind
			}
		}
	}
	return f.Worth.Kind
}

// openCommand returns the command that opens a capture in Perfetto, or "" if the files of the capture are unknown.
func openCommand(s *result.Source) string { return Command(s, "trace", "open") }

// Command returns the command line of a verb for a capture, or "" if the files of the capture are unknown.
func Command(s *result.Source, verb ...string) string {
	words := append([]string{"stepscope"}, verb...)
	named := len(words)
	for _, f := range s.Files {
		if dir := path.Dir(f); len(s.Files) > 1 && !slices.Contains(words, dir) {
			words = append(words, dir)
		} else if len(s.Files) == 1 {
			words = append(words, f)
		}
	}
	if len(words) == named {
		return ""
	}
	if len(s.Files) > 1 && s.ID != "" {
		words = append(words, "--profile-id", s.ID)
	}
	for i := range words {
		words[i] = columns.ShellWord(columns.Clean(words[i]))
	}
	return strings.Join(words, " ")
}
