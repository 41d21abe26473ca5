package cli

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/capture/nsys"
	"github.com/stepscope/stepscope/internal/tracefile/read/nsysdb"
)

// nsysStatsCmd is "nsys stats": nsys' own summaries, without nsys and in
// constant memory.
type nsysStatsCmd struct {
	Path    string   `arg:"" name:"report" help:"A .nsys-rep file or its .sqlite export."`
	Reports []string `name:"report" short:"r" placeholder:"NAME,…" help:"Which summaries, by nsys' names: cuda_gpu_kern_sum, cuda_api_sum, cuda_gpu_mem_time_sum, cuda_gpu_mem_size_sum, nvtx_sum, osrt_sum. Default: all that have rows."`
	Format  string   `enum:"table,csv,json" default:"table" help:"table, csv (nsys' columns) or json."`
	Top     int      `default:"20" help:"At most so many rows in each table; 0: all. csv and json have all rows."`
}

// Help is the end of the verb's help text.
func (c *nsysStatsCmd) Help() string {
	return `Examples:
  stepscope nsys stats server.nsys-rep
  stepscope nsys stats server.sqlite -r cuda_gpu_kern_sum --format csv`
}

// Run prints the summaries.
func (c *nsysStatsCmd) Run(ctx context.Context, e *env) error {
	wanted := c.Reports
	if len(wanted) == 0 {
		wanted = nsysdb.Reports
	}
	for _, name := range wanted {
		if !nsysdb.Known(name) {
			return usagef("-r %s: no such summary, there are: %s", name, strings.Join(nsysdb.Reports, ", "))
		}
	}
	if c.Top < 0 {
		return usagef("--top %d: give 0 or more", c.Top)
	}
	path, done, err := nsys.Exported(ctx, c.Path)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Path, err)
	}
	defer done()
	all, err := nsysdb.Summaries(ctx, path, wanted)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Path, err)
	}
	sums := []nsysdb.Summary{} // in JSON no null
	for _, s := range all {
		if len(s.Rows) > 0 {
			sums = append(sums, s)
		} else if len(c.Reports) > 0 {
			e.Warn("%s: nothing in the report for %s", c.Path, s.Report)
		}
	}
	if len(sums) == 0 && len(c.Reports) == 0 {
		e.Warn("%s: neither kernels, calls nor ranges in the report", c.Path)
	}
	if c.Format == "json" {
		return e.printJSON(sums)
	}
	for i, s := range sums {
		if i > 0 {
			fmt.Fprintln(e.stdout)
		}
		var err error
		if c.Format == "csv" {
			err = statsCSV(e.stdout, s)
		} else {
			err = statsTable(e.stdout, s, c.Top)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// statsCSV writes the columns that `nsys stats -f csv` writes for cuda_gpu_kern_sum.
func statsCSV(w io.Writer, s nsysdb.Summary) error {
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
	whole := max(s.Total(), 1) // copies of no bytes
	figure := func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
	whole1 := func(v int64) string { return strconv.FormatInt(v, 10) }
	for _, r := range s.Rows {
		if err := out.Write([]string{
			figure(100 * float64(r.Total) / whole), whole1(r.Total), whole1(r.Count), figure(r.Mean), figure(r.Median),
			whole1(r.Min), whole1(r.Max), figure(r.StdDev), r.Style, r.Name,
		}); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func statsTable(w io.Writer, s nsysdb.Summary, top int) error {
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
