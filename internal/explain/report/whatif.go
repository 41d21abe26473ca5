package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// WhatIf writes predicted step times for a terminal.
func WhatIf(w io.Writer, r *result.WhatIf, o Options) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: if %s\n", columns.Clean(r.Source.ID), columns.Clean(strings.Join(r.Settings, ", ")))
	if !r.Replay.Known {
		fmt.Fprintf(&b, "unknown: %s\n", Words(r.Replay.Why))
		_, err := io.WriteString(w, b.String())
		return err
	}
	fmt.Fprintf(&b, "Replayed without changes, steps differ by %s from the recorded ones (median; 90th percentile %s).\n", share(r.Replay.Off), share(r.Replay.OffP90))
	t := &table{id: "what-if", title: "Steps", cols: []column{
		{name: "ranks"}, {name: "kind"}, {name: "steps", right: true}, {name: "takes", right: true, help: "median"}, {name: "would take", right: true},
		{name: "90 % interval", right: true}, {name: "change", right: true}, {name: "tokens/s", right: true}, {name: "would be", right: true},
		{name: "only steps of", help: "the finding of analyze whose steps alone the row covers; other rows cover the whole window"},
	}}
	for i := range r.Rows {
		x := &r.Rows[i]
		ranks := "all"
		if len(x.Ranks) < len(r.Source.Ranks) {
			var names []string
			for _, at := range x.Ranks {
				names = append(names, r.Source.Ranks[at])
			}
			ranks = strings.Join(names, ", ")
		}
		t.rows = append(t.rows, []cell{
			textCell(ranks), textCell(x.Kind), countCell(x.Steps), durCell(x.Step), durCell(x.Without),
			textCell(metric.Duration(x.Low) + " to " + metric.Duration(x.High)), textCell(metric.PercentChange(ratio(x.Without, x.Step) - 1)), rateCell(x.Tokens), rateCell(x.WithoutTokens), textCell(columns.Clean(x.Finding)),
		})
	}
	t.prune()
	b.WriteString(t.below(o))
	_, err := io.WriteString(w, b.String())
	return err
}

// WhatIfJSON writes predicted step times as JSON.
func WhatIfJSON(w io.Writer, r *result.WhatIf) error { return encode(w, r, true) }
