package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/export"
	"github.com/stepscope/stepscope/internal/merge"
	"github.com/stepscope/stepscope/internal/progress"
	"github.com/stepscope/stepscope/internal/traceset"
	"github.com/stepscope/stepscope/trace"
)

// exportCmd is "trace export".
type exportCmd struct {
	Paths     []string `arg:"" name:"path" help:"A directory of rank files, or the files."`
	Out       string   `short:"o" name:"output" placeholder:"OUT" help:"File or directory to write to, - for stdout (default: spans-ID.FORMAT beside the inputs)."`
	Format    string   `placeholder:"FORMAT" help:"parquet, csv or sqlite (default: by the ending of -o: .parquet, .csv, .csv.gz, .sqlite, .db)."`
	ProfileID string   `name:"profile-id" placeholder:"ID" help:"Which window, when there are several (default: the newest)."`
	JSON      bool     `name:"json" help:"Print what was done as JSON."`
}

// Help shows what one can do with the result.
func (c *exportCmd) Help() string {
	return `Each row is a span with its rank, step, category, kernel class, times in ns and what else is known of it.

Examples:
  stepscope trace export traces/ -o spans.parquet
  duckdb -c "select rank, class, sum(dur_ns)/1e6 ms from 'spans.parquet' where class is not null group by all order by ms desc"
  stepscope trace export traces/ --format csv -o - | head`
}

// Run exports.
func (c *exportCmd) Run(ctx context.Context, e *env) error {
	format, err := c.format()
	if err != nil {
		return err
	}
	set, missing, err := e.findSet(c.Paths, c.ProfileID)
	for _, p := range missing {
		e.warn("%s: no such file", p)
	}
	if err != nil {
		return err
	}
	start := e.now()
	var opt export.Options
	if e.terminal {
		opt.Meter = progress.New(e.stderr, "export", inputBytes(set))
	}
	out := c.output(filepath.Dir(set.Files[0].Path), set.ID, format)
	var res *export.Result
	if out == "-" {
		res, err = export.To(ctx, set, e.stdout, format, opt)
	} else {
		res, err = export.File(ctx, set, out, format, opt)
	}
	opt.Meter.Close()
	if res != nil && ctx.Err() == nil {
		e.exportNotes(res)
	}
	if err != nil {
		if errors.Is(err, export.ErrNothing) {
			return fmt.Errorf("%s: %w", strings.Join(c.Paths, ", "), err)
		}
		return err
	}
	lacking := missingRanks(set)
	for _, m := range lacking {
		e.warn("missing %v", m)
	}
	if res.Incomplete() || len(missing) > 0 || len(lacking) > 0 {
		e.incomplete()
	}
	seconds := e.now().Sub(start).Seconds()
	switch {
	case out == "-":
		return nil
	case c.JSON:
		enc := json.NewEncoder(e.stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(struct {
			Format int `json:"format"`
			*export.Result
			Seconds float64 `json:"seconds"`
		}{1, res, seconds})
	}
	ranks := "1 rank"
	if n := len(res.Ranks); n > 1 {
		ranks = fmt.Sprintf("%d ranks", n)
	}
	_, err = fmt.Fprintf(e.stdout, "exported %d spans of %s in %.2f s\n%s (%.1f MB from %.1f MB)\n",
		res.Spans, ranks, seconds, res.Output, float64(res.BytesOut)/1e6, float64(res.BytesIn)/1e6)
	return err
}

// format is what --format says, or the ending of -o.
func (c *exportCmd) format() (export.Format, error) {
	f := export.Format(c.Format)
	if c.Format == "" {
		var ok bool
		if f, ok = export.FormatOf(c.Out); !ok {
			if c.Out == "" {
				return "", usagef("which format? give --format parquet, csv or sqlite, or -o with such an ending")
			}
			return "", usagef("-o %s: its ending names no format, give --format parquet, csv or sqlite", c.Out)
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

// output is where to write: what -o says, a name of its own in a directory,
// or that name beside the inputs.
func (c *exportCmd) output(dir, id string, f export.Format) string {
	switch {
	case c.Out == "-":
		return c.Out
	case c.Out == "":
		return filepath.Join(dir, export.OutputName(id, f))
	}
	if st, err := os.Stat(c.Out); err == nil && st.IsDir() || strings.HasSuffix(c.Out, string(filepath.Separator)) {
		return filepath.Join(c.Out, export.OutputName(id, f))
	}
	return c.Out
}

// exportNotes names on stderr what is not in the table, or doubtful.
func (e *env) exportNotes(res *export.Result) {
	for _, f := range res.Failed {
		e.warn("%s: %s", f.File, f.Reason)
	}
	for i := range res.Ranks {
		for _, n := range res.Ranks[i].Notes {
			switch {
			case n.Severity < trace.Warning:
			case n.Count > 1:
				e.warn("%s: %d %s", n.Source, n.Count, n.Text)
			default:
				e.warn("%s: %s", n.Source, n.Text)
			}
		}
	}
}

// missingRanks are the ranks that names or distributedInfo promise.
func missingRanks(set traceset.Set) []merge.Missing {
	heads := make([]*merge.Head, len(set.Files))
	for i, f := range set.Files {
		heads[i] = merge.ReadHead(f)
	}
	return merge.FindMissing(set, heads)
}
