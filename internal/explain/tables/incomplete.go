package tables

import (
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// This file leaves figures unjudged if a capture lacks the data on which they rest.

// dropped lists notes about wrong clocks, and about dropped events of any category. Such notes cast doubt on all times.
var dropped = []trace.NoteKind{
	trace.NoteSetBack, trace.NoteDaysAway, trace.NoteDaysLong, trace.NoteNoDur, trace.NoteNoTime, trace.NoteRowBackwards, trace.NoteRowTime, trace.NoteBrokenEvents,
}

// judgedDespite returns the figures that can be judged despite a note of the given kind.
func judgedDespite(kind trace.NoteKind) result.Judged {
	switch {
	case (trace.Note{Kind: kind}).Severity() != trace.Loss, kind == trace.NoteEndsEarly, kind == trace.NoteTooLong:
		return result.JudgedAll // the recorded part is complete
	case slices.Contains(dropped, kind):
		return result.JudgedNone
	}
	return result.JudgedSteps
}

// Lacks records the data that the side lacks according to its report and the notes of its ranks.
func (h *Sample) Lacks(rep *result.Report) {
	lacks := func(judged result.Judged, why fact.Fact) {
		at := len(h.lacks)
		if judged > h.judged {
			h.judged, at = judged, 0
		}
		h.lacks = slices.Insert(h.lacks, at, why)
	}
	var lost []string
	for i := range rep.Findings {
		f := &rep.Findings[i]
		switch {
		case strings.HasPrefix(f.ID, "data-lost"), strings.HasPrefix(f.ID, "data-empty"):
			lost = append(lost, f.Names...)
		case strings.HasPrefix(f.ID, "data-clocks"):
			lacks(result.JudgedNone, fact.Of("lacks_clocks", "n", f.Title.Get("n"), "of", f.Title.Get("of")))
		case f.ID == result.Unknown:
			lacks(result.JudgedOwn, fact.Of("lacks_compared"))
		}
	}
	if slices.Sort(lost); len(lost) > 0 {
		lacks(result.JudgedSteps, fact.Of("lacks_lost", "ranks", lost))
	}
	var notes []trace.Note // one per kind
	ranks := map[trace.NoteKind][]string{}
	for _, r := range h.ranks {
		for _, n := range r.Notes {
			if judgedDespite(n.Kind) == result.JudgedAll || n.Kind == trace.NoteLostOps && len(lost) > 0 {
				continue
			}
			if ranks[n.Kind] = append(ranks[n.Kind], r.Label); len(ranks[n.Kind]) == 1 {
				notes = append(notes, n)
				continue
			}
			i := slices.IndexFunc(notes, func(m trace.Note) bool { return m.Kind == n.Kind })
			notes[i].Count, notes[i].Lost = notes[i].Count+n.Count, notes[i].Lost+n.Lost
		}
	}
	for _, n := range notes {
		what := fact.Name(n.Text())
		if n.Count > 1 && !n.SaysCount() {
			what = fact.Of("lacks_many", "n", n.Count, "what", what)
		}
		lacks(judgedDespite(n.Kind), fact.Of("lacks_note", "ranks", slices.Compact(ranks[n.Kind]), "what", what))
	}
}

// incomplete adds the data that the sides lack to a comparison, and withdraws the verdicts on rows that rest on such
// data.
func incomplete(c *result.Comparison, a, b *Sample, ranks bool) {
	for i, h := range []*Sample{a, b} {
		for _, why := range h.lacks {
			c.Incomplete = append(c.Incomplete, fact.Of("lacks", "side", []string{"A", "B"}[i], "why", why))
		}
	}
	c.Judged = max(a.judged, b.judged)
	if c.Judged == result.JudgedSteps && (ranks || !slices.ContainsFunc(c.Steps, func(d result.StepDiff) bool { return d.Figure == "step" && d.Enough })) {
		c.Judged = result.JudgedNone
	}
	withdraw(c, func(figure, class, verdict string) bool {
		switch c.Judged {
		case result.JudgedAll:
			return false
		case result.JudgedOwn:
			return figure == "wait" || class == string(kernel.GroupCommunication)
		case result.JudgedSteps:
			return figure != "step" || verdict == result.Appeared || verdict == result.Vanished
		}
		return true
	})
}
