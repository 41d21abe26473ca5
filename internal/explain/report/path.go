package report

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// pathCauses are the names of the causes of a critical path.
var pathCauses = map[string]string{
	result.PathWork:     "runs",
	result.PathTransfer: "transfers",
	result.PathHost:     "host, before the launch",
	result.PathLaunch:   "launch",
	result.PathReturn:   "host, return after",
	result.PathDevice:   "GPU, before the next op",
	result.PathGap:      "unexplained",
}

// someGaps is the minimum share of gaps in a critical path at which the lead mentions gaps.
const someGaps = 0.05

// pathLayersTable returns the table of the critical path by layer. It is empty if the layers are unknown.
func pathLayersTable(r *result.Report, limit int) *table {
	p := &r.Path
	t := &table{
		id: "path-layers", title: "Critical path by layer",
		lead: "The critical path by layer: of the running kernel, of the next one, or of the one that a host was about to launch.",
		cols: []column{
			{name: "layer", flex: true, min: 18, tail: true, code: true}, {name: "per step", right: true, help: "mean over the steps"},
			{name: "share", right: true}, {name: "", bar: true},
		},
	}
	rows := p.Layers
	if limit > 0 && len(rows) > limit {
		rows = slices.Clone(rows)
		sorts.Stable(rows, func(a, b result.PathLayer) int { return cmp.Compare(b.NS, a.NS) })
		rows, t.omitted = cut(rows, limit, ", by share; --layers shows all")
	}
	longest := largest(rows, func(l *result.PathLayer) float64 { return l.Share })
	for i := range rows {
		l := &rows[i]
		name := textCell("in no layer")
		if l.Layer >= 0 {
			name = textCell(l.Stack + "." + strconv.Itoa(l.Layer))
		}
		t.rows = append(t.rows, []cell{name, durCell(ratio(l.NS, p.Steps)), shareCell(l.Share), barCell(segment{"compute", ratio(l.Share, longest)})})
	}
	return t
}

func pathTable(r *result.Report, limit int) *table {
	p := &r.Path
	t := &table{
		id: "path", title: "Critical path",
		lead: "The chain of work that determined the length of each step, followed backwards from its last GPU work; at collectives it continues on the rank that arrived last. ",
		cols: []column{
			{name: "rank"}, {name: "activity", help: "on the way to the step's end"}, {name: "class", help: "of kernels"},
			{name: "per step", right: true, help: "mean over the steps"}, {name: "share", right: true},
			{name: "next after", right: true, help: "gain per step from this rank before another one arrives last at its collectives", drop: 1},
			{name: "next", help: "that rank, mostly", drop: 2},
		},
	}
	if w := &r.Replay; w.Known {
		t.lead += "Replayed steps differ by " + share(w.Off) + " from the recorded ones (median; 90th percentile " + share(w.OffP90) + ")."
		if w.Unexplained >= someGaps {
			t.lead += " Gaps of " + share(w.Unexplained) + " of it are unexplained; the worth of findings leaves them unchanged."
		}
	} else if w.Why.String() != "" {
		t.lead += "The worth of findings is unknown: " + Words(w.Why) + "."
	}
	rows, omitted := cut(p.Rows, limit, ", by share")
	t.omitted = omitted
	named := map[int]bool{}
	for i := range rows {
		row := &rows[i]
		ahead, next := cell{text: dash, num: -1}, textCell("")
		for j := range p.Ranks {
			if of := &p.Ranks[j]; of.Rank == row.Rank && of.Next >= 0 && !named[row.Rank] {
				ahead, next = durCell(ratio(of.Ahead, p.Steps)), textCell(r.Source.Ranks[of.Next])
			}
		}
		named[row.Rank] = true
		t.rows = append(t.rows, []cell{
			textCell(r.Source.Ranks[row.Rank]), textCell(pathCauses[row.Cause]), textCell(row.Class), durCell(ratio(row.NS, p.Steps)), shareCell(row.Share), ahead, next,
		})
	}
	return t
}
