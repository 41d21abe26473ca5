package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/explain/export"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// exportCmd is "trace export".
type exportCmd struct {
	inputFlags
	rangeFlags
	memoryFlags
	Out    string `short:"o" name:"output" placeholder:"OUT" help:"File or directory to write to, - for stdout (default: spans-ID.FORMAT beside the inputs)."`
	Format string `placeholder:"FORMAT" help:"parquet, csv or sqlite (default: by the extension of -o: .parquet, .csv, .csv.gz, .sqlite, .db)."`
	JSON   bool   `name:"json" without:"output=-: both write to stdout" help:"Print a summary of the work as JSON."`
}

// Help returns the end of the verb's help text, which has examples of how to use the result.
func (c *exportCmd) Help() string {
	return `Each row is a span with its rank, step, category, kernel class, times in ns and other attributes.

Examples:
  stepscope trace export traces/ -o spans.parquet
  duckdb -c "select rank, class, sum(dur_ns)/1e6 ms from 'spans.parquet' where class is not null group by all order by ms desc"
  stepscope trace export traces/ --format csv -o - | head`
}

// Run exports the spans.
func (c *exportCmd) Run(ctx context.Context, e *env) error {
	format, err := c.format()
	if err != nil {
		return err
	}
	in, err := c.of(c.inputFlags)
	if err != nil {
		return err
	}
	window, _, err := in.Choose(e.Console)
	if err != nil {
		return err
	}
	out, err := target(c.Out, filepath.Dir(window.Files[0].Path), export.OutputName(window.ID, format))
	if err != nil {
		return err
	}
	done, err := c.watch(e)
	if err != nil {
		return err
	}
	defer done()
	start := time.Now()
	opt := export.Options{Read: in.Read}
	opt.Read.Meter = e.Meter("export", window.Bytes())
	var res *export.Result
	if out == "-" {
		res, err = export.To(ctx, window, e.data(), format, opt)
	} else {
		res, err = export.File(ctx, window, out, format, opt)
	}
	opt.Read.Meter.Close()
	if errors.Is(err, export.ErrNothing) && len(res.Failed) == 1 {
		return fmt.Errorf("%s: %s", res.Failed[0].File, res.Failed[0].Reason)
	}
	if res != nil && ctx.Err() == nil {
		e.exportNotes(res, &window)
	}
	if err != nil {
		if errors.Is(err, export.ErrNothing) {
			return fmt.Errorf("%s: %w", strings.Join(c.Paths, ", "), err)
		}
		return atomicfile.Named(out, err)
	}
	set.SayMissing(e.Console, window.Missing())
	if res.Incomplete() {
		e.Incomplete()
	}
	res.Version, res.Seconds = 1, time.Since(start).Seconds()
	switch {
	case out == "-":
		return nil
	case c.JSON:
		return e.printJSON(res)
	}
	ranks := "1 rank"
	if n := len(res.Ranks); n > 1 {
		ranks = fmt.Sprintf("%d ranks", n)
	}
	_, err = fmt.Fprintf(e.stdout, "exported %d spans of %s in %.2f s\n%s (%.1f MB from %.1f MB)\n",
		res.Spans, ranks, res.Seconds, columns.Clean(res.Output), float64(res.BytesOut)/1e6, float64(res.BytesIn)/1e6)
	return err
}

// format returns the format from --format or the extension of -o.
func (c *exportCmd) format() (export.Format, error) {
	f := export.Format(c.Format)
	if c.Format == "" {
		var ok bool
		if f, ok = export.FormatOf(c.Out); !ok {
			if c.Out == "" {
				return "", usagef("no format given: give --format parquet, csv or sqlite, or -o with such an extension")
			}
			return "", usagef("-o %s: no format has this extension, give --format parquet, csv or sqlite", c.Out)
		}
	}
	if !slices.Contains([]export.Format{export.Parquet, export.CSV, export.SQLite}, f) {
		return "", usagef("--format %q: give parquet, csv or sqlite", c.Format)
	}
	if f == export.SQLite && c.Out == "-" {
		return "", usagef("a SQLite database cannot be written to stdout: give a file with -o")
	}
	return f, nil
}

// exportNotes prints the gaps and the doubtful values of the table to stderr.
func (e *env) exportNotes(res *export.Result, window *set.Set) {
	for _, f := range res.Failed {
		e.Warn("%s: %s", f.File, f.Reason)
	}
	for i := range res.Ranks {
		for _, n := range res.Ranks[i].Notes {
			if n.Severity() >= trace.Warning {
				set.SayNote(e.Console, window.PathOf(n.Source), n.Note)
			}
		}
	}
}
