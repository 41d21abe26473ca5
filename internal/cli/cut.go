package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/tracefile/cut"
	"github.com/stepscope/stepscope/internal/tracefile/merge"
	"github.com/stepscope/stepscope/internal/tracefile/redact"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// cutCmd is "trace cut".
type cutCmd struct {
	inputFlags
	Steps string `placeholder:"A-B" help:"Keep these steps, counted from 0 in each rank: 7-9, or 7."`
	From  string `placeholder:"T" help:"Keep events after T: a time since the earliest span (1.5s, 250ms) or a date and time (2026-01-02T15:04:05.6Z)."`
	To    string `placeholder:"T" help:"Keep events before T."`
	Out   string `short:"o" name:"output" placeholder:"OUT" help:"File to write, - for stdout; for several ranks a directory, or with --merge a file (default: cut-NAME beside the input)."`
	Merge bool   `help:"Merge the ranks into one file."`

	Redact    bool `help:"Replace everything that names people, machines, files or requests, so that the file can be shared; without a window, keep all events."`
	KeepNames bool `needs:"redact" help:"With --redact, also keep annotations of unknown form."`

	JSON bool `name:"json" without:"output=-: both write to stdout" help:"Print a summary of the work as JSON."`
}

// Help returns the end of the verb's help text.
func (c *cutCmd) Help() string {
	return `Each rank is cut at its own steps. Everything that the work of the window needs is kept: launches, their kernels, arrows and row names.

Examples:
  stepscope trace cut /tmp/profile --steps 7-9 -o cut/
  stepscope trace cut /tmp/profile --steps 7-9 --merge -o slow.trace.json.gz
  stepscope trace cut /tmp/profile --redact --merge -o public.trace.json.gz
  stepscope trace cut run-TP-0.trace.json.gz --from 20ms --to 0.05`
}

// Run cuts the traces.
func (c *cutCmd) Run(ctx context.Context, e *env) error {
	w, err := c.window()
	if err != nil {
		return err
	}
	in, err := c.input()
	if err != nil {
		return err
	}
	found, missing, err := in.Choose(e.Console)
	if err != nil {
		return err
	}
	text, err := e.asText(ctx, in.Read, found, true)
	if err != nil {
		return err
	}
	defer text.Close()
	job := cut.Job{Window: w, Merge: c.Merge}
	if c.Redact {
		job.Redact = redact.Here(c.KeepNames)
		missing = nil // the paths are those of this machine, so they are printed only on stderr
	}
	window := text.Set
	out, err := c.place(&job, window, filepath.Dir(found.Files[0].Path))
	if err == nil && (c.Merge || len(window.Files) == 1) {
		err = text.NotAnInput(out)
	}
	if err != nil {
		return err
	}
	opt := merge.Options{Meter: e.Meter("cut", 2*window.Bytes()), Missing: missing}
	var p *cut.Plan
	var results []*merge.Result
	do := func(path string) (err error) {
		p, results, err = job.Do(ctx, window, path, opt)
		return err
	}
	if out == "-" {
		err = e.throughFile("cut.trace.json.gz", do)
	} else {
		err = do(out)
	}
	opt.Meter.Close()
	if p != nil && ctx.Err() == nil {
		for _, why := range p.Lacks {
			e.Lack("%s", text.Told(why))
		}
	}
	if errors.Is(err, cut.ErrNothing) {
		return fmt.Errorf("%s: %w", strings.Join(c.Paths, ", "), err)
	}
	if err != nil {
		return atomicfile.Named(out, err)
	}
	for _, res := range results {
		window.SayProblems(e.Console, res.Files)
	}
	return c.report(e, results, job.Redact)
}

// place returns the file to which the result is written, or the directory if there are several ranks. It is called
// before the work begins.
func (c *cutCmd) place(job *cut.Job, window set.Set, dir string) (string, error) {
	n := len(window.Files)
	switch {
	case c.Merge:
		return target(c.Out, dir, set.OutputName(job.ID(window), ".trace.json.gz"))
	case n == 1:
		return target(c.Out, dir, job.Name(window, 0))
	case c.Out == "":
		return filepath.Join(dir, job.ID(window)), nil
	}
	if st, err := os.Stat(c.Out); err == nil && st.IsDir() {
		return c.Out, nil
	}
	if c.Out == "-" || trace.TraceSuffix(c.Out) != "" {
		return "", usagef("-o %s: %d ranks are cut; give a directory, or --merge for one file", c.Out, n)
	}
	return c.Out, nil
}

func (c *cutCmd) report(e *env, results []*merge.Result, r *redact.Redactor) error {
	if c.JSON {
		out := struct {
			Format   int             `json:"format"`
			Outputs  []*merge.Result `json:"outputs"`
			Redacted *redact.Summary `json:"redacted,omitempty"`
		}{1, results, nil}
		if r != nil {
			out.Redacted = r.Summary()
		}
		return e.printJSON(out)
	}
	to := e.stdout
	if c.Out == "-" {
		to = e.stderr
	} else {
		for _, res := range results {
			fmt.Fprintf(to, "%s: %d events, %.2f MB\n", columns.Clean(res.Output), res.Events, float64(res.BytesOut)/1e6)
		}
	}
	if r != nil {
		r.Print(to)
	}
	return nil
}

func (c *cutCmd) window() (w cut.Window, err error) {
	timed := c.From != "" || c.To != ""
	if (c.Steps != "") == timed && (timed || !c.Redact) {
		return w, usagef("give either --steps or --from and --to")
	}
	if c.Steps != "" {
		first, last, isRange := strings.Cut(c.Steps, "-")
		if !isRange {
			last = first
		}
		w.Steps = true
		w.First, err = strconv.Atoi(strings.TrimSpace(first))
		if err == nil {
			w.Last, err = strconv.Atoi(strings.TrimSpace(last))
		}
		if err != nil || w.First < 0 || w.Last < w.First {
			return w, usagef("--steps %q: give a step or a range, as 7 or 7-9", c.Steps)
		}
		return w, nil
	}
	if w.From, err = moment("--from", c.From); err != nil {
		return w, err
	}
	if w.To, err = moment("--to", c.To); err != nil {
		return w, err
	}
	if !w.From.Open && !w.To.Open && w.From.Wall == w.To.Wall && w.To.NS <= w.From.NS {
		return w, usagef("--to %s is not after --from %s", c.To, c.From)
	}
	return w, nil
}

// moment parses a time: a duration since the start of the trace, or a date and time. A number without a unit is in
// seconds.
func moment(flag, s string) (cut.Time, error) {
	if s == "" {
		return cut.Time{Open: true}, nil
	}
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return cut.Time{NS: t.UnixNano(), Wall: true}, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		d, err = time.ParseDuration(s + "s")
	}
	if err != nil {
		return cut.Time{}, usagef("%s %q: give a time as 1.5s, 250ms or 2026-01-02T15:04:05.6Z", flag, s)
	}
	return cut.Time{NS: int64(d)}, nil
}
