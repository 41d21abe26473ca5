package report

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// What a finding says can be looked up: rows of the page's tables, cells of its maps, and the trace itself. Links lead only
// to what the page has.

// pageFound is a finding with the way to what it speaks of.
type pageFound struct {
	*result.Finding
	Heading  string
	Chips    []pageLink // its ranks and steps
	Evidence []pageProof
	See      []pageLink
	Open     string // the command that shows it in Perfetto; "": it has no place there
}

type pageProof struct {
	Text, Name, Full string
	See              []pageLink
}

// pageLink leads to an element; "": it is a word alone. Step and Rank are what is marked in the plots, -1: nothing.
type pageLink struct {
	Text, Href string
	Step, Rank int
}

// find gives the findings with their links, and the rows that these lead to their ids.
func (p *page) find(r *result.Report) {
	for i := range r.Findings {
		f := &r.Findings[i]
		x := pageFound{Finding: f, Heading: capital(columns.Clean(Words(f.Title)))}
		row := func(text, table string, want ...string) bool {
			href := p.row(table, want...)
			if href != "" {
				x.See = append(x.See, pageLink{Text: text, Href: href, Step: -1, Rank: -1})
			}
			return href != ""
		}
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
			name := "work"
			switch f.Cause {
			case result.CauseHost:
				name = "host"
			case result.CauseCommunication:
				name = "wait"
			}
			x.See = append(x.See, pageLink{"the map of ranks × steps", "#at-map-" + name, f.FirstStep, f.Ranks[0]})
		}
		switch f.Kind {
		case result.HostBound:
			kind := kindOf(r, f)
			_ = row("why the GPUs idle", "idle", "rank", allRanks, "kind", kind) || row("why the GPUs idle", "idle", "kind", kind) || row("why the GPUs idle", "idle")
			for _, n := range f.Steps {
				if row("the longest idle gap", "gaps", "step", strconv.Itoa(n)) {
					break
				}
			}
		case result.LaunchBound:
			row("launches", "launches")
		case result.CommBound, result.SlowLink:
			_ = row("collectives", "collectives", "kind", kindOf(r, f)) || row("collectives", "collectives")
		case result.UnevenAttention, result.UnevenExperts:
			_ = row("how evenly it is spread", "balance", "kind", kindOf(r, f)) || row("how evenly it is spread", "balance")
		case result.SlowLayer:
			row("layers", "layers")
		case result.Balanced:
			row("ranks", "ranks")
		case result.Data:
			row("notes", "notes")
		}
		for _, e := range proofs(f) {
			x.Evidence = append(x.Evidence, p.proof(&e, f))
		}
		if f.FirstStep >= 0 && len(f.Ranks) > 0 {
			x.Open = p.Open
		}
		p.Findings = append(p.Findings, x)
	}
}

// proof is a piece of evidence, with the rows of what it names.
func (p *page) proof(e *result.Evidence, f *result.Finding) (out pageProof) {
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
	if href := p.where("gaps", func(cell func(string) pageCell) bool {
		return cell("step").Text == step && strings.Contains(out.Text, cell("rank").Text) && strings.Contains(out.Text, cell("length").Text+" idle")
	}); href != "" {
		out.See = append(out.See, pageLink{"gap", href, -1, -1})
	}
	if href := p.row("steps", "step", step); href != "" && e.Step != f.FirstStep {
		out.See = append(out.See, pageLink{"step " + step, href, e.Step, -1})
	}
	return out
}

// row leads to the first row of a table whose cells have what is wanted: columns and their texts in turn. "": none has.
// Without any it leads to the table.
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

// where leads to the first row of a table that is, by its cells of the columns with these names.
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
		if table == "steps" { // there it reads as the step
			r.ID = "step-" + slug(r.Cells[0].Text)
		}
		return "#" + r.ID
	}
	return ""
}

// kindOf is the kind of the steps that a finding is about.
func kindOf(r *result.Report, f *result.Finding) string {
	for i := range r.Steps {
		if slices.Contains(f.Steps, r.Steps[i].Step) {
			return r.Steps[i].Kind
		}
	}
	return f.Worth.Kind
}

// openCommand hands a capture to Perfetto; "" where its files are not known.
func openCommand(s *result.Source) string { return Command(s, "trace", "open") }

// Command is a verb's command line for a capture; "" where its files are not known.
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
