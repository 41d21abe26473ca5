// Package answer turns findings into an answer: it orders findings by worth, states the verdict in one sentence, and
// recommends actions.
package answer

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Of orders the findings of a report, adds recommended actions to each, and sets the verdict.
func Of(rep *result.Report) {
	for i := range rep.Findings {
		f := &rep.Findings[i]
		weigh(f)
		f.Title = titled(rep, f, f.Title)
		next(rep, f)
		forDevices(rep, f)
	}
	sorts.Stable(rep.Findings, func(x, y result.Finding) int {
		return cmp.Or(
			result.First(leads(&x), leads(&y)),
			cmp.Compare(level(x.Severity), level(y.Severity)),
			cmp.Compare(class(&x), class(&y)),
			cmp.Compare(total(rep, &y), total(rep, &x)),
			cmp.Compare(y.CostNSPerStep, x.CostNSPerStep),
			cmp.Compare(x.ID, y.ID))
	})
	once(rep.Findings)
	rep.Verdict = stalled(rep, verdict(rep))
	rep.NoFault = slices.Contains([]string{"balanced", "verdict_nothing", "verdict_small"}, rep.Verdict.Key)
	if i := slices.IndexFunc(rep.Findings, func(f result.Finding) bool { return f.ID == result.Unknown || f.Together() }); i >= 0 && rep.Verdict.Key != rep.Findings[i].Title.Key {
		rep.Verdict = fact.Of("verdict_both", "one", rep.Verdict, "other", rep.Findings[i].Title)
	}
	var ranks []string
	for i := range rep.Findings {
		if f := &rep.Findings[i]; strings.HasPrefix(f.Title.Key, "data-lost") {
			ranks = append(ranks, f.Names...)
		}
	}
	if ranks != nil && !strings.HasPrefix(rep.Verdict.Key, "data-lost") {
		slices.Sort(ranks)
		if rep.NoFault {
			rep.Verdict = fact.Of("verdict_lost_first", "what", rep.Verdict, "ranks", ranks)
		} else {
			rep.Verdict = fact.Of("verdict_lost", "what", rep.Verdict, "ranks", ranks)
		}
	}
}

// once removes a recommended action from all findings except the first that has it.
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

func class(f *result.Finding) result.Class { return result.KindOf(f.Kind).Class }

// leads reports whether the finding is a late rank that is important enough to come before bounds.
func leads(f *result.Finding) bool {
	return f.Kind == result.Straggler && level(f.Severity) <= level("medium")
}

// Thresholds for the worth of a finding, as shares of a step. Below highShare, a finding has at most medium severity,
// and below mediumShare, low severity. A late rank with a worth above raiseShare has at least medium severity.
const (
	highShare   = 0.03
	mediumShare = 0.01
	raiseShare  = 0.05
	hostShare   = 0.10 // replaces highShare for late hosts, since hosts differ by nature
)

// weigh adjusts the severity of a finding to its worth. A bound cannot be reached, so its worth can only lower the
// severity. In a few steps, a worth of nothing or a small upper bound can only lower it, too.
func weigh(f *result.Finding) {
	w := &f.Worth
	most := "high"
	switch share := metric.Share(w.Gain(), w.Step); {
	case w.Known && w.AtMost && w.Step > 0 && share < mediumShare:
		most = "low"
	case w.Known && !w.AtMost && !w.Hidden && !w.Sure() && metric.Share(max(w.Step-w.Low, w.Last), w.Step) < leastShare(f):
		most = "low" // even the upper bound of the gain is small
	case !w.Known || w.AtMost || w.Hidden || !w.Sure() && w.Gain() > 0:
		return
	case share < leastShare(f), w.Little():
		most = "low"
	case share < highShare, share < hostShare && f.Kind == result.Straggler && f.Cause == result.CauseHost:
		most = "medium"
	}
	if share := metric.Share(w.Gain(), w.Step); w.Sure() && share > raiseShare && most != "low" && f.Kind == result.Straggler && !f.Profilers && (f.P > 0 || f.Plain) && level(f.Severity) > level("medium") {
		f.Severity = "medium"
	}
	if level(f.Severity) < level(most) {
		f.Severity = most
	}
}

// leastShare returns the share of a step below which the worth of a finding means low severity. Hosts differ by nature.
func leastShare(f *result.Finding) float64 {
	if f.Turns || f.Kind == result.Straggler && f.Cause == result.CauseHost {
		return raiseShare
	}
	return mediumShare
}

