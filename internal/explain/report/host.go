package report

import (
	"strconv"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/result"
)

func gapsTable(r *result.Report, limit int) *table {
	rows, omitted := cut(r.Gaps, limit, " gaps, the longest")
	t := &table{
		id: "gaps", title: "Longest idle gaps", omitted: omitted,
		lead: "Intervals without GPU work: the op before, the op that ended the gap, and the activity of the launching thread.",
		cols: []column{
			{name: "rank"}, {name: "step", right: true}, {name: "at", right: true, drop: 3, help: "since the start of the capture"},
			{name: "length", right: true}, {name: "cause"}, {name: "host meanwhile", flex: true, min: 24, code: true},
			{name: "before", flex: true, min: 24, code: true, drop: 2}, {name: "ended by", flex: true, min: 24, code: true, drop: 1},
		},
	}
	for i := range rows {
		g := &rows[i]
		step := cell{text: dash, num: -1}
		if g.Step >= 0 {
			step = cell{text: strconv.Itoa(g.Step), num: float64(g.Step)}
		}
		t.rows = append(t.rows, []cell{
			{text: rankName(r, g.Rank), num: float64(g.Rank)}, step, durCell(g.Start), durCell(g.Dur), textCell(g.Cause),
			longCell(Words(g.Host)), kernelCell(g.Before), kernelCell(g.After),
		})
	}
	return t
}

// longCell returns a cell with a shortened name.
func longCell(s string) cell { return nameCell(shortenName(columns.Clean(s), 60), s) }

// kernelCell returns a cell with the shortened name of a kernel or copy.
func kernelCell(s string) cell { return nameCell(shortenName(columns.Clean(kernel.Short(s)), 60), s) }

func opsTable(ops []result.CPUOp, id, title string, limit int) *table {
	longest := largest(ops, func(o *result.CPUOp) float64 { return o.Share })
	rows, omitted := ranked(ops, limit, " by self time", func(o *result.CPUOp) float64 { return float64(o.Self) })
	t := &table{
		id: id, title: title, omitted: omitted, lead: "Over all ranks. Self time excludes the time of nested calls.",
		cols: []column{
			{name: "name", flex: true, min: 30, code: true}, {name: "share", right: true, help: "of the self time of this table"},
			{name: "", bar: true, page: true}, {name: "self", right: true}, {name: "total", right: true, drop: 1},
			{name: "count", right: true}, {name: "self per call", right: true, drop: 2},
		},
	}
	for i := range rows {
		o := &rows[i]
		t.rows = append(t.rows, []cell{
			textCell(o.Name), shareCell(o.Share), barCell(segment{"host", ratio(finite(o.Share), longest)}),
			durCell(o.Self), durCell(o.Total), countCell(o.Count), durCell(ratio(o.Self, o.Count)),
		})
	}
	return t
}

// launchTable returns a table with one row for each known fact about launches.
func launchTable(l result.Launch) *table {
	t := &table{id: "launches", title: "Launches", cols: []column{{flex: true, min: 30}, {right: true}, {flex: true, wrap: true}}}
	if l.Calls == 0 && l.Unlaunched == 0 && l.EmptyGraphs == 0 {
		return t
	}
	add := func(name string, n int, more string) {
		t.rows = append(t.rows, []cell{textCell(name), countCell(n), textCell(more)})
	}
	add("calls that start GPU work", l.Calls, metric.Duration(l.Total)+" in total, median "+metric.Duration(l.Median))
	if l.GraphCalls > 0 {
		add("of these, graph launches", l.GraphCalls, metric.Count(l.GraphOps)+" operations started by them")
	}
	if l.Calls > 0 {
		add("kernels shorter than their launch call", l.Shorter, metric.Duration(l.ShorterTime)+" spent in those calls")
		t.rows = append(t.rows, []cell{
			textCell("from the call to the start on the GPU"), durCell(l.Delay), textCell("median, from the call's end"),
		})
	}
	if l.Unlaunched > 0 {
		add("GPU work without a recorded launch", l.Unlaunched, "the cause of the idle time before it is unknown")
	}
	if l.EmptyGraphs > 0 {
		add("graph launches without any GPU work", l.EmptyGraphs, "the trace lacks it")
	}
	return t
}
