package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/gate"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
)

// names are the human-readable names of figures.
var names = map[string]string{
	"ttft": "TTFT", "ttft_scheduled": "TTFT from scheduled", "tpot": "TPOT", "itl": "ITL", "longest_gap": "longest gap", "e2e": "E2E",
	"failed": "failed requests", "good": "requests in time", "request_throughput": "requests/s", "output_throughput": "output tokens/s",
	"steady_output_throughput": "output tokens/s, steady", "goodput": "requests in time/s",
	"prefill_latency": "prefill latency", "prefill_throughput": "prefill tokens/s", "decode_latency": "decode step", "decode_throughput": "decode tokens/s",
	"total_latency": "total latency", "overall_throughput": "tokens/s", "input_throughput": "prompt tokens/s", "total_throughput": "all tokens/s",
}

// Name returns the human-readable name of the figure. For figures of batches, the name omits the word median, because
// all of these figures are medians.
func (d *Diff) Name() string {
	name := cmp.Or(names[d.Metric], d.Metric)
	if d.Figure == "mean" || d.Batch != "" {
		return name
	}
	return name + ", " + d.Figure
}

// LimitNames returns the figures that limits may name, either for loads or for batches. The bare name of a latency
// means the median of that latency.
func LimitNames(batches bool) (out []string) {
	if batches {
		return []string{"prefill_latency", "prefill_throughput", "decode_latency", "decode_throughput", "total_latency", "overall_throughput",
			"request_throughput", "input_throughput", "output_throughput", "total_throughput"}
	}
	for _, l := range latencies {
		out = append(out, l.name, l.name+".median", l.name+".p99")
	}
	out = append(out, "failed", "good", "throughput")
	for _, r := range rates {
		out = append(out, r.name)
	}
	return out
}

// limited reports whether a limit applies to a row.
func (d *Diff) limited(l gate.Limit) bool {
	name, figure, _ := strings.Cut(l.Name, ".")
	if name == "throughput" {
		name = "output_throughput"
	}
	if d.Metric != name {
		return false
	}
	return d.Batch != "" || d.Figure == "mean" || d.Figure == cmp.Or(figure, "median")
}

// hold applies a limit to the rows that the limit names. As with the limit on all figures, only significant changes
// count. If batches were measured too rarely for a test, however, any change counts.
func (c *Comparison) hold(l gate.Limit) {
	there, why := false, ""
	for i := range c.Rows {
		d := &c.Rows[i]
		if !d.limited(l) || d.Verdict == Missing {
			continue
		}
		there = true
		said := ""
		rises := d.Change > 0
		switch d.Verdict {
		case Better, Worse:
			switch {
			case rises == l.Falls || !l.Broken(d.Change):
				continue
			case !d.beyond(l):
				why = fmt.Sprintf("%s: not judged: %s changed by %s, between %s and %s; use more requests, or more runs (--repeat)",
					l, d.Name(), d.Changed(), d.text(d.Lo), d.text(d.Hi))
				continue
			}
			said = d.String()
		case NotClear:
			if edge := map[bool]float64{true: d.Lo, false: d.Hi}[l.Falls]; d.Batch == "" && l.Broken(edge) {
				why = fmt.Sprintf("%s: not judged: chance alone may change %s by %s to %s here; use more requests, or more runs (--repeat)",
					l, d.Name(), d.text(d.Lo), d.text(d.Hi))
			}
			continue
		case NoInterval:
			why = l.String() + ": not judged: only totals are known, not the values of single requests"
		case TooFew:
			if d.Batch == "" {
				switch why = l.String() + ": not judged: too few samples"; {
				case d.Per == "run":
					why += fmt.Sprintf(" (%d and %d); use --repeat %d on both sides", d.NA, d.NB, enoughRuns)
				case d.Figure == "p99":
					why += fmt.Sprintf("; a 99th percentile needs %s requests per side (--num-prompts), or four runs (--repeat 4)", metric.Count(tailBatches*tailBatch))
				}
				continue
			}
			if !l.Broken(d.Change) {
				continue
			}
			said = d.String() + untested
		}
		if said != "" && !slices.Contains(c.Regressions, said) {
			c.Regressions = append(c.Regressions, said)
		}
	}
	switch {
	case !there:
		c.Undecided = append(c.Undecided, fmt.Sprintf("%s: not judged: only one of the runs has it", l))
	case why != "":
		c.Undecided = append(c.Undecided, why)
	}
}

const untested = " (not tested: too few samples)"

