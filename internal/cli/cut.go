package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/cut"
	"github.com/stepscope/stepscope/internal/merge"
	"github.com/stepscope/stepscope/internal/progress"
	"github.com/stepscope/stepscope/trace"
)

// cutCmd is "trace cut".
type cutCmd struct {
	Paths     []string `arg:"" name:"path" help:"A trace file, or the directory or files of a set: every rank is cut."`
	Steps     string   `placeholder:"A-B" help:"Keep these steps, counted from 0 in each rank: 7-9, or 7."`
	From      string   `placeholder:"T" help:"Keep what is after T: a time since the earliest span (1.5s, 250ms) or of day (2026-01-02T15:04:05.6Z)."`
	To        string   `placeholder:"T" help:"Keep what is before T."`
	Out       string   `short:"o" name:"output" placeholder:"OUT" help:"File to write; for several ranks a directory, or with --merge a file (default: cut-NAME beside the input)."`
	Merge     bool     `help:"Merge the ranks into one file."`
	ProfileID string   `name:"profile-id" placeholder:"ID" help:"Which window, when there are several (default: the newest)."`
	JSON      bool     `name:"json" help:"Print what was written as JSON."`
}

// Run cuts.
func (c *cutCmd) Run(ctx context.Context, e *env) error {
	w, err := c.window()
	if err != nil {
		return err
	}
	set, missing, err := e.findSet(c.Paths, c.ProfileID)
	for _, p := range missing {
		e.warn("%s: no such file", p)
		e.incomplete()
	}
	if err != nil {
		return err
	}
	var opt merge.Options
	if e.terminal {
		bar := progress.New(e.stderr, "cut", 2*inputBytes(set))
		defer bar.Close()
		opt.Meter = bar
	}
	dir := filepath.Dir(set.Files[0].Path)
	single := len(set.Files) == 1
	p, err := cut.New(ctx, set, w, opt.Meter)
	if err != nil {
		return err
	}
	for _, why := range p.Lacks {
		e.warn("%s", why)
		e.incomplete()
	}
	results := []*merge.Result{}
	if c.Merge {
		opt.ProfileID, opt.Missing = "cut-"+set.ID, missing
		out := c.file(filepath.Join(dir, merge.OutputName("cut-"+set.ID, ".trace.json.gz")))
		opt.Plain = strings.HasSuffix(out, ".json")
		res, err := p.Merged(ctx, out, opt)
		if err != nil {
			return err
		}
		results = append(results, res)
	} else if results, err = c.each(ctx, p, opt, dir, single); err != nil {
		return err
	}
	return c.report(e, results)
}

// each writes one file a rank.
func (c *cutCmd) each(ctx context.Context, p *cut.Plan, opt merge.Options, dir string, single bool) ([]*merge.Result, error) {
	results := []*merge.Result{}
	out := c.Out
	if !single {
		if out == "" {
			out = filepath.Join(dir, "cut-"+p.Set.ID)
		}
		if err := os.MkdirAll(out, 0o777); err != nil {
			return nil, err
		}
	}
	for i, f := range p.Set.Files {
		base := filepath.Base(f.Path)
		base = "cut-" + strings.TrimSuffix(base, trace.TraceSuffix(base)) + ".trace.json.gz"
		path := filepath.Join(out, base)
		if single {
			path = c.file(filepath.Join(dir, base))
		}
		opt.Plain = strings.HasSuffix(path, ".json")
		res, err := p.File(ctx, i, path, opt)
		if err != nil {
			return nil, err
		}
		results = append(results, res)
	}
	return results, nil
}

// file is the one output: what -o says, in a directory under the default's name.
func (c *cutCmd) file(other string) string {
	if c.Out == "" {
		return other
	}
	if st, err := os.Stat(c.Out); err == nil && st.IsDir() {
		return filepath.Join(c.Out, filepath.Base(other))
	}
	return c.Out
}

func (c *cutCmd) report(e *env, results []*merge.Result) error {
	for _, res := range results {
		for _, f := range res.Files {
			if f.Problem != nil {
				e.warn("%s: %v", f.File, f.Problem)
				e.incomplete()
			}
		}
	}
	if c.JSON {
		enc := json.NewEncoder(e.stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(struct {
			Format  int             `json:"format"`
			Outputs []*merge.Result `json:"outputs"`
		}{1, results})
	}
	for _, res := range results {
		fmt.Fprintf(e.stdout, "%s: %d events, %.2f MB\n", res.Output, res.Events, float64(res.BytesOut)/1e6)
	}
	return nil
}

func (c *cutCmd) window() (w cut.Window, err error) {
	if (c.Steps != "") == (c.From != "" || c.To != "") {
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
