package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/capture/nsys"
)

type nsysExportCmd struct {
	Reports []string `arg:"" name:"report" help:"Files *.nsys-rep."`
	Output  string   `short:"o" placeholder:"FILE" help:"File to write; for several reports, a directory (default: beside each report)."`
	nsysTool
}

// Help returns the end of the verb's help text.
func (c *nsysExportCmd) Help() string {
	return `An older nsys cannot read reports of a newer one.

Examples:
  stepscope nsys export serve.nsys-rep
  stepscope nsys export rank0.nsys-rep rank1.nsys-rep -o exports/`
}

// Run exports the reports.
func (c *nsysExportCmd) Run(ctx context.Context, e *env) error {
	if len(c.Reports) > 1 && c.Output != "" {
		if st, err := os.Stat(c.Output); err != nil || !st.IsDir() {
			return usagef("-o %s: for several reports, give an existing directory", c.Output)
		}
	}
	tool, err := nsys.Find(ctx, c.Nsys)
	if err != nil {
		return err
	}
	failed := 0
	for _, report := range c.Reports {
		out, err := target(c.Output, filepath.Dir(report), filepath.Base(nsys.ExportName(report)))
		if err == nil && out == "-" {
			return usagef("-o -: SQLite needs a file")
		}
		if err == nil {
			if err = tool.Export(ctx, report, out); err != nil {
				err = atomicfile.Named(out, fmt.Errorf("%s: %w", report, err))
			}
		}
		if err != nil {
			if len(c.Reports) == 1 || ctx.Err() != nil {
				return err
			}
			e.Warn("%v", err)
			failed++
			continue
		}
		st, err := os.Stat(out)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(e.stdout, "%s (%s)\n", out, metric.Bytes(st.Size())); err != nil {
			return err
		}
	}
	switch {
	case failed == len(c.Reports):
		return fmt.Errorf("none of %d reports was exported", failed)
	case failed > 0:
		e.Incomplete()
	}
	return nil
}
