package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/dumps"
)

// DumpsText writes a comparison of performance dumps for a terminal: differences between the workloads, the verdict,
// and the tables.
func DumpsText(w io.Writer, c *dumps.Comparison, o Options) error {
	var b strings.Builder
	for i := range c.Sides {
		fmt.Fprintf(&b, "%s %s\n", sideLetter(i), dumpSide(&c.Sides[i]))
	}
	b.WriteByte('\n')
	write := lines(&b) // the lines are not wrapped, so that they can be searched
	for _, line := range unlikeLines(c, false) {
		write(line)
	}
	if n := len(c.Worse); n > 0 {
		write("REGRESSION: ", plural(n, "figure"), " got slower by more than ", metric.Percent(c.Limit))
	} else if c.Limit > 0 {
		write("no regression above ", metric.Percent(c.Limit))
	}
	for _, r := range c.Worse {
		write("  - ", worseTime(c, &r))
	}
	for side := 1; side < len(c.Sides); side++ {
		write(dumpVerdict(c, side))
	}
	for _, s := range c.Slow {
		write(slowStep(&s))
	}
	for _, t := range dumpTables(c, o.rows()) {
		if len(t.rows) > 0 {
			b.WriteString(t.below(o))
		}
	}
	for i, n := range dumpNotes(c) {
		if i == 0 {
			write()
		}
		lead := "note: "
		for _, l := range columns.Wrap(n, o.width()-len(lead)) {
			write(lead, l)
			lead = "      "
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// sideLetter returns the name of a side: A, B, …, Z, and after Z a number.
func sideLetter(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return fmt.Sprintf("#%d", i+1)
}

// dumpSide describes a side.
func dumpSide(s *dumps.About) string {
	text := columns.Clean(s.Name) + ": " + plural(s.Dumps, "dump")
	for _, list := range [][]string{s.Models, s.Sizes} {
		if len(list) == 1 {
			text += ", " + columns.Clean(list[0])
		}
	}
	if len(s.StepCount) == 1 {
		text += ", " + plural(s.StepCount[0], "denoising step")
	}
	if len(s.Commits) == 1 && s.Commits[0] != "N/A" {
		text += ", commit " + columns.Clean(s.Commits[0])
	}
	return text
}

// unlikeLines returns the differences between the workloads, which cast doubt on all figures. If counted is set, it
// omits the numbers of steps, because the table contains them.
func unlikeLines(c *dumps.Comparison, counted bool) (lines []string) {
	for _, u := range c.Unlike {
		if counted && u.What == dumps.StepCount {
			continue
		}
		var each []string
		for i, values := range u.Values {
			var quoted []string
			for _, v := range values {
				quoted = append(quoted, shortenName(columns.Clean(v), 60))
			}
			text := "unknown"
			if len(quoted) > 0 {
				text = strings.Join(quoted, " and ")
			}
			each = append(each, sideLetter(i)+" "+text)
		}
		lines = append(lines, fmt.Sprintf("MISMATCH in %s: %s", u.What, strings.Join(each, ", ")))
	}
	for i := range c.Sides {
		if c.Sides[i].Diffusers {
			lines = append(lines, fmt.Sprintf("%s fell back to Diffusers' own pipeline, so it shows nothing about SGLang's", sideLetter(i)))
		}
	}
	return lines
}

// dumpVerdict returns the verdict on a side: the change of E2E and the stages that cause this change.
func dumpVerdict(c *dumps.Comparison, side int) string {
	v, base := &c.E2E.Values[side], &c.E2E.Values[0]
	text := ""
	if len(c.Sides) > 2 {
		text = sideLetter(side) + ": "
	}
	if base.N == 0 || v.N == 0 {
		return text + "E2E is missing on one side: total_duration_ms is 0"
	}
	text += fmt.Sprintf("E2E %s: %s → %s (%s)", v.Verdict, msText(base.MS), msText(v.MS), metric.PercentChange(v.Change))
	var parts []string
	if v.Verdict == dumps.Slower || v.Verdict == dumps.Faster {
		for _, k := range c.Causes[side] {
			parts = append(parts, k.Stage+" "+msChange(k.Diff)+stepList(k.Steps))
		}
	} else {
		for i := range c.Stages {
			r := &c.Stages[i]
			if s := &r.Values[side]; s.Verdict == dumps.Slower || s.Verdict == dumps.Faster {
				parts = append(parts, fmt.Sprintf("%s %s", r.Name, msChange(s.Diff)))
			}
		}
	}
	if len(parts) > 0 {
		text += ": " + columns.Clean(strings.Join(parts, ", "))
	}
	return text
}

func stepList(steps []int) string {
	switch {
	case len(steps) == 0:
		return ""
	case len(steps) == 1 && steps[0] == 0:
		return " (most of it in the first step)"
	case len(steps) == 1:
		return fmt.Sprintf(" (most of it in step %d)", steps[0])
	}
	return fmt.Sprintf(" (most of it in steps %s)", strings.Trim(strings.ReplaceAll(fmt.Sprint(steps), " ", ", "), "[]"))
}

func slowStep(s *dumps.SlowStep) string {
	return fmt.Sprintf("denoising step %d of %s took %s, its other steps %s", s.Step, sideLetter(s.Side), msText(s.MS), msText(s.Others))
}

func worseTime(c *dumps.Comparison, r *dumps.Regression) string {
	text := r.Name
	if len(c.Sides) > 2 {
		text = sideLetter(r.Side) + ": " + text
	}
	text += ": " + metric.PercentChange(r.Change)
	if !r.Tested {
		text += " (not tested: too few dumps)"
	}
	return columns.Clean(text)
}

func msText(ms float64) string {
	if ms == 0 {
		return "0"
	}
	return metric.Duration(ms * 1e6)
}

func msChange(ms float64) string {
	if ms > 0 {
		return "+" + msText(ms)
	}
	return msText(ms)
}

// dumpNotes returns the limitations of the comparison.
func dumpNotes(c *dumps.Comparison) (notes []string) {
	if len(c.NotSaid) > 0 {
		notes = append(notes, "some dumps lack their "+strings.Join(c.NotSaid, ", ")+", so this could not be compared.")
	}
	few := false
	for i := range c.Sides {
		few = few || c.E2E.Values[i].N > 0 && i > 0 && !c.E2E.Values[i].Tested
	}
	if few {
		notes = append(notes, "too few dumps for a significance test: verdicts are SGLang's thresholds (2 % of the whole; 10 % and 120 ms of a stage), and "+
			"the variation between runs of one build is unknown. Give four or more of each side, as A1.json,A2.json,… or a directory.")
	}
	return notes
}
