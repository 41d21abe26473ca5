package report

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// worth returns by how much a step becomes shorter without the cause of a finding: "worth 1.8 ms a step", "worth up to
// 3 ms a step", or "worth: none shown". It returns "" if the finding has no cost.
func worth(f *result.Finding) string {
	w, most := &f.Worth, f.CostNSPerStep
	switch {
	case w.Known && w.AtMost:
		most = w.Gain()
	case w.Sure() && w.Gain() > 0 && !w.Little():
		return worthText(w.Gain(), false)
	case w.Known && !w.Hidden:
		most = max(w.Step-w.Low, w.Last)
		if w.Little() {
			most = 0
		}
	case most <= 0:
		return ""
	}
	switch text := worthText(most, true); {
	case most <= 0:
		return "worth: none shown"
	case f.FirstStep >= 0 && f.FirstStep == f.LastStep:
		return strings.TrimSuffix(text, aStep)
	default:
		return text
	}
}

const aStep = " a step"

func worthText(ns int64, most bool) string {
	if most {
		return "worth up to " + metric.Duration(ns) + aStep
	}
	return "worth " + metric.Duration(ns) + aStep
}

// noFindings is the text of a report that has no findings.
const noFindings = "No problems found."

// answer returns the verdict as a sentence. It returns "" if the report has no verdict, as reports of older versions do
// not.
func answer(r *result.Report) string { return sentence(r.Verdict) }

// guides returns the guides named by findings, without duplicates.
func guides(found []result.Finding) (names []string) {
	for i := range found {
		if g := found[i].Guide; g != "" && !slices.Contains(names, g) {
			names = append(names, g)
		}
	}
	return names
}

// stepsOf describes the steps of a finding in words. It returns "" if the finding is not about particular steps.
func stepsOf(f *result.Finding) string {
	switch {
	case f.FirstStep < 0:
		return ""
	case f.LastStep < 0:
		return fmt.Sprintf("from step %d", f.FirstStep)
	case f.LastStep == f.FirstStep:
		return fmt.Sprintf("step %d", f.FirstStep)
	}
	return fmt.Sprintf("steps %d–%d", f.FirstStep, f.LastStep)
}

// proofs returns the worth of a finding, followed by the evidence of the finding.
func proofs(f *result.Finding) []result.Evidence {
	if f.Worth.Says.String() == "" {
		return f.Evidence
	}
	return slices.Concat([]result.Evidence{{Text: f.Worth.Says, Step: -1}}, f.Evidence)
}

// proof returns the text of a piece of evidence, and the shortened name of the evidence. The name is "" if the text
// contains it.
func proof(e *result.Evidence) (text, name string) {
	text, name = columns.Clean(Words(e.Text)), Words(e.Name)
	if strings.Contains(text, name) || strings.Contains(text, columns.Clean(kernel.Short(name))) {
		return text, ""
	}
	if name = shortenName(columns.Clean(name), 80); strings.Contains(text, name) {
		name = ""
	}
	return text, name
}

