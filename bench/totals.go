package bench

import (
	"fmt"
	"slices"
)

// Total is one figure of a load whose requests are not known.
type Total struct {
	Metric string
	Figure string // median, p99, mean
	Unit   Unit
	Higher bool // more is better
	Value  float64
}

// Totals are the figures of a load.
type Totals struct {
	Side
	Run    *Run
	Totals []Total
}

// CompareTotals compares the figures that both loads have. Without single requests there is no interval, so no change
// is judged.
func CompareTotals(a, b *Totals, o CompareOptions) *Comparison {
	c := newComparison(a.Side, b.Side, o)
	row := func(t Total) Diff {
		return Diff{Metric: t.Metric, Figure: t.Figure, Unit: t.Unit, Higher: t.Higher, Per: "run", P: 1, Verdict: Missing}
	}
	for _, x := range a.Totals {
		d := row(x)
		d.A, d.NA = x.Value, 1
		if i := slices.IndexFunc(b.Totals, x.same); i >= 0 {
			d.B, d.NB, d.Verdict = b.Totals[i].Value, 1, NoInterval
			if d.Change = relative(d.A, d.B); d.Unit == Share {
				d.Change = d.B - d.A
			}
		}
		c.Rows = append(c.Rows, d)
	}
	for _, x := range b.Totals {
		if !slices.ContainsFunc(a.Totals, x.same) {
			d := row(x)
			d.B, d.NB = x.Value, 1
			c.Rows = append(c.Rows, d)
		}
	}
	half := func(t *Totals) *half { return &half{load: Load{ID: t.ID, Runs: []Measured{{Run: t.Run}}}} }
	c.Unlike = append(c.Unlike, unlikeLoads(half(a), half(b))...)
	c.refuse(o.Force)
	c.judge(o.Limits)
	c.Notes = append(c.Notes, "the values of single requests are not known on both sides, so the changes have no interval and are not judged")
	return c
}

func (t Total) same(o Total) bool { return t.Metric == o.Metric && t.Figure == o.Figure }

// DropTimed removes the rows that need send times, for loads whose send times are not known.
func (c *Comparison) DropTimed() {
	const steady, scheduled = "steady_output_throughput", "ttft_scheduled"
	c.Rows = slices.DeleteFunc(c.Rows, func(d Diff) bool { return d.Metric == steady || d.Metric == scheduled })
	c.Notes = append(c.Notes, fmt.Sprintf("not compared, since a file has no send times: %s; %s", names[steady], names[scheduled]))
}
