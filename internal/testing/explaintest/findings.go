package explaintest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// Has reports whether a report has a finding of this kind.
func Has(r *result.Report, kind string) bool {
	return slices.ContainsFunc(r.Findings, func(f result.Finding) bool { return f.Kind == kind })
}

// Said returns a report's findings of the given kinds.
func Said(r *result.Report, kinds ...string) (out []result.Finding) {
	for _, f := range r.Findings {
		if slices.Contains(kinds, f.Kind) {
			out = append(out, f)
		}
	}
	return out
}

// Brief formats one finding as a line: "rank cause first-last".
func Brief(f result.Finding) string {
	s := fmt.Sprintf("%s %d-%d", f.Cause, f.FirstStep, f.LastStep)
	if len(f.Ranks) == 1 {
		s = fmt.Sprintf("rank %d %s", f.Ranks[0], s)
	}
	if f.Passing {
		s += " passing"
	}
	return s
}

// Describe lists the findings and the state of the clocks, for messages of failed tests.
func Describe(r *result.Report) string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "\n  %s %s %s, cost %s: %s", f.Severity, f.Kind, Brief(f), metric.Duration(f.CostNSPerStep), report.Words(f.Title))
	}
	return b.String() + "\n  clocks " + report.Words(r.Source.Clocks)
}

// Stragglers lists the straggler findings of the given causes in brief form.
func Stragglers(r *result.Report, causes ...string) []string {
	var out []string
	for _, f := range r.Findings {
		if f.Kind == result.Straggler && (len(causes) == 0 || slices.Contains(causes, f.Cause)) {
			out = append(out, Brief(f))
		}
	}
	return out
}

// LateRanks returns the ranks that any finding calls late.
func LateRanks(r *result.Report) (out []int) {
	for _, f := range Said(r, result.Straggler) {
		out = append(out, f.Ranks...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Standing returns the findings of stalling hosts.
func Standing(r *result.Report) (out []result.Finding) {
	for _, f := range Said(r, result.Straggler) {
		if strings.Contains(f.ID, "-still-") {
			out = append(out, f)
		}
	}
	return out
}

// SeverityOf returns the severity of the finding whose ID has this prefix; "": there is none.
func SeverityOf(r *result.Report, begins string) string {
	for _, f := range r.Findings {
		if strings.HasPrefix(f.ID, begins) {
			return f.Severity
		}
	}
	return ""
}

// AllWords returns the texts of a report's findings and evidence, one per line.
func AllWords(r *result.Report) string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintln(&b, report.Words(f.Title))
		for _, e := range f.Evidence {
			fmt.Fprintln(&b, report.Words(e.Text))
		}
	}
	return b.String()
}

// AllFacts returns the keys and values of all titles and evidence.
func AllFacts(r *result.Report) string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintln(&b, f.Title)
		for _, e := range f.Evidence {
			fmt.Fprintln(&b, e.Text)
		}
	}
	return b.String()
}

// BalanceRows returns the rows of a kind of work in the table of balance.
func BalanceRows(r *result.Report, work string) (out []result.BalanceRow) {
	for _, b := range r.Balance {
		if b.Work == work {
			out = append(out, b)
		}
	}
	return out
}

// StepVerdict returns the comparison of one figure of decode steps.
func StepVerdict(c *result.Comparison, figure string) result.StepDiff {
	for _, d := range c.Steps {
		if d.Kind == "decode" && d.Figure == figure {
			return d
		}
	}
	return result.StepDiff{}
}

// DecodeMedian returns the median length of a report's decode steps.
func DecodeMedian(r *result.Report) int64 {
	var all []int64
	for _, s := range r.Steps[1 : len(r.Steps)-1] {
		if s.Kind == "decode" {
			all = append(all, s.Ranks[0].Total)
		}
	}
	slices.Sort(all)
	return all[len(all)/2]
}
