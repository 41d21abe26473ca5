package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/tracefile/read/nsysdb"
)

// StatsCSV writes the columns that `nsys stats -f csv` writes for cuda_gpu_kern_sum.
func StatsCSV(w io.Writer, s nsysdb.Summary) error {
	out := csv.NewWriter(w)
	unit := " (" + s.Unit + ")"
	head := []string{"Time (%)", "Total" + unit, "Count", "Avg" + unit, "Med" + unit, "Min" + unit, "Max" + unit, "StdDev" + unit, "Style", "Name"}
	if s.Unit == "ns" {
		head[1] = "Total Time (ns)"
	} else {
		head[0] = "Share (%)"
	}
	if err := out.Write(head); err != nil {
		return err
	}
	whole := max(s.Total(), 1) // all copies may have 0 bytes
	figure := func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
	count := func(v int64) string { return strconv.FormatInt(v, 10) }
	for _, r := range s.Rows {
		if err := out.Write([]string{
			figure(100 * float64(r.Total) / whole), count(r.Total), count(r.Count), figure(r.Mean), figure(r.Median),
			count(r.Min), count(r.Max), figure(r.StdDev), columns.Cell(r.Style), columns.Cell(r.Name),
		}); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// StatsText writes the first top rows of a summary for a terminal. If top is 0, it writes all rows.
func StatsText(w io.Writer, s nsysdb.Summary, top int) error {
	rows := s.Rows
	title := s.Report
	if top > 0 && len(rows) > top {
		title += fmt.Sprintf("  (%d of %d, the largest; --top 0 shows all)", top, len(rows))
		rows = rows[:top]
	}
	show := func(v float64) string {
		if s.Unit == "bytes" {
			return metric.Bytes(int64(v))
		}
		return metric.Duration(int64(v))
	}
	lines := [][]string{{"share", "total", "count", "mean", "median", "min", "max", "stddev", "name"}}
	whole := max(s.Total(), 1)
	for _, r := range rows {
		lines = append(lines, []string{
			fmt.Sprintf("%.1f %%", 100*float64(r.Total)/whole), show(float64(r.Total)), strconv.FormatInt(r.Count, 10),
			show(r.Mean), show(r.Median), show(float64(r.Min)), show(float64(r.Max)), show(r.StdDev), r.Name,
		})
	}
	fmt.Fprintln(w, title)
	return columns.Right(w, lines)
}
