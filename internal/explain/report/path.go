package report

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/stepscope/stepscope/internal/explain/result"
)

// pathCauses are what the causes of a critical path are called.
var pathCauses = map[string]string{
	result.PathWork:     "runs",
	result.PathTransfer: "transfers",
	result.PathHost:     "host, before launching",
	result.PathLaunch:   "launching",
	result.PathReturn:   "host, returning after",
	result.PathDevice:   "device, before the next op",
	result.PathGap:      "unexplained, before",
}

// someGaps is the share of a critical path from which on gaps in it are told of.
const someGaps = 0.05

// pathLayersTable is the critical path by layer, where layers are known.
func pathLayersTable(r *result.Report, limit int) *table {
	p := &r.Path
	t := &table{
		id: "path-layers", title: "Critical path by layer",
		lead: "The same time by the layer of the kernel that ran, that came next, or that a host was about to launch.",
		cols: []column{
			{name: "layer", flex: true, min: 18, tail: true, code: true}, {name: "per step", right: true, help: "mean over the steps"},
			{name: "share", right: true}, {name: "", bar: true},
		},
	}
	rows := p.Layers
	if limit > 0 && len(rows) > limit {
		rows = slices.SortedStableFunc(slices.Values(rows), func(a, b result.PathLayer) int { return cmp.Compare(b.NS, a.NS) })
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
		lead: "What everybody waited for in the end, from the last GPU work of each step backwards: at collectives it goes on with the rank that came last. ",
		cols: []column{
			{name: "rank"}, {name: "what", help: "on the way to the step's end"}, {name: "class", help: "of kernels"},
			{name: "per step", right: true, help: "mean over the steps"}, {name: "share", right: true},
			{name: "next after", right: true, help: "of the rank: what is gained per step before another rank is the last at its collectives", drop: 1},
			{name: "next", help: "that rank, mostly", drop: 2},
		},
	}
	if w := &r.Replay; w.Known {
		t.lead += "Run again from what everything took, steps differ by " + share(w.Off) + " from what was recorded (median; 90th percentile " + share(w.OffP90) + ")."
		if w.Unexplained >= someGaps {
			t.lead += " Nothing that was recorded explains gaps of " + share(w.Unexplained) + " of it: what findings are worth leaves them as they are."
		}
	} else if w.Why.String() != "" {
		t.lead += "What findings are worth is not known: " + Words(w.Why) + "."
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
