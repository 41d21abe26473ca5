package tables

import (
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// This file leaves figures unjudged if a capture lacks the data on which they rest.

// dropped lists notes about wrong clocks, and about dropped events of any category. Such notes cast doubt on all times.
var dropped = []trace.NoteKind{
	trace.NoteSetBack, trace.NoteCross, trace.NoteBeforeLaunch, trace.NoteDaysAway, trace.NoteDaysLong, trace.NoteNoDur, trace.NoteNoTime, trace.NoteRowBackwards, trace.NoteRowTime, trace.NoteBrokenEvents,
}

// If a rank lost at most the share fewLost of its records, all figures are judged. A loss of at most muchLost cannot
// explain that captures have different kernels.
const (
	fewLost  = 0.01
	muchLost = 0.05
)

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

// shareOf returns the share of a rank's records that a note reports as lost, or 1 if the share is unknown.
func shareOf(r *match.Rank, n *trace.Note) float64 {
	switch n.Kind {
	case trace.NoteLostOps:
		return metric.Share(n.Count, n.Lost)
	case trace.NoteTwice, trace.NoteNegative, trace.NoteRunsOn:
		return metric.Share(n.Count, n.Count+int64(len(r.Ops)))
	}
	return 1
}

// lostShare returns the share of a rank's GPU work that the recording lost.
func lostShare(r *match.Rank) float64 {
	if len(r.Ops) == 0 {
		return 1
	}
	ops := 0
	for i := range r.Steps {
		ops += r.Steps[i].LostOps
	}
	return max(metric.Share(r.Lost, r.Lost+len(r.Calls)), metric.Share(ops, ops+len(r.Ops)))
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
	var lost, others []string // ranks of the side, and other ranks of the capture
	for i := range rep.Findings {
		f := &rep.Findings[i]
		switch {
		case strings.HasPrefix(f.ID, "data-lost"), strings.HasPrefix(f.ID, "data-empty"):
			for _, name := range f.Names {
				if i := slices.Index(h.Ranks, name); i >= 0 {
					lost, h.lost = append(lost, name), max(h.lost, lostShare(h.ranks[i]))
				} else {
					others = append(others, name)
				}
			}
		case strings.HasPrefix(f.ID, "data-clocks"):
			h.lost = 1
			lacks(result.JudgedNone, fact.Of("lacks_clocks", "n", f.Title.Get("n"), "of", f.Title.Get("of")))
		case f.ID == result.Unknown:
			lacks(result.JudgedOwn, fact.Of("lacks_compared"))
		}
	}
	if slices.Sort(lost); len(lost) > 0 {
		lacks(result.JudgedSteps, fact.Of("lacks_lost", "ranks", lost))
	}
	if slices.Sort(others); len(others) > 0 {
		lacks(result.JudgedOwn, fact.Of("lacks_lost", "ranks", others))
	}
	var notes []trace.Note // one per kind
	ranks, judged := map[trace.NoteKind][]string{}, map[trace.NoteKind]result.Judged{}
	for _, r := range h.ranks {
		for _, n := range r.Notes {
			despite := judgedDespite(n.Kind)
			if despite == result.JudgedAll || n.Kind == trace.NoteLostOps && len(lost) > 0 {
				continue
			}
			share := shareOf(r, &n)
			if h.lost = max(h.lost, share); share > fewLost {
				judged[n.Kind] = despite
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
		lacks(judged[n.Kind], fact.Of("lacks_note", "ranks", slices.Compact(ranks[n.Kind]), "what", what))
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
