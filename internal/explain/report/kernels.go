package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/result"
)

func collectivesTable(r *result.Report, limit int) *table {
	time := func(c *result.CollectiveRow) float64 { return float64(c.Time()) }
	rows, omitted := ranked(r.Collectives, limit, " by total time", time)
	longest := largest(rows, time)
	t := &table{
		id: "collectives", title: "Collectives", omitted: omitted, legend: []string{"transfer", "wait"},
		lead: "Wait is the time before the last rank arrives, transfer the rest; sums over ranks. Bandwidths are over transfers only.",
		cols: []column{
			{name: "collective", flex: true, min: 20}, {name: "group", flex: true, drop: 1}, {name: "kind", help: "of steps", drop: 4}, {name: "size", right: true},
			{name: "count", right: true}, {name: "matched", right: true, drop: 3, help: "of these, found on every rank of the group"},
			{name: "in graphs", right: true, drop: 5, help: "of these, replayed inside CUDA graphs"},
			{name: "", bar: true, drop: 9}, {name: "wait", right: true}, {name: "transfer", right: true},
			{name: unrecorded, right: true, drop: 3, help: unrecordedHelp},
			{name: "median", right: true, drop: 1, help: "median transfer of one collective"},
			{name: "alg GB/s", right: true, drop: 6, help: "size over transfer"}, {name: "bus GB/s", right: true, drop: 2, help: "algorithm bandwidth times the factor of nccl-tests, to compare with the links'"},
		},
	}
	unknown := ""
	for i := range rows {
		c := &rows[i]
		wait, transfer := durCell(c.Wait), durCell(c.Transfer)
		if c.Matched == 0 && c.Size != 1 {
			wait, transfer.text = cell{text: dash}, "≤ "+transfer.text
			unknown = " ≤: the other ranks of the group are unknown, so transfer includes waiting."
		}
		t.rows = append(t.rows, []cell{
			textCell(c.Op), textCell(group(c)), textCell(c.Kind), bytesCell(c.Bytes), countCell(c.Count), countCell(c.Matched), countCell(c.InGraphs),
			barCell(segment{"transfer", ratio(c.Transfer, longest)}, segment{"wait", ratio(c.Wait, longest)}, segment{unrecorded, ratio(c.Unrecorded, longest)}),
			wait, transfer, cellIf(c.Unrecorded > 0, durCell(c.Unrecorded)), durCell(c.Median), rateCell(c.AlgGBs), rateCell(c.BusGBs),
		})
	}
	t.lead += unknown
	if slices.ContainsFunc(rows, func(c result.CollectiveRow) bool { return c.Unrecorded > 0 }) {
		t.legend = append(t.legend, unrecorded)
	}
	return t
}

// group returns the name of a collective's group. It adds the size of the group unless the name contains it.
func group(c *result.CollectiveRow) string {
	name := Words(c.Group)
	if c.Size <= 0 || name == "" || strings.HasPrefix(name, "[") {
		return name
	}
	return name + " ×" + metric.Count(c.Size)
}

