package watch

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// causes describes, in words, the causes of a slower rank.
var causes = map[string]string{
	result.CauseDevice:        "the same kernels take longer on its device",
	result.CauseHost:          "its host launches the same kernels late",
	result.CauseWork:          "it runs more or larger kernels for the same work",
	result.CauseCommunication: "its transfers are slower",
	result.CauseUnknown:       "cause unknown",
}

// sentence summarizes the verdict in one sentence. The parameter answer is the summary of the window.
func (v *Verdict) sentence(rule, answer string) string {
	since := "since " + clock(v.Since)
	alone := ""
	if v.ByLoad {
		alone = " (from its signals alone: the kernels are inconclusive)"
	}
	switch v.Kind {
	case MoreWork:
		return fmt.Sprintf("more work: %s, %s %s%s", since, v.Rank, v.much(), alone)
	case Slower:
		why := causes[v.Cause]
		if v.Cause == result.CauseDevice && v.Replica != nil && v.Replica.Held != nil {
			why = report.Words(v.Replica.Held.Why())
		}
		return fmt.Sprintf("same work, slower: %s, %s takes longer than the others for the same work: %s%s", since, v.Rank, why, alone)
	}
	if v.Kind == Stalled {
		return fmt.Sprintf("stalled process: %s, %s %s, as a process that is stopped and continued, has used up its CPU quota, or is busy at these times; in the window: %s", since, v.Rank, v.Stalls.says(), cmp.Or(answer, "no finding"))
	}
	if v.Kind == Overload {
		return fmt.Sprintf("overload: %s, requests arrive faster than the server serves them, and no rank stands out; in the window: %s", since, cmp.Or(answer, "no finding"))
	}
	if answer == "" {
		answer = "no finding explains it"
	}
	return fmt.Sprintf("%s %s; in the window: %s", rule, since, answer)
}

// much describes how much more work the rank has than the other ranks.
func (v *Verdict) much() string {
	if r := v.Replica; r != nil && r.Cause == result.CauseLoad {
		what := "requests"
		if !(r.This.Batch >= r.Others.Batch*different) {
			what = "tokens"
		}
		text := fmt.Sprintf("has %.1f times as many %s per step as the others", r.Busier(), what)
		if longer := r.Longer(); longer >= 1.05 {
			return text + fmt.Sprintf("; its steps take %.1f times as long", longer)
		}
		return text + "; its steps take no longer"
	}
	if n := v.times("running"); v.ByLoad && n >= different {
		return fmt.Sprintf("has %.1f times as many requests as the others", n)
	}
	if v.ByLoad {
		return fmt.Sprintf("has %.0f queued requests (others: %.0f) and runs as many as the others", *v.figure("queued").This, *v.figure("queued").Others)
	}
	return "has more work per step than the others: " + cmp.Or(v.Cause, "work")
}

// shownFindings is the number of findings printed.
const shownFindings = 3

// lines formats the verdict for the console.
func (v *Verdict) lines(dir string) []string {
	out := []string{""}
	for _, line := range v.Lines() {
		out = append(out, "  "+line)
	}
	return append(out, "    traces: "+dir, "")
}

// Lines returns the verdict in words: one sentence, and the indented lines that explain it.
func (v *Verdict) Lines() []string {
	out := []string{v.Says}
	for i := range v.Load {
		f := &v.Load[i]
		unit := f.Unit
		if f.time() {
			unit = strings.TrimPrefix(strings.TrimPrefix(unit, "s"), " ")
		}
		text := fmt.Sprintf("  %-8s %8s, others %8s", f.Signal, f.short(f.This), f.short(f.Others))
		if f.ThisBefore != nil || f.OthersBefore != nil {
			text += fmt.Sprintf("; before %8s, others %8s", f.short(f.ThisBefore), f.short(f.OthersBefore))
		}
		out = append(out, strings.TrimRight(text+" "+unit, " "))
	}
	for _, e := range v.Evidence {
		out = append(out, "  - "+e)
	}
	for _, todo := range v.Next {
		out = append(out, "  → "+todo)
	}
	for _, f := range v.Findings[:min(len(v.Findings), shownFindings)] {
		out = append(out, "  finding: "+f)
	}
	if n := len(v.Findings) - shownFindings; n > 0 {
		out = append(out, fmt.Sprintf("  and %s more", plural(n, "finding")))
	}
	if v.Changed != "" {
		out = append(out, "  compared with the window before the change: "+v.Changed)
	}
	if v.Recording != "" {
		out = append(out, "  "+v.Recording)
	}
	if len(v.Missing) > 0 {
		out = append(out, "  missing: "+strings.Join(v.Missing, ", "))
	}
	for _, p := range v.Problems {
		out = append(out, "  not explained: "+p)
	}
	return out
}

// time reports whether the unit of the figure is s, or s per something.
func (f *Figure) time() bool { return f.Unit == "s" || strings.HasPrefix(f.Unit, "s ") }

// short formats a value of the figure. Only times include the unit.
func (f *Figure) short(v *float64) string {
	switch {
	case v == nil:
		return "?"
	case f.time():
		return metric.Duration(*v * 1e9)
	case *v >= 100:
		return metric.Count(int64(math.Round(*v)))
	}
	return strconv.FormatFloat(*v, 'f', 1, 64)
}
