package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
)

// BenchCompareText writes a comparison of two loads for a terminal: the verdict
// first.
func BenchCompareText(w io.Writer, c *bench.Comparison, o Options) error {
	var b strings.Builder
	for _, s := range []struct {
		name string
		of   *bench.Side
	}{{"A", &c.A}, {"B", &c.B}} {
		text := fmt.Sprintf("%s of %s in all", plural(s.of.Runs, "run"), plural(s.of.Requests, "request"))
		if n := s.of.Batches; n == 1 {
			text = "1 batch"
		} else if n > 1 {
			text = metric.Count(n) + " batches"
		}
		if s.of.Failed > 0 {
			text += fmt.Sprintf(", %s failed", metric.Count(s.of.Failed))
		}
		for _, v := range []string{s.of.Model, s.of.Backend} {
			if v != "" {
				text = columns.Clean(v) + ", " + text
			}
		}
		fmt.Fprintf(&b, "%s %s: %s\n", s.name, columns.Clean(s.of.ID), text)
	}
	fmt.Fprintf(&b, "\n%s\n", benchVerdict(c))
	for _, r := range c.Regressions {
		fmt.Fprintf(&b, "  - %s\n", columns.Clean(r))
	}
	b.WriteString(benchDiffs(c).below(o) + "\n")
	for _, n := range c.Notes {
		lead := "note: "
		for _, l := range columns.Wrap(columns.Clean(n), o.width()-len(lead)) {
			b.WriteString(lead + l + "\n")
			lead = "      "
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// benchVerdict is the answer in a line.
func benchVerdict(c *bench.Comparison) string {
	var parts []string
	if c.A.Batches > 0 {
		parts = batchVerdict(c.Rows)
	}
	for i := range c.Rows {
		d := &c.Rows[i]
		if d.Figure != "median" || d.Metric != "ttft" && d.Metric != "tpot" && d.Metric != "e2e" {
			continue
		}
		name := strings.ToUpper(d.Metric)
		switch d.Verdict {
		case bench.Better, bench.Worse:
			parts = append(parts, changed(name, d.Verdict, d.Change))
		default:
			parts = append(parts, name+": "+d.Verdict)
		}
	}
	return verdict(len(c.Regressions), "worse", c.Limit, cmp.Or(strings.Join(parts, "; "), "no latency to compare"))
}

// batchVerdict counts figures of batches by what became of them.
func batchVerdict(rows []bench.Diff) (parts []string) {
	count := map[string]int{}
	for i := range rows {
		count[rows[i].Verdict]++
	}
	for _, v := range []string{bench.Worse, bench.Better, bench.Same, bench.NotClear, bench.TooFew, bench.Missing} {
		if n := count[v]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s: %s", plural(n, "figure"), v))
		}
	}
	return parts
}

func benchDiffs(c *bench.Comparison) *table {
	t := &table{id: "rows", title: "B against A", cols: []column{
		{name: ""}, {name: "A", right: true}, {name: "B", right: true}, {name: "change", right: true},
		{name: "95 % interval", right: true, drop: 1}, {name: "p", right: true, drop: 2}, {name: "samples", right: true, drop: 3}, {name: "verdict"},
	}}
	for i := range c.Rows {
		d := &c.Rows[i]
		side := func(v float64, n int) cell {
			if n == 0 {
				return textCell(dash)
			}
			return textCell(unitText(v, d.Unit))
		}
		change, interval, p := dash, dash, dash
		if d.NA > 0 && d.NB > 0 && (d.A != 0 || d.Unit == bench.Share) {
			change = metric.PercentChange(d.Change)
			if d.Unit == bench.Share { // a difference of shares
				change = strings.TrimSuffix(change, " %") + " points"
			}
		}
		if d.Lo != 0 || d.Hi != 0 {
			interval = metric.PercentChange(d.Lo) + " … " + metric.PercentChange(d.Hi)
		}
		if d.Figure != "p99" && d.Verdict != bench.TooFew && d.Verdict != bench.Missing {
			p = fmt.Sprintf("%.2g", d.PAdj)
		}
		if d.Batch != "" && (i == 0 || c.Rows[i-1].Batch != d.Batch) {
			head := make([]cell, len(t.cols))
			head[0] = textCell("batch " + d.Batch)
			t.rows = append(t.rows, head)
		}
		t.rows = append(t.rows, []cell{
			textCell(diffName(d)), side(d.A, d.NA), side(d.B, d.NB), textCell(change),
			textCell(interval), textCell(p), textCell(fmt.Sprintf("%s, %s %s", metric.Count(d.NA), metric.Count(d.NB), samplesOf[d.Per])), textCell(d.Verdict),
		})
	}
	return t
}

// diffName is what people call the figure of a row. Those of batches are all medians.
func diffName(d *bench.Diff) string {
	if d.Batch != "" {
		return benchName(d.Metric, "mean")
	}
	return benchName(d.Metric, d.Figure)
}

// benchName is what people call a figure.
func benchName(name, figure string) string {
	called := map[string]string{
		"ttft": "TTFT", "ttft_scheduled": "TTFT from scheduled", "tpot": "TPOT", "longest_gap": "longest gap", "e2e": "E2E",
		"failed": "failed requests", "good": "requests in time", "request_throughput": "requests/s", "output_throughput": "output tokens/s",
		"steady_output_throughput": "output tokens/s, steady", "goodput": "requests in time/s",
		"prefill_latency": "prefill latency", "prefill_throughput": "prefill tokens/s", "decode_latency": "decode step", "decode_throughput": "decode tokens/s",
		"total_latency": "total latency", "overall_throughput": "tokens/s", "input_throughput": "prompt tokens/s", "total_throughput": "all tokens/s",
	}
	name = cmp.Or(called[name], name)
	if figure == "mean" {
		return name
	}
	return name + ", " + figure
}

var samplesOf = map[string]string{"batch": "batches", "run": "runs", "repeat": "batches"}

// BenchCompat writes another tool's figures of the same events.
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