// telling lists the figures that a verdict may name, the most important first.
var telling = []string{
	"ttft", "tpot", "e2e", "output_throughput", "failed", "good", "goodput", "request_throughput", "longest_gap",
	"prefill_latency", "decode_latency", "total_latency", "overall_throughput", "total_throughput", "prefill_throughput", "decode_throughput",
}

// mostTold is the maximum number of figures that a verdict names in each direction.
const mostTold = 3

// verdict summarises the comparison in a sentence.
func (c *Comparison) verdict() string {
	if c.Refused {
		i := slices.IndexFunc(c.Unlike, func(u Unlike) bool { return u.Refuses })
		if i < 0 {
			return "no verdict: the client was too busy to time " + strings.Join(c.Mistimed, " and ")
		}
		return fmt.Sprintf("no verdict: the loads differ in their %s", c.Unlike[i])
	}
	rows := map[string][]*Diff{}
	identical := len(c.Rows) > 0
	for i := range c.Rows {
		d := &c.Rows[i]
		rows[d.Verdict] = append(rows[d.Verdict], d)
		identical = identical && d.Change == 0 && d.Verdict != Missing
	}
	var parts []string
	for _, v := range []string{Worse, Better} {
		if len(rows[v]) > 0 {
			parts = append(parts, v+": "+told(rows[v]))
		}
	}
	switch tested := slices.Concat(rows[Same], rows[NotClear]); {
	case len(parts) > 0:
		return strings.Join(parts, "; ")
	case identical:
		return "no change: all figures are the same"
	case len(tested) == 0 && len(rows[TooFew]) > 0:
		return "too few samples to tell a change from chance"
	case len(tested) == 0 && len(rows[NoInterval]) > 0:
		return "not judged, since only totals are known: " + told(rows[NoInterval])
	case len(tested) == 0:
		return "no figure is present on both sides"
	default:
		key, list := "no clear change", rows[NotClear]
		if !slices.ContainsFunc(list, main) {
			key, list = "no change", rows[Same]
		}
		return key + ": " + told(list)
	}
}

// main reports whether a figure is one of the main criteria for a load.
func main(d *Diff) bool {
	i := slices.Index(telling, d.Metric)
	return i >= 0 && i < 4 && d.Figure != "p99"
}

// told describes some of the rows, with the values of A and B.
func told(rows []*Diff) string {
	at := func(d *Diff) int {
		if i := slices.Index(telling, d.Metric); i >= 0 {
			return i
		}
		return len(telling)
	}
	rows = slices.Clone(rows)
	sorts.Stable(rows, func(x, y *Diff) int { return cmp.Compare(at(x), at(y)) })
	var parts []string
	for _, d := range rows {
		// Omit a 99th percentile if the median of the same metric is among the rows.
		if d.Figure == "p99" && slices.ContainsFunc(rows, func(o *Diff) bool { return o.Metric == d.Metric && o.Figure == "median" }) {
			continue
		}
		if len(parts) == mostTold {
			break
		}
		name := cmp.Or(names[d.Metric], d.Metric)
		switch {
		case d.Batch != "":
			name = d.Batch + ": " + name
		case d.Figure != "mean":
			name = d.Figure + " " + name
		}
		parts = append(parts, fmt.Sprintf("%s %s instead of %s (%s)", name, d.Unit.Text(d.B), d.Unit.Text(d.A), d.Changed()))
	}
	if n := len(rows) - len(parts); n > 0 {
		parts = append(parts, fmt.Sprintf("and %s more", metric.Count(n)))
	}
	return strings.Join(parts, ", ")
}

// Changed formats the change between A and B.
func (d *Diff) Changed() string { return d.text(d.Change) }

// Interval formats the interval of the change.
func (d *Diff) Interval() string {
	lo := d.text(d.Lo)
	if d.Unit == Share {
		lo = strings.TrimSuffix(lo, " points")
	}
	return lo + " … " + d.text(d.Hi)
}

// text formats Change, Lo or Hi.
func (d *Diff) text(change float64) string {
	text := metric.PercentChange(change)
	if d.Unit == Share { // the change is a difference of shares, not a ratio
		text = strings.TrimSuffix(text, " %") + " points"
	}
	return text
}

// Text formats a value given in the unit u.
func (u Unit) Text(v float64) string {
	switch u {
	case NS:
		return metric.Duration(v)
	case PerSecond:
		return metric.Three(v) + "/s"
	}
	return metric.Tenths(v)
}
