package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/tracefile/merge"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// mergeCmd is "trace merge".
type mergeCmd struct {
	inputFlags
	rangeFlags
	Out      string   `short:"o" name:"output" placeholder:"OUT" help:"File or directory to write to, - for stdout (default: merged-ID.trace.json.gz beside the inputs). A name that ends in .json is not compressed."`
	Format   string   `placeholder:"FORMAT" help:"chrome (JSON, as SGLang's merger writes it) or pftrace (Perfetto protobuf). Default: by the extension of -o, else chrome."`
	Align    string   `enum:"auto,always,never" default:"auto" help:"Align the clocks of hosts by their common collectives: when needed (auto), always or never."`
	Level    *int     `placeholder:"N" help:"Compression level, 1 (fast) to 9 (small). Default: 5, for a Perfetto trace 1."`
	Cats     []string `sep:"," placeholder:"CAT" help:"Keep only events of these categories, as listed by trace check, and events without a category."`
	NoPython bool     `help:"Leave out python_function events, which make up most of a trace recorded with stacks."`
	JSON     bool     `name:"json" without:"output=-: both write to stdout" help:"Print a summary of the work as JSON."`
}

// Help returns the end of the verb's help text.
func (c *mergeCmd) Help() string {
	return `Ranks keep their rows, arrows stay inside their rank, and the output's metadata lists what is missing.

Examples:
  stepscope trace merge /tmp/profile
  stepscope trace merge /tmp/profile -o run.pftrace
  stepscope trace merge /tmp/profile --no-python -o - | zcat | wc -c`
}

// Run merges the ranks.
func (c *mergeCmd) Run(ctx context.Context, e *env) error {
	if err := c.check(); err != nil {
		return err
	}
	in, err := c.of(c.inputFlags)
	if err != nil {
		return err
	}
	window, missing, err := in.Choose(e.Console)
	if err != nil {
		return err
	}
	out, err := target(c.Out, filepath.Dir(window.Files[0].Path), set.OutputName(window.ID, c.suffix()))
	if err != nil {
		return err
	}
	if strings.HasSuffix(out, ".zst") {
		return usagef("-o %s: zstd output is not supported, give a name that ends in .json.gz, .json or .pftrace", c.Out)
	}
	start := time.Now()
	text, err := e.asText(ctx, in.Read, window, false)
	if err != nil {
		return err
	}
	defer text.Close()
	if err := text.NotAnInput(out); err != nil {
		return err
	}
	window = text.Set
	meter := e.Meter("merge", window.Bytes())
	opt := merge.Options{
		ProfileID: window.ID, Align: merge.Align(c.Align), Missing: missing,
		Plain: strings.HasSuffix(out, ".json"), Meter: meter,
	}
	if c.Level != nil {
		opt.Level = *c.Level
	}
	if err := opt.Only(c.Cats, c.NoPython); err != nil {
		meter.Close()
		return usagef("--cats %v", err)
	}
	res, err := c.write(ctx, e, window, out, opt)
	meter.Close()
	if errors.Is(err, merge.ErrNothing) && len(res.Files) == 1 && res.Files[0].Problem != nil {
		return fmt.Errorf("%s: %v", window.PathOf(res.Files[0].File), res.Files[0].Problem)
	}
	if res != nil && ctx.Err() == nil {
		window.SayProblems(e.Console, res.Files)
	}
	if errors.Is(err, merge.ErrNothing) {
		return fmt.Errorf("%s: %w", strings.Join(c.Paths, ", "), err)
	}
	if err != nil {
		return atomicfile.Named(out, err)
	}
	set.SayMissing(e.Console, res.Missing)
	for _, n := range res.Notes {
		if n.Severity() < trace.Loss {
			e.Warn("%v", n)
			continue
		}
		set.SayNote(e.Console, window.PathOf(n.Source), n)
		e.Incomplete()
	}
	res.Format, res.Seconds = 1, time.Since(start).Seconds()
	switch {
	case out == "-":
		return nil
	case c.JSON:
		return e.printJSON(res)
	}
	return res.Print(e.stdout)
}

// check validates the flags and determines the format.
func (c *mergeCmd) check() error {
	if l := c.Level; l != nil && (*l < 1 || *l > 9) {
		return usagef("--level %d: give 1 (fast) to 9 (small)", *l)
	}
	if c.Format == "" {
		c.Format = "chrome"
		if strings.HasSuffix(c.Out, ".pftrace") || strings.HasSuffix(c.Out, ".perfetto-trace") {
			c.Format = "pftrace"
		}
	}
	if c.Format != "chrome" && c.Format != "pftrace" {
		return usagef("--format %q: give chrome or pftrace", c.Format)
	}
	return nil
}

func (c *mergeCmd) suffix() string {
	if c.Format == "pftrace" {
		return ".pftrace"
	}
	return ".trace.json.gz"
}

// write merges to the file or to stdout.
func (c *mergeCmd) write(ctx context.Context, e *env, window set.Set, out string, opt merge.Options) (res *merge.Result, err error) {
	switch {
	case c.Format == "pftrace" && out == "-":
		err = e.throughFile("out.pftrace", func(path string) (err error) {
			res, err = merge.Perfetto(ctx, window, path, opt)
			return err
		})
		return res, err
	case c.Format == "pftrace":
		return merge.Perfetto(ctx, window, out, opt)
	case out == "-":
		return merge.To(ctx, window, e.data(), opt)
	}
	return merge.File(ctx, window, out, opt)
}