// titled returns the title of a late rank, in which the worth precedes the wait of the other ranks. The worth matters
// more, since the other ranks may wait in steps that would take as long without the late rank.
func titled(rep *result.Report, f *result.Finding, title fact.Fact) fact.Fact {
	w := &f.Worth
	switch {
	case title.Key == "profilers":
		return title.With("what", titled(rep, f, title.Get("what").(fact.Fact)))
	case !w.Sure() || w.Little() || w.Without >= w.Step || f.CostNSPerStep <= 0:
	case title.Key == "straggler":
		return title.With("cost", fact.Of("late_worth", "which", rep.Which(f), "without", w.Without, "step", w.Step, "cost", f.CostNSPerStep))
	case title.Key == "several":
		return title.With("cost", fact.Of("several_worth", "which", rep.Which(f), "without", w.Without, "step", w.Step, "cost", f.CostNSPerStep))
	case title.Key == "faster":
		return title.With("cost", fact.Of("faster_worth", "which", rep.Which(f), "without", w.Without, "step", w.Step, "cost", f.CostNSPerStep))
	}
	return title
}

// total returns the total cost, in ns, of a finding over all its steps. total uses the worth of the finding if the
// worth is known.
func total(rep *result.Report, f *result.Finding) int64 {
	if f.Worth.Known {
		return f.Worth.Gain() * stepsIn(rep, f)
	}
	return f.CostNSPerStep * stepsIn(rep, f)
}

// stepsIn returns the number of steps of a finding.
func stepsIn(rep *result.Report, f *result.Finding) int64 {
	n := len(f.Steps)
	switch {
	case n > 0:
	case f.FirstStep < 0:
		n = len(rep.Steps)
	default:
		n = f.LastStep - f.FirstStep + 1
	}
	return int64(n)
}

// verdict returns the verdict: the fault of a rank, a link or some steps, and the bound of all steps. If there is
// neither a fault nor a bound, the verdict states how certain their absence is.
func verdict(rep *result.Report) fact.Fact {
	var first [result.Classes]*result.Finding
	for i := range rep.Findings {
		f := &rep.Findings[i]
		if s := class(f); first[s] == nil && (s == result.Lack || level(f.Severity) <= level("medium")) {
			first[s] = f
		}
	}
	switch a, b, c := first[result.Fault], first[result.Bound], first[result.Lack]; {
	case a != nil && b != nil && !leads(a) && level(b.Severity) < level(a.Severity):
		return fact.Of("verdict_both", "one", says(rep, b), "other", says(rep, a))
	case a != nil && b != nil && b.Kind == result.HostBound && bigger(rep, b, a):
		return fact.Of("verdict_bigger", "one", says(rep, a), "other", atBest(rep, b, true))
	case a != nil && b != nil:
		return fact.Of("verdict_both", "one", says(rep, a), "other", says(rep, b))
	case a != nil:
		return says(rep, a)
	case b != nil:
		return says(rep, b)
	case len(rep.Findings) > 0 && class(&rep.Findings[0]) != result.Lack:
		return fact.Of("verdict_small", "what", rep.Findings[0].Title, "idle", idle(rep))
	case c != nil:
		return c.Title
	}
	return fact.Of("verdict_nothing", "idle", idle(rep))
}

// stalled adds slow steps that take a large share of the time to a verdict on another fault.
func stalled(rep *result.Report, verdict fact.Fact) fact.Fact {
	for i := range rep.Findings {
		if f := &rep.Findings[i]; f.Kind == result.SlowStep && level(f.Severity) <= level("medium") {
			if !strings.Contains(verdict.String(), f.Title.String()) {
				return fact.Of("verdict_both", "one", verdict, "other", says(rep, f))
			}
			break
		}
	}
	return verdict
}

// mostIdle is the share of idle time above which the verdict mentions idle time if there are only small findings or
// none.
const mostIdle = 0.5

// idle returns the statement that devices are idle most of the time although no finding costs much.
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

