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
	"github.com/stepscope/stepscope/internal/tracefile/cut"
	"github.com/stepscope/stepscope/internal/tracefile/merge"
	"github.com/stepscope/stepscope/internal/tracefile/redact"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// cutCmd is "trace cut".
type cutCmd struct {
	inputs
	Steps string `placeholder:"A-B" help:"Keep these steps, counted from 0 in each rank: 7-9, or 7."`
	From  string `placeholder:"T" help:"Keep what is after T: a time since the earliest span (1.5s, 250ms) or of day (2026-01-02T15:04:05.6Z)."`
	To    string `placeholder:"T" help:"Keep what is before T."`
	Out   string `short:"o" name:"output" placeholder:"OUT" help:"File to write, - for stdout; for several ranks a directory, or with --merge a file (default: cut-NAME beside the input)."`
	Merge bool   `help:"Merge the ranks into one file."`

	Redact    bool `help:"Replace what names people, machines, files and requests, so that the file can be shown to strangers; without a window, keep all events."`
	KeepNames bool `help:"With --redact, keep annotations of unknown form, too."`

	JSON bool `name:"json" help:"Print as JSON what was done."`
}

// Help is the end of the verb's help text.
func (c *cutCmd) Help() string {
	return `Every rank is cut at its own steps. What the window's work needs stays: launches, their kernels, arrows, names of rows.

Examples:
  stepscope trace cut /tmp/profile --steps 7-9 -o cut/
  stepscope trace cut /tmp/profile --steps 7-9 --merge -o slow.trace.json.gz
  stepscope trace cut /tmp/profile --redact --merge -o public.trace.json.gz
  stepscope trace cut run-TP-0.trace.json.gz --from 20ms --to 0.05`
}

// Run cuts.
func (c *cutCmd) Run(ctx context.Context, e *env) error {
	w, err := c.window()
	if err != nil {
		return err
	}
	if err := oneStdout(c.Out, c.JSON); err != nil {
		return err
	}
	in := c.input()
	found, missing, err := in.Choose(e.Console)
	if err != nil {
		return err
	}
	text, err := e.asText(ctx, in.Read, found)
	if err != nil {
		return err
	}
	defer text.Close()
	window := text.Set
	single := len(window.Files) == 1 || c.Merge
	if !single {
		if err := c.needsDir(len(window.Files)); err != nil {
			return err
		}
	}
	dir := filepath.Dir(found.Files[0].Path)
	// Asked before the work, as the place is.
	var out string
	if single {
		usual := c.name(window, 0)
		if c.Merge {
			usual = set.OutputName(c.id(window), ".trace.json.gz")
		}
		if out, err = target(c.Out, dir, usual); err != nil {
			return err
		}
	} else if out = c.Out; out == "" {
		out = filepath.Join(dir, c.id(window))
	}
	if single {
		if err := text.NotAnInput(out); err != nil {
			return err
		}
	}
	meter := e.Meter("cut", 2*window.Bytes())
	var r *redact.Redactor
	if c.Redact {
		r = redactor(c.KeepNames)
		missing = nil // paths of this machine: said on stderr
	}
	p, results, err := c.cut(ctx, e, window, w, out, r, merge.Options{Meter: meter, Missing: missing})
	meter.Close()
	if p != nil && ctx.Err() == nil {
		for _, why := range p.Lacks {
			e.Warn("%s", text.Told(why))
			e.Incomplete()
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
	return c.report(e, results, r)
}

// cut writes one file of all ranks, or one file a rank.
func (c *cutCmd) cut(ctx context.Context, e *env, window set.Set, w cut.Window, out string, r *redact.Redactor, opt merge.Options) (*cut.Plan, []*merge.Result, error) {
	p, err := cut.New(ctx, window, w, opt.Meter, r)
	if err != nil {
		return p, nil, err
	}
	one := func(path string) (res *merge.Result, err error) {
		opt.Plain = strings.HasSuffix(path, ".json")
		opt.ProfileID = c.id(window)
		switch {
		case c.Merge && r != nil:
			return c.mergeRedacted(ctx, p, path, opt)
		case c.Merge:
			return p.Merged(ctx, path, opt)
		}
		return p.File(ctx, 0, path, opt)
	}
	results := []*merge.Result{}
	switch {
	case out == "-":
		err = e.throughFile("cut.trace.json.gz", func(path string) error {
			res, err := one(path)
			results = append(results, res)
			return err
		})
		return p, results, err
	case c.Merge || len(window.Files) == 1:
		res, err := one(out)
		return p, append(results, res), err
	}
	_, there := os.Stat(out)
	if err := os.MkdirAll(out, 0o777); err != nil {
		return p, nil, err
	}
	for i := range p.Set.Files {
		res, err := p.File(ctx, i, filepath.Join(out, c.name(p.Set, i)), opt)
		if err != nil {
			if there != nil {
				os.Remove(out) // ours, and refused unless it is empty
			}
			return p, nil, err
		}
		results = append(results, res)
	}
	return p, results, nil
}

// needsDir refuses a -o that can hold one file alone.
func (c *cutCmd) needsDir(ranks int) error {
	if st, err := os.Stat(c.Out); err == nil && st.IsDir() {
		return nil
	}
	if c.Out == "-" || trace.TraceSuffix(c.Out) != "" {
		return usagef("-o %s: %d ranks are cut; give a directory, or --merge for one file", c.Out, ranks)
	}
	return nil
}

// id is what the outputs share in their names.
func (c *cutCmd) id(window set.Set) string {
	if c.Redact {
		return redactedID(window.ID)
	}
	return "cut-" + window.ID
}

// name is what the window of a rank's file is called.
func (c *cutCmd) name(window set.Set, i int) string {
	f := window.Files[i]
	if c.Redact {
		return redactedName(window, i).String()
	}
	base := filepath.Base(f.Path)
	return "cut-" + strings.TrimSuffix(base, trace.TraceSuffix(base)) + ".trace.json.gz"
}

func (c *cutCmd) report(e *env, results []*merge.Result, r *redact.Redactor) error {
	if c.JSON {
		out := struct {
			Format   int             `json:"format"`
			Outputs  []*merge.Result `json:"outputs"`
			Redacted *redacted       `json:"redacted,omitempty"`
		}{1, results, nil}
		if r != nil {
			out.Redacted = &redacted{r.Counts(), r.Left()}
		}
		return e.printJSON(out)
	}
	to := e.stdout
	if c.Out == "-" {
		to = e.stderr
	} else {
		for _, res := range results {
			fmt.Fprintf(to, "%s: %d events, %.2f MB\n", res.Output, res.Events, float64(res.BytesOut)/1e6)
		}
	}
	if r != nil {
		printRedacted(to, r)
	}
	return nil
}

func (c *cutCmd) window() (w cut.Window, err error) {
	if c.KeepNames && !c.Redact {
		return w, usagef("--keep-names goes with --redact")
	}
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

// moment reads a time since the start of the trace or of day. A bare number is
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
