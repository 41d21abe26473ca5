// Package answer turns findings into an answer: which matters most by what it is worth, the
// one sentence that says so, and what to do next.
package answer

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Of orders the findings of a report, says what to do about each, and gives the verdict.
func Of(rep *result.Report) {
	for i := range rep.Findings {
		f := &rep.Findings[i]
		weigh(f)
		f.Title = titled(rep, f, f.Title)
		next(rep, f)
	}
	slices.SortStableFunc(rep.Findings, func(x, y result.Finding) int {
		return cmp.Or(
			result.First(leads(&x), leads(&y)),
			cmp.Compare(level(x.Severity), level(y.Severity)),
			cmp.Compare(sort(&x), sort(&y)),
			cmp.Compare(total(rep, &y), total(rep, &x)),
			cmp.Compare(y.CostNSPerStep, x.CostNSPerStep),
			cmp.Compare(x.ID, y.ID))
	})
	once(rep.Findings)
	rep.Verdict = verdict(rep)
}

// once keeps what is to be done where it is said first.
func once(found []result.Finding) {
	said := map[string]bool{}
	for i := range found {
		f := &found[i]
		f.Next = slices.DeleteFunc(f.Next, func(todo fact.Fact) bool {
			key := todo.String()
			defer func() { said[key] = true }()
			return said[key]
		})
		result.NoNil(f)
	}
}

var levels = []string{"high", "medium", "low", "info"}

func level(severity string) int { return slices.Index(levels, severity) }

// What findings are about. Faults come before what holds for all ranks and steps alike: they are what is not as
// it was, or not as elsewhere, and mending them costs no performance work.
const (
	fault = iota
	bound
	lack
)

func sort(f *result.Finding) int {
	switch f.Kind {
	case result.HostBound, result.CommBound, result.LaunchBound:
		return bound
	case result.Data, result.Balanced:
		return lack
	}
	return fault
}

// leads tells a late rank that is worth something: it comes before what bounds all ranks.
func leads(f *result.Finding) bool {
	return f.Kind == result.Straggler && level(f.Severity) <= level("medium")
}

// What is worth less than the first two of these shares of a step is at most of medium and of low severity; a late rank
// that is worth more than the last is at least of medium severity.
const (
	highShare   = 0.03
	mediumShare = 0.01
	raiseShare  = 0.05
	hostShare   = 0.10 // of hosts, which differ by nature, for a high severity
)

// weigh brings the severity of a finding in line with what it is worth. A bound, which nobody reaches, says of it only
// that it is little; few steps say nothing.
func weigh(f *result.Finding) {
	w := &f.Worth
	most := "high"
	switch share := metric.Share(w.Gain(), w.Step); {
	case w.Known && w.AtMost && w.Step > 0 && share < mediumShare:
		most = "low"
	case !w.Sure():
		return
	case share < mediumShare, w.Little():
		most = "low"
	case share < raiseShare && (f.Turns || f.Kind == result.Straggler && f.Cause == result.CauseHost): // hosts differ by nature
		most = "low"
	case share < highShare, share < hostShare && f.Kind == result.Straggler && f.Cause == result.CauseHost:
		most = "medium"
	case share > raiseShare && f.Kind == result.Straggler && !f.Profilers && (f.P > 0 || f.Plain) && level(f.Severity) > level("medium"):
		f.Severity = "medium"
	}
	if level(f.Severity) < level(most) {
		f.Severity = most
	}
}

// titled is the title of a late rank with what it is worth before what the others wait for it: they may wait in steps
// that would take as long without.
func titled(rep *result.Report, f *result.Finding, title fact.Fact) fact.Fact {
	w := &f.Worth
	switch {
	case title.Key == "profilers":
		return title.With("what", titled(rep, f, title.Get("what").(fact.Fact)))
	case title.Key == "straggler" && w.Sure() && !w.Little() && w.Without < w.Step && f.CostNSPerStep > 0:
		return title.With("cost", fact.Of("late_worth", "which", rep.Which(f), "without", w.Without, "step", w.Step, "cost", f.CostNSPerStep))
	}
	return title
}

// total is what a finding costs all its steps together: by what it is worth, where that is known.
func total(rep *result.Report, f *result.Finding) int64 {
	n := len(f.Steps)
	switch {
	case n > 0:
	case f.FirstStep < 0:
		n = len(rep.Steps)
	default:
		n = f.LastStep - f.FirstStep + 1
	}
	if f.Worth.Known {
		return f.Worth.Gain() * int64(n)
	}
	return f.CostNSPerStep * int64(n)
}

// verdict is the sentence: what is wrong with a rank, a link or some steps, and what bounds all steps. If nothing is
// it says what is known of that.
func verdict(rep *result.Report) fact.Fact {
	var first [lack + 1]*result.Finding
	for i := range rep.Findings {
		f := &rep.Findings[i]
		if s := sort(f); first[s] == nil && (s == lack || level(f.Severity) <= level("medium")) {
			first[s] = f
		}
	}
	switch a, b, c := first[fault], first[bound], first[lack]; {
	case a != nil && b != nil && !leads(a) && level(b.Severity) < level(a.Severity):
		return fact.Of("verdict_both", "one", says(rep, b), "other", says(rep, a))
	case a != nil && b != nil:
		return fact.Of("verdict_both", "one", says(rep, a), "other", says(rep, b))
	case a != nil:
		return says(rep, a)
	case b != nil:
		return says(rep, b)
	case len(rep.Findings) > 0 && sort(&rep.Findings[0]) != lack:
		return fact.Of("verdict_small", "what", rep.Findings[0].Title, "idle", idle(rep))
	case c != nil:
		return c.Title
	}
	return fact.Of("verdict_nothing", "idle", idle(rep))
}

// mostIdle is the share of idle time above which no capture is said to have small findings alone without it.
const mostIdle = 0.5

// idle says that devices are idle for most of the time, though no finding costs much.
func idle(rep *result.Report) fact.Fact {
	var all, none, queued int64
	for i := range rep.Times {
		if t := &rep.Times[i]; t.Kind == "all" && t.Rank != "all" {
			all, none, queued = all+t.Total, none+t.Idle, queued+t.IdleBy.Device
		}
	}
	switch share := metric.Share(none, all); {
	case share > mostIdle && 2*queued > none:
		return fact.Of("verdict_queued", "share", share)
	case share > mostIdle:
		return fact.Of("verdict_idle", "share", share)
	}
	return fact.Fact{}
}

// says is a finding in a sentence: its title, or of a late rank what it does, and what it is worth.
func says(rep *result.Report, f *result.Finding) fact.Fact {
	title, doubt := f.Title, fact.Fact{}
	if f.Profilers {
		title, doubt = title.Get("what").(fact.Fact), fact.Of("verdict_doubt", "why", title.Get("why"))
	}
	w := &f.Worth
	if title.Key != "straggler" || !w.Sure() {
		return fact.Of("verdict_one", "what", title, "doubt", doubt)
	}
	effect := fact.Of("verdict_little", "which", rep.Which(f), "cost", f.CostNSPerStep)
	if !w.Little() {
		var tokens fact.Fact
		if w.Tokens > 0 {
			tokens = fact.Of("worth_tokens", "is", w.Tokens, "without", w.WithoutTokens)
		}
		effect = fact.Of("verdict_worth", "which", rep.Which(f), "step", w.Step, "without", w.Without, "tokens", tokens)
	}
	return fact.Of("verdict_late", "rank", title.Get("rank"), "when", title.Get("when"), "why", title.Get("why"), "effect", effect, "doubt", doubt)
}