// stepKinds returns the step kinds that the rows have, "all" first. It returns only "all" if there is only one other
// kind.
func stepKinds[T any](rows []T, kind func(*T) string) []string {
	var out []string
	for i := range rows {
		if k := kind(&rows[i]); !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	sorts.By(out, func(a, b string) int {
		return strings.Compare(strings.TrimPrefix(a, allRanks), strings.TrimPrefix(b, allRanks))
	})
	if len(out) == 2 && out[0] == allRanks {
		return out[:1]
	}
	return out
}

// classOf holds the rows of one class, by kind of steps.
type classOf struct {
	class string
	kinds map[string]*result.ClassRow
	most  float64 // largest total of the class, by which classes are sorted
}

func classes(r *result.Report) (rows []classOf, kinds []string) {
	kinds = stepKinds(r.Classes, func(c *result.ClassRow) string { return c.Kind })
	for i := range r.Classes {
		c := &r.Classes[i]
		at := slices.IndexFunc(rows, func(o classOf) bool { return o.class == c.Class })
		if at < 0 {
			at = len(rows)
			rows = append(rows, classOf{class: c.Class, kinds: map[string]*result.ClassRow{}})
		}
		rows[at].kinds[c.Kind] = c
		rows[at].most = max(rows[at].most, float64(c.Total))
	}
	sorts.Stable(rows, func(a, b classOf) int { return cmp.Compare(b.most, a.most) })
	return rows, kinds
}

// classesTable returns a table with one row per kernel class. The columns show the share of the class in each kind of
// steps.
func classesTable(r *result.Report, limit int) *table {
	rows, kinds := classes(r)
	longest := largest(r.Classes, func(c *result.ClassRow) float64 { return c.Share })
	rows, omitted := cut(rows, limit, " classes, by total time")
	t := &table{
		id: "classes", title: "Kernel classes", omitted: omitted,
		lead: "Shares of the summed GPU time of all steps, and of the steps of each kind. Communication includes waiting.",
		cols: []column{{name: "class"}},
	}
	for i, k := range kinds {
		t.cols = append(t.cols, column{name: k, right: true})
		if i == 0 {
			t.cols = append(t.cols, column{bar: true, drop: 2})
		}
	}
	t.cols = append(t.cols, column{name: "total", right: true}, column{name: "count", right: true, drop: 1})
	for _, c := range rows {
		cells := []cell{textCell(c.class)}
		for i, k := range kinds {
			share := 0.0
			if row := c.kinds[k]; row != nil {
				share = finite(row.Share)
			}
			cells = append(cells, shareCell(share))
			if i == 0 {
				cells = append(cells, barCell(segment{c.class, ratio(share, longest)}))
			}
		}
		first := c.kinds[kinds[0]]
		if first == nil {
			first = &result.ClassRow{}
		}
		t.rows = append(t.rows, append(cells, durCell(first.Total), countCell(first.Count)))
	}
	return t
}

func kernelsTable(r *result.Report, limit int) *table {
	rows := slices.Clone(r.Kernels)
	// A kernel has one row for all steps and one row per step kind. Short tables show only the row for all steps.
	kinds := stepKinds(rows, func(k *result.KernelRow) string { return k.Kind })
	if len(kinds) > 0 && kinds[0] == allRanks && (len(kinds) == 1 || limit > 0 && limit < pageRows) {
		rows = slices.DeleteFunc(rows, func(k result.KernelRow) bool { return k.Kind != allRanks })
	}
	longest := largest(rows, func(k *result.KernelRow) float64 { return k.Share })
	rows, omitted := ranked(rows, limit, " kernels, by total time", func(k *result.KernelRow) float64 { return float64(k.Total) })
	t := &table{
		id: "kernels", title: "Top kernels", omitted: omitted,
		lead: "Over all ranks. Spread: excess of the slowest rank's median over the fastest's, or the only rank that runs the kernel.",
		cols: []column{
			{name: "kernel", flex: true, min: 40, code: true}, {name: "class", drop: 6}, {name: "kind", help: "of steps", drop: 7},
			{name: "share", right: true}, {name: "", bar: true, page: true}, {name: "total", right: true}, {name: "count", right: true},
			{name: "median", right: true}, {name: "p99", right: true, drop: 1},
			{name: "min – median – p99 – max", page: true, help: "on a logarithmic scale common to the column"},
			{name: "spread", right: true, drop: 5},
			{name: "TFLOP/s", right: true, drop: 2}, {name: "GB/s", right: true, drop: 3},
			{name: "timed", right: true, page: true, help: "share of the total that the rates are measured over"},
		},
	}
	t.lead += sitesLead(&r.Sites)
	if r.Sites.Told > 0 {
		t.cols = append(t.cols, column{name: "source", help: "module, file and function that launch it: the most frequent of the known ones", flex: true, min: 24, tail: true, code: true, drop: 1})
	}
	for i := range rows {
		k := &rows[i]
		t.rows = append(t.rows, []cell{
			nameCell(k.Short, k.Name), textCell(k.Class), textCell(k.Kind), shareCell(k.Share),
			barCell(segment{k.Class, ratio(finite(k.Share), longest)}), durCell(k.Total), countCell(k.Count),
			durCell(k.Median), durCell(k.P99), spanCell(k), overRanksCell(k),
			rateCell(k.TFLOPs), rateCell(k.GBs), shareIf(k.Timed),
		})
		if r.Sites.Told > 0 {
			t.rows[i] = append(t.rows[i], sourceCell(k))
		}
	}
	scaleSpans(t.rows, 9)
	return t
}

// overRanksCell shows the spread of a kernel's time over ranks. A kernel that only one rank runs has the highest sort
// key.
func overRanksCell(k *result.KernelRow) cell {
	if k.Only != "" {
		return cell{text: "only " + columns.Clean(k.Only), num: math.MaxFloat64}
	}
	return excessCell(k.Spread)
}

// spanCell returns a cell with the logarithms of a kernel's durations, since the durations differ by orders of
// magnitude.
func spanCell(k *result.KernelRow) cell {
	log := func(ns int64) float64 { return math.Log10(float64(max(ns, 1))) }
	full := fmt.Sprintf("min %s, median %s, p99 %s, max %s", metric.Duration(k.Min), metric.Duration(k.Median), metric.Duration(k.P99), metric.Duration(k.Max))
	return cell{full: full, num: float64(k.Median), span: &span{log(k.Min), log(k.Median), log(k.P99), log(k.Max)}}
}

// scaleSpans scales the values of all spans in column col to the range 0 to 1.
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
