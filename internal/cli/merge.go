package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stepscope/stepscope/internal/chromejson"
	"github.com/stepscope/stepscope/internal/merge"
	"github.com/stepscope/stepscope/internal/progress"
)

// mergeCmd is "trace merge".
type mergeCmd struct {
	Paths     []string `arg:"" name:"path" help:"A directory of rank files, or the files."`
	Out       string   `short:"o" name:"output" placeholder:"OUT" help:"File or directory to write to, - for stdout (default: merged-ID.trace.json.gz beside the inputs). A name that ends in .json is not compressed."`
	Format    string   `enum:"chrome,pftrace" default:"chrome" help:"chrome (JSON, as SGLang's merger writes it) or pftrace (Perfetto protobuf)."`
	ProfileID string   `name:"profile-id" placeholder:"ID" help:"Which window, when there are several (default: the newest)."`
	Align     string   `enum:"auto,always,never" default:"auto" help:"Move the clocks of hosts by their common collectives: when needed (auto), always or never."`
	Level     int      `default:"5" help:"Compression level, 1 (fast) to 9 (small)."`
	Cats      []string `placeholder:"CAT,…" help:"Keep only events of these categories, as trace check lists them, and those that have none."`
	NoPython  bool     `help:"Leave out python_function events: most of a trace recorded with stacks."`
	JSON      bool     `name:"json" help:"Print what was done as JSON."`
}

// Run merges.
func (c *mergeCmd) Run(ctx context.Context, e *env) error {
	if c.Level < 1 || c.Level > 9 {
		return usagef("--level %d: give 1 (fast) to 9 (small)", c.Level)
	}
	set, missing, err := e.findSet(c.Paths, c.ProfileID)
	for _, p := range missing {
		e.warn("%s: no such file", p)
	}
	if err != nil {
		return err
	}
	start := e.now()
	opt := merge.Options{
		ProfileID: set.ID, Level: c.Level, Align: merge.Align(c.Align), Missing: missing,
	}
	c.filter(&opt)
	if e.terminal {
		bar := progress.New(e.stderr, "merge", inputBytes(set))
		defer bar.Close()
		opt.Meter = bar
	}
	out := c.output(filepath.Dir(set.Files[0].Path), set.ID)
	opt.Plain = strings.HasSuffix(out, ".json")
	var res *merge.Result
	switch {
	case c.Format == "pftrace" && out == "-":
		return usagef("--format pftrace cannot go to stdout: give a file with -o")
	case c.Format == "pftrace":
		res, err = merge.Perfetto(ctx, set, out, opt)
	case out == "-":
		res, err = merge.To(ctx, set, e.stdout, opt)
	default:
		res, err = merge.File(ctx, set, out, opt)
	}
	if res != nil {
		for _, f := range res.Files {
			if f.Problem != nil && ctx.Err() == nil {
				e.warn("%s: %v", f.File, f.Problem)
			}
		}
	}
	if err != nil {
		return err
	}
	for _, m := range res.Missing {
		if m.File == "" {
			e.warn("missing %v", m)
		}
	}
	for _, n := range res.Notes {
		e.warn("%s", n)
	}
	if res.Incomplete() {
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
			*merge.Result
			Seconds float64 `json:"seconds"`
		}{1, res, seconds})
	}
	c.print(e, res, seconds)
	return nil
}

// filter chooses events by category. Arrows between launches and GPU work are
// kept with their two ends.
func (c *mergeCmd) filter(opt *merge.Options) {
	if len(c.Cats) == 0 && !c.NoPython {
		return
	}
	keep := map[string]bool{"": true}
	for _, cat := range c.Cats {
		keep[cat] = true
	}
	if keep["kernel"] && keep["cuda_runtime"] {
		keep["ac2g"] = true
	}
	opt.Keep = func(int) func(*chromejson.Event) bool {
		return func(ev *chromejson.Event) bool {
			cat := ev.Text(ev.Cat)
			return (len(c.Cats) == 0 || keep[string(cat)]) && !(c.NoPython && string(cat) == "python_function")
		}
	}
	if len(c.Cats) > 0 {
		opt.Filter = "only events of these categories: " + strings.Join(c.Cats, ", ")
	} else {
		opt.Filter = "without events of category python_function"
	}
}

func (c *mergeCmd) print(e *env, res *merge.Result, seconds float64) {
	whole := 0
	for _, f := range res.Files {
		if f.Complete {
			whole++
		}
		if f.ShiftNS != 0 {
			fmt.Fprintf(e.stdout, "%s: clock moved by %+.3f ms (± %.3f ms, %d collectives)\n",
				f.Label, float64(f.ShiftNS)/1e6, float64(f.Uncertainty)/1e6, f.Collectives)
		}
	}
	fmt.Fprintf(e.stdout, "merged %d of %d files, %d events, %.1f MB of JSON in %.2f s (%.0f MB/s)\n",
		whole, len(res.Files), res.Events, float64(res.TextBytes)/1e6, seconds, float64(res.TextBytes)/1e6/max(seconds, 1e-9))
	fmt.Fprintf(e.stdout, "%s (%.1f MB from %.1f MB)\n", res.Output, float64(res.BytesOut)/1e6, float64(res.BytesIn)/1e6)
}

// output is where to write: what -o says, a name of its own in a directory,
// or that name beside the inputs.
func (c *mergeCmd) output(dir, id string) string {
	suffix := ".trace.json.gz"
	if c.Format == "pftrace" {
		suffix = ".pftrace"
	}
	switch {
	case c.Out == "-":
		return c.Out
	case c.Out == "":
		return filepath.Join(dir, merge.OutputName(id, suffix))
	}
	if st, err := os.Stat(c.Out); err == nil && st.IsDir() || strings.HasSuffix(c.Out, string(filepath.Separator)) {
		return filepath.Join(c.Out, merge.OutputName(id, suffix))
	}
	return c.Out
}