// says returns a finding as a sentence: the title or, for a late rank, its behaviour, with the worth of the finding.
func says(rep *result.Report, f *result.Finding) fact.Fact {
	title, doubt := f.Title, fact.Fact{}
	if f.Profilers {
		title, doubt = title.Get("what").(fact.Fact), fact.Of("verdict_doubt", "why", title.Get("why"))
	}
	w := &f.Worth
	switch {
	case f.Kind == result.HostBound && reaches(f):
		return atBest(rep, f, false)
	case title.Key == "straggler" && !w.Sure() && extraWork(title):
		effect := fact.Of("verdict_cost", "cost", title.Get("cost"))
		return fact.Of("verdict_work", "rank", title.Get("rank"), "when", title.Get("when"), "kernels", moreKernels(f), "effect", effect, "doubt", doubt)
	case title.Key != "straggler" || !w.Sure():
		return fact.Of("verdict_one", "what", title, "doubt", doubt)
	}
	effect := fact.Of("verdict_little", "which", rep.Which(f), "cost", f.CostNSPerStep)
	if !w.Little() && w.Without < w.Step {
		var tokens fact.Fact
		if w.Tokens > 0 {
			tokens = fact.Of("worth_tokens", "is", w.Tokens, "without", w.WithoutTokens)
		}
		effect = fact.Of("verdict_worth", "which", rep.Which(f), "step", w.Step, "without", w.Without, "tokens", tokens)
	}
	if extraWork(title) {
		return fact.Of("verdict_work", "rank", title.Get("rank"), "when", title.Get("when"), "kernels", moreKernels(f), "effect", effect, "doubt", doubt)
	}
	return fact.Of("verdict_late", "rank", title.Get("rank"), "when", title.Get("when"), "why", title.Get("why"), "effect", effect, "doubt", doubt)
}

// extraWork reports whether the title of a late rank blames more work without a further reason.
func extraWork(title fact.Fact) bool {
	why, _ := title.Get("why").(fact.Fact)
	return why.Key == "late_work"
}

// moreKernels compares the number of kernels per step of a rank and its peers, if the rank runs more.
func moreKernels(f *result.Finding) fact.Fact {
	for i := range f.Evidence {
		if e := &f.Evidence[i]; e.Text.Key == "kernels_differ" && e.Value > e.Peers {
			return fact.Of("verdict_kernels", "mine", e.Value, "peers", e.Peers)
		}
	}
	return fact.Fact{}
}

// reaches reports whether the bound of a finding is below the recorded step time.
func reaches(f *result.Finding) bool {
	return f.Worth.Known && f.Worth.AtMost && f.Worth.Without < f.Worth.Step
}

// bigger reports whether removing bound gains more, over all steps of bound, than fixing f gains over all steps of f.
func bigger(rep *result.Report, bound, f *result.Finding) bool {
	costs := f.CostNSPerStep
	if f.Worth.Known {
		costs = f.Worth.Step - f.Worth.Without
	}
	return reaches(bound) && (bound.Worth.Step-bound.Worth.Without)*stepsIn(rep, bound) > costs*stepsIn(rep, f)
}

// atBest states the lowest possible time of host-bound steps of a kind. If brief is set, it omits the title of the
// finding.
func atBest(rep *result.Report, f *result.Finding, brief bool) fact.Fact {
	what, doubt := f.Title, fact.Fact{}
	if f.Profilers {
		what, doubt = what.Get("what").(fact.Fact), fact.Of("verdict_doubt", "why", what.Get("why"))
	}
	if brief {
		what = fact.Of("verdict_waits", "idle", what.Get("idle"))
	}
	how := fact.Of("how_any")
	if byGraphs(rep, f) {
		how = fact.Of("how_graphs")
	}
	w := &f.Worth
	return fact.Of("verdict_bound", "what", what, "how", how, "which", rep.Which(f), "step", w.Step, "without", w.Without, "doubt", doubt)
}

// byGraphs reports whether CUDA graphs are recommended for host-bound steps of a kind, in this finding or in an earlier
// one.
func byGraphs(rep *result.Report, f *result.Finding) bool {
	graphs := func(todo fact.Fact) bool {
		return slices.Contains([]string{"next_graphs", "next_graphs_any", "next_graphs_tensorrt", "next_larger_graphs"}, todo.Key)
	}
	given := slices.DeleteFunc(slices.Clone(f.Next), func(todo fact.Fact) bool { return todo.Key == "next_lean" })
	if len(given) > 0 {
		return slices.ContainsFunc(given, graphs)
	}
	return slices.ContainsFunc(rep.Findings, func(g result.Finding) bool { return slices.ContainsFunc(g.Next, graphs) })
}
