package report

import (
	"math"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/analysis"
	"github.com/stepscope/stepscope/internal/metric"
)

func collectivesTable(r *analysis.Report, limit int) *table {
	rows := slices.Clone(r.Collectives)
	slices.SortStableFunc(rows, func(a, b analysis.CollectiveRow) int {
		return compareDesc(float64(a.Wait)+float64(a.Transfer), float64(b.Wait)+float64(b.Transfer))
	})
	longest := 0.0
	for i := range rows {
		longest = max(longest, float64(rows[i].Wait)+float64(rows[i].Transfer))
	}
	rows, omitted := cut(rows, limit, " by total time")
	t := &table{
		id: "collectives", title: "Collectives", omitted: omitted, legend: []string{"transfer", "wait"},
		lead: "Wait is the time before the last rank arrives, transfer the rest; sums over ranks. Only a transfer says how fast the links are.",
		cols: []column{
			{name: "collective", flex: true, min: 20}, {name: "group", flex: true, drop: 1}, {name: "kind", help: "of steps", drop: 4}, {name: "size", right: true},
			{name: "count", right: true}, {name: "matched", right: true, drop: 3, help: "of these, found on every rank of the group"},
			{name: "in graphs", right: true, drop: 5, help: "of these, replayed inside CUDA graphs"},
			{name: "", bar: true, drop: 9}, {name: "wait", right: true}, {name: "transfer", right: true},
			{name: "median", right: true, drop: 1, help: "median transfer of one collective"},
			{name: "alg GB/s", right: true, drop: 2, help: "size over transfer"}, {name: "bus GB/s", right: true, drop: 6, help: "times the share of it that a link carries"},
		},
	}
	for i := range rows {
		c := &rows[i]
		t.rows = append(t.rows, []cell{
			textCell(c.Op), textCell(group(c)), textCell(c.Kind), bytesCell(c.Bytes), countCell(c.Count), countCell(c.Matched), countCell(c.InGraphs),
			barCell(segment{"transfer", ratio(c.Transfer, longest)}, segment{"wait", ratio(c.Wait, longest)}),
			durCell(c.Wait), durCell(c.Transfer), durCell(c.Median), rateCell(c.AlgGBs), rateCell(c.BusGBs),
		})
	}
	return t
}

// group is the name of a collective's group with its size, once.
func group(c *analysis.CollectiveRow) string {
	if c.Size <= 0 || c.Group == "" || strings.HasPrefix(c.Group, "[") {
		return c.Group
	}
	return c.Group + " ×" + metric.Count(c.Size)
}

// manyKinds says whether more than one step kind occurs beside "all".
func manyKinds[T any](rows []T, kind func(*T) string) bool {
	first := ""
	for i := range rows {
		k := kind(&rows[i])
		if k == allRanks {
			continue
		}
		if first != "" && k != first {
			return true
		}
		first = k
	}
	return false
}

// classRows are the rows to show: with one kind only, "all" would repeat it.
func classRows(r *analysis.Report) []analysis.ClassRow {
	rows := slices.Clone(r.Classes)
	all := slices.ContainsFunc(rows, func(c analysis.ClassRow) bool { return c.Kind == allRanks })
	if all && !manyKinds(rows, func(c *analysis.ClassRow) string { return c.Kind }) {
		rows = slices.DeleteFunc(rows, func(c analysis.ClassRow) bool { return c.Kind != allRanks })
	}
	slices.SortStableFunc(rows, func(a, b analysis.ClassRow) int {
		if a.Kind != b.Kind {
			if a.Kind == allRanks || b.Kind == allRanks {
				return strings.Compare(strings.TrimPrefix(a.Kind, allRanks), strings.TrimPrefix(b.Kind, allRanks))
			}
			return strings.Compare(a.Kind, b.Kind)
		}
		return compareDesc(float64(a.Total), float64(b.Total))
	})
	return rows
}

