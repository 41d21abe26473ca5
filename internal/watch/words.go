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

// causes are those of a slower rank in words.
var causes = map[string]string{
	result.CauseDevice:        "the same kernels take longer on its device",
	result.CauseHost:          "its host launches the same kernels late",
	result.CauseWork:          "it runs more or larger kernels for as much work",
	result.CauseCommunication: "its transfers are slower",
	result.CauseUnknown:       "why is not shown",
}

// sentence says it all in one. answer is what the window tells by itself.
func (v *Verdict) sentence(rule, answer string) string {
	since := "since " + clock(v.Since)
	alone := ""
	if v.ByLoad {
		alone = " (by its signals alone: the kernels did not tell)"
	}
	switch v.Kind {
	case MoreWork:
		return fmt.Sprintf("more work: %s, %s, %s%s", v.Rank, since, v.much(), alone)
	case Slower:
		why := causes[v.Cause]
		if v.Cause == result.CauseDevice && v.Replica != nil && v.Replica.Held != nil {
			why = report.Words(v.Replica.Held.Why())
		}
		return fmt.Sprintf("same work, slower: %s, %s, takes longer than the others for the same work: %s%s", v.Rank, since, why, alone)
	}
	if v.Kind == Overload {
		return fmt.Sprintf("overload: %s more requests come than the server serves, and no rank stands out; of the window: %s", since, cmp.Or(answer, "nothing"))
	}
	if answer == "" {
		answer = "nothing in the window explains it"
	}
	return fmt.Sprintf("%s %s; of the window: %s", rule, since, answer)
}

// much says how much more work a rank has.
func (v *Verdict) much() string {
	if r := v.Replica; r != nil && r.Cause == result.CauseLoad {
		what := "requests"
		if !(r.This.Batch >= r.Others.Batch*different) {
			what = "tokens"
		}
		text := fmt.Sprintf("has %.1f times as many %s in a step as the others", r.Busier(), what)
		if longer := r.Longer(); longer >= 1.05 {
			return text + fmt.Sprintf(", which takes it %.1f times as long", longer)
		}
		return text + ", which takes it no longer"
	}
	if n := v.times("running"); v.ByLoad && n >= different {
		return fmt.Sprintf("has %.1f times as many requests as the others", n)
	}
	if v.ByLoad {
		return fmt.Sprintf("has %.0f requests that wait, %.0f on the others, and runs as many as these", *v.figure("queued").This, *v.figure("queued").Others)
	}
	return "has more to do in a step than the others: " + cmp.Or(v.Cause, "work")
}

// shownFindings is how many are printed.
const shownFindings = 3

// lines say it for people.
func (v *Verdict) lines(dir string) []string {
	out := []string{"", "  " + v.Says}
	for i := range v.Load {
		f := &v.Load[i]
		unit := f.Unit
		if f.time() {
			unit = strings.TrimPrefix(strings.TrimPrefix(unit, "s"), " ")
		}
		text := fmt.Sprintf("    %-8s %8s, others %8s", f.Signal, f.short(f.This), f.short(f.Others))
		if f.ThisBefore != nil || f.OthersBefore != nil {
			text += fmt.Sprintf("; before %8s, others %8s", f.short(f.ThisBefore), f.short(f.OthersBefore))
		}
		out = append(out, strings.TrimRight(text+" "+unit, " "))
	}
	for _, e := range v.Evidence {
		out = append(out, "    - "+e)
	}
	for _, todo := range v.Next {
		out = append(out, "    → "+todo)
	}
	for _, f := range v.Findings[:min(len(v.Findings), shownFindings)] {
		out = append(out, "    finding: "+f)
	}
	if n := len(v.Findings) - shownFindings; n > 0 {
		out = append(out, fmt.Sprintf("    and %s more", plural(n, "finding")))
	}
	if v.Changed != "" {
		out = append(out, "    against the window before: "+v.Changed)
	}
	if v.Recording != "" {
		out = append(out, "    "+v.Recording)
	}
	if len(v.Missing) > 0 {
		out = append(out, "    missing: "+strings.Join(v.Missing, ", "))
	}
	for _, p := range v.Problems {
		out = append(out, "    not explained: "+p)
	}
	return append(out, "    traces: "+dir, "")
}

// time tells figures in s, or in s of something.
func (f *Figure) time() bool { return f.Unit == "s" || strings.HasPrefix(f.Unit, "s ") }

// short is a value of the figure without its unit, but for times, which have theirs.
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