// limitsOf returns sentences about the detectable lateness, the results of significance tests and the profiler's
// overhead. The sentences have no full stops.
func limitsOf(r *result.Report) (out []string) {
	for _, f := range []fact.Fact{r.Chance.Says, r.Chance.Tests, r.Recording.Says} {
		if s := columns.Clean(Words(f)); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// confidence returns the sentences of limitsOf as a paragraph, or "" if there are none.
func confidence(r *result.Report) string {
	all := limitsOf(r)
	if len(all) == 0 {
		return ""
	}
	for i, s := range all[1:] {
		all[i+1] = capital(s)
	}
	return "Confidence: " + strings.Join(all, ". ") + "."
}

// headline returns the parts of the line that describes the capture.
func headline(r *result.Report) []string {
	s := &r.Source
	out := []string{plural(len(s.Ranks), "rank")}
	kinds := map[string]int{}
	for i := range r.Steps {
		kinds[r.Steps[i].Kind]++
	}
	names := sorts.Sorted(maps.Keys(kinds), func(a, b string) int {
		return cmp.Or(kinds[b]-kinds[a], strings.Compare(a, b))
	})
	for i, k := range names {
		names[i] = metric.Count(kinds[k]) + " " + columns.Clean(k)
	}
	switch {
	case len(r.Steps) == 0:
		out = append(out, "no steps")
	case len(names) == 1 && r.Said(r.Steps[0].Kind) == "":
		out = append(out, plural(len(r.Steps), "step"))
	case len(names) == 1:
		out = append(out, names[0]+" "+strings.TrimLeft(plural(len(r.Steps), "step"), "0123456789, "))
	default:
		out = append(out, plural(len(r.Steps), "step")+" ("+strings.Join(names, ", ")+")")
	}
	if length := cmp.Or(s.RecordedNS, s.SpanNS); length > 0 {
		out = append(out, metric.Duration(length))
	}
	if s.Device != "" {
		out = append(out, columns.Clean(s.Device))
	}
	return out
}

// caveat describes the gaps of a capture; "" if it is complete.
func caveat(r *result.Report) string {
	s := &r.Source
	switch {
	case len(s.Doubts) > 0:
		return "not one capture: " + columns.Clean(strings.Join(s.Doubts, "; ")) + ": rank findings may be wrong"
	case len(s.Missing) > 0:
		names, more := cut(trace.LabelRuns(s.Missing), 12, "")
		text := "no file of " + columns.Clean(strings.Join(names, ", "))
		if more != "" {
			text += " … (" + more + ")"
		}
		return text + ": the figures cover only the ranks found"
	case !s.Complete && slices.ContainsFunc(r.Findings, func(f result.Finding) bool { return strings.HasPrefix(f.ID, "data-cut") }):
		return "a file ends early, see the findings and notes"
	case !s.Complete:
		return losses(r)
	}
	return ""
}

// losses describes the first loss in the notes of a report, and counts the others.
func losses(r *result.Report) string {
	text, more := "", 0
	for i := range r.Notes {
		n := &r.Notes[i]
		if n.Severity != trace.Loss.String() {
			continue
		}
		if text != "" {
			more++
			continue
		}
		text = Words(n.Text)
		if n.Count > 1 && !strings.Contains(text, strconv.FormatInt(n.Count, 10)) {
			text = metric.Count(n.Count) + " " + text
		}
		text = columns.Clean(path.Base(n.Source) + ": " + text)
	}
	switch {
	case text == "":
		return "a file ends early, see the findings and notes"
	case more > 0:
		text += fmt.Sprintf(" (and %s: --tables notes)", plural(more, "more note"))
	}
	return text
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return metric.Count(n) + " " + noun + "s"
}

// overall returns the breakdown of the time of all ranks and steps, or nil if the report has none.
func overall(r *result.Report) *result.Time {
	var sum result.Time
	for i := range r.Times {
		t := &r.Times[i]
		if t.Kind != allRanks || t.Total == 0 {
			continue
		}
		if t.Rank == allRanks {
			return &t.Time
		}
		sum.Add(&t.Time)
	}
	if sum.Total == 0 {
		return nil
	}
	return &sum
}

// summary describes the breakdown of GPU time in words.
func summary(t *result.Time) string {
	p := split(t)
	s := fmt.Sprintf("compute %s, transfer %s, wait %s, ", share(ratio(p.compute, t.Total)), share(ratio(p.transfer, t.Total)),
		share(ratio(p.wait, t.Total)))
	if p.unrecorded > 0 {
		s += unrecorded + " " + share(ratio(p.unrecorded, t.Total)) + ", "
	}
	s += fmt.Sprintf("copy %s, idle %s", share(ratio(p.copy, t.Total)), share(ratio(p.idle, t.Total)))
	if why := mostly(t); why != "" {
		s += " (" + why + " of it)"
	}
	return s
}