func classesTable(r *analysis.Report, limit int) *table {
	rows := classRows(r)
	longest := 0.0
	for i := range rows {
		longest = max(longest, finite(rows[i].Share))
	}
	rows, omitted := cut(rows, limit*2, " rows")
	t := &table{
		id: "classes", title: "Kernel classes", omitted: omitted,
		lead: "Shares of the summed GPU time of the steps' kind.",
		cols: []column{
			{name: "kind", help: "of steps"}, {name: "class"}, {name: "share", right: true}, {name: "", bar: true, drop: 1},
			{name: "total", right: true}, {name: "count", right: true},
		},
	}
	for i := range rows {
		c := &rows[i]
		t.rows = append(t.rows, []cell{
			textCell(c.Kind), textCell(c.Class), shareCell(c.Share), barCell(segment{c.Class, ratio(finite(c.Share), longest)}),
			durCell(c.Total), countCell(c.Count),
		})
	}
	return t
}

func kernelsTable(r *analysis.Report, limit int) *table {
	rows := slices.Clone(r.Kernels)
	slices.SortStableFunc(rows, func(a, b analysis.KernelRow) int { return compareDesc(float64(a.Total), float64(b.Total)) })
	longest := 0.0
	for i := range rows {
		longest = max(longest, finite(rows[i].Share))
	}
	rows, omitted := cut(rows, limit, " kernels, by total time")
	t := &table{
		id: "kernels", title: "Top kernels", omitted: omitted,
		lead: "Over all ranks. Spread is how much longer the slowest rank's median is than the fastest's.",
		cols: []column{
			{name: "kernel", flex: true, min: 40, code: true}, {name: "class", drop: 3}, {name: "kind", help: "of steps", drop: 7},
			{name: "share", right: true}, {name: "", bar: true, page: true}, {name: "total", right: true}, {name: "count", right: true},
			{name: "median", right: true}, {name: "p99", right: true, drop: 1},
			{name: "min – median – p99 – max", page: true, help: "on a logarithmic scale common to the column"},
			{name: "min", right: true, page: true}, {name: "max", right: true, page: true},
			{name: "spread", right: true, drop: 4},
			{name: "TFLOP/s", right: true, drop: 5}, {name: "GB/s", right: true, drop: 6},
			{name: "timed", right: true, page: true, help: "share of the total that the rates are measured over"},
		},
	}
	for i := range rows {
		k := &rows[i]
		timed := cell{text: dash, num: -1}
		if finite(k.Timed) > 0 {
			timed = shareCell(k.Timed)
		}
		t.rows = append(t.rows, []cell{
			nameCell(k.Short, k.Name), textCell(k.Class), textCell(k.Kind), shareCell(k.Share),
			barCell(segment{k.Class, ratio(finite(k.Share), longest)}), durCell(k.Total), countCell(k.Count),
			durCell(k.Median), durCell(k.P99), spanCell(k), durCell(k.Min), durCell(k.Max), shareCell(k.Spread),
			rateCell(k.TFLOPs), rateCell(k.GBs), timed,
		})
	}
	scaleSpans(t.rows, 9)
	return t
}

// spanCell keeps a kernel's durations as logarithms: they differ by decades.
func spanCell(k *analysis.KernelRow) cell {
	log := func(ns int64) float64 { return math.Log10(float64(max(ns, 1))) }
	return cell{num: float64(k.Median), span: &span{log(k.Min), log(k.Median), log(k.P99), log(k.Max)}}
}

// scaleSpans brings all spans of column col to 0…1.
func scaleSpans(rows [][]cell, col int) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, row := range rows {
		lo, hi = min(lo, row[col].span.Min), max(hi, row[col].span.Max)
	}
	width := max(hi-lo, 1e-9)
	for _, row := range rows {
		s := row[col].span
		for _, v := range []*float64{&s.Min, &s.Median, &s.P99, &s.Max} {
			*v = (*v - lo) / width
		}
	}
}
