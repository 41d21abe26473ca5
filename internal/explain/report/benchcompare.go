package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
)

// BenchCompared returns a comparison of two loads, or of batches.
func BenchCompared(c *bench.Comparison, o Options) *Comparison {
	v := &Comparison{title: "Comparison of benchmarks", sides: []string{benchSide(&c.A), benchSide(&c.B)}, verdict: stopped(columns.Clean(c.Verdict))}
	clean := func(list []string) (out []string) {
		for _, s := range list {
			out = append(out, columns.Clean(s))
		}
		return out
	}
	said := ""
	if i := slices.IndexFunc(c.Unlike, func(u bench.Unlike) bool { return u.Refuses }); c.Refused && i >= 0 {
		said = c.Unlike[i].What // the verdict already contains this difference
	}
	for i, u := range c.Unlike {
		if u.What == said {
			continue
		}
		if i == mostUnlike && !o.Full && !o.All {
			v.unlike = append(v.unlike, plural(len(c.Unlike)-i, "more difference")+" (--full)")
			break
		}
		v.unlike = append(v.unlike, columns.Clean(u.String()))
	}
	v.worse, v.undecided, v.notes = clean(c.Regressions), clean(c.Undecided), clean(c.Notes)
	v.answer(c.Limit, c.Limits, c.Refused, "worse")
	v.tables = []*table{benchDiffs(c, o)}
	return v
}

// mostUnlike is the maximum number of differences between loads that are shown without --full.
const mostUnlike = 8

func benchSide(s *bench.Side) string {
	text := fmt.Sprintf("%s, %s", plural(s.Runs, "run"), plural(s.Requests, "request"))
	if n := s.Batches; n == 1 {
		text = "1 batch"
	} else if n > 1 {
		text = metric.Count(n) + " batches"
	}
	if s.Failed > 0 {
		text += fmt.Sprintf(", %s failed", metric.Count(s.Failed))
	}
	for _, v := range []string{s.Model, s.Backend} {
		if v != "" {
			text = columns.Clean(v) + ", " + text
		}
	}
	return columns.Clean(s.ID) + ": " + text
}

// benchDiffs returns the table that shows the figures of both sides. Figures with too few samples are only counted.
// They are shown if all figures are requested, or if there are no other figures, as for most batches.
func benchDiffs(c *bench.Comparison, o Options) *table {
	t := &table{id: "rows", title: "B against A", cols: []column{
		{name: ""}, {name: "A", right: true}, {name: "B", right: true}, {name: "change", right: true},
		{name: "95 % interval", right: true, drop: 1}, {name: "p", right: true, drop: 2}, {name: "samples", right: true, drop: 3}, {name: "verdict"},
	}}
	told := func(d bench.Diff) bool { return d.Verdict != bench.TooFew && d.Verdict != bench.Missing }
	hide, few := !o.All && !o.Full && slices.ContainsFunc(c.Rows, told), []string(nil)
	headed := ""
	for i := range c.Rows {
		d := &c.Rows[i]
		if hide && !told(*d) {
			few = append(few, folded(d))
			continue
		}
		side := func(v float64, n int) cell {
			if n == 0 {
				return textCell(dash)
			}
			return textCell(d.Unit.Text(v))
		}
		change, interval, p := dash, dash, dash
		if d.NA > 0 && d.NB > 0 && (d.A != 0 || d.Unit == bench.Share) {
			change = d.Changed()
		}
		if d.Lo != 0 || d.Hi != 0 {
			interval = d.Interval()
		}
		if d.Figure != "p99" && d.Verdict != bench.TooFew && d.Verdict != bench.NoInterval && d.Verdict != bench.Missing {
			p = fmt.Sprintf("%.2g", d.PAdj)
		}
		if d.Batch != headed {
			headed = d.Batch
			head := make([]cell, len(t.cols))
			head[0] = textCell("batch " + d.Batch)
			t.rows = append(t.rows, head)
		}
		t.rows = append(t.rows, []cell{
			textCell(d.Name()), side(d.A, d.NA), side(d.B, d.NB), textCell(change),
			textCell(interval), textCell(p), textCell(fmt.Sprintf("%s, %s %s", metric.Count(d.NA), metric.Count(d.NB), samplesOf[d.Per])), textCell(d.Verdict),
		})
	}
	if len(few) > 0 {
		t.omit(fmt.Sprintf("%s with too few samples: %s", plural(len(few), "figure"), strings.Join(few, "; ")))
	}
	return t
}

// folded returns the content of a row in a few words.
func folded(d *bench.Diff) string {
	switch {
	case d.NA == 0 && d.NB == 0:
		return d.Name()
	case d.NA == 0:
		return d.Name() + ", only in B: " + d.Unit.Text(d.B)
	case d.NB == 0:
		return d.Name() + ", only in A: " + d.Unit.Text(d.A)
	}
	return d.Name() + " " + d.Unit.Text(d.A) + " → " + d.Unit.Text(d.B)
}

var samplesOf = map[string]string{"batch": "batches", "run": "runs", "repeat": "batches"}

// BenchCompat writes the figures that the named tool would compute from the same events.
func BenchCompat(w io.Writer, tool string, figures []bench.Figure) error {
	var b strings.Builder
	fmt.Fprintf(&b, "As %s counts\n", tool)
	width := 0
	for _, f := range figures {
		width = max(width, len(f.Name))
	}
	for _, f := range figures {
		fmt.Fprintf(&b, "%-*s  %.2f\n", width, f.Name, f.Value)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
