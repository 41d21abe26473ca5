package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/stepscope/stepscope/internal/capture/nsys"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/tracefile/read/nsysdb"
)

// nsysStatsCmd is "nsys stats". It computes the summaries of "nsys stats" without needing nsys, and in constant memory.
type nsysStatsCmd struct {
	Path    string   `arg:"" name:"report" help:"A .nsys-rep file or its .sqlite export."`
	Reports []string `name:"report" short:"r" placeholder:"NAME,…" help:"Which summaries, by nsys' names: cuda_gpu_kern_sum, cuda_api_sum, cuda_gpu_mem_time_sum, cuda_gpu_mem_size_sum, nvtx_sum, osrt_sum. Default: all that have rows."`
	Format  string   `enum:"table,csv,json" default:"table" help:"table, csv (nsys' columns) or json."`
	Top     int      `default:"20" limits:"0.." help:"Maximum number of rows in each table; 0: all. csv and json have all rows."`
}

// Help returns the end of the verb's help text.
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
	path, done, err := nsys.Exported(ctx, c.Path)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Path, err)
	}
	defer done()
	all, err := nsysdb.Summaries(ctx, path, wanted)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Path, err)
	}
	sums := []nsysdb.Summary{} // empty rather than null in JSON
	for _, s := range all {
		if len(s.Rows) > 0 {
			sums = append(sums, s)
		} else if len(c.Reports) > 0 {
			e.Warn("%s: nothing in the report for %s", c.Path, s.Report)
		}
	}
	if len(sums) == 0 && len(c.Reports) == 0 {
		e.Warn("%s: no kernels, calls or ranges in the report", c.Path)
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
			err = report.StatsCSV(e.data(), s)
		} else {
			err = report.StatsText(e.stdout, s, c.Top)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
