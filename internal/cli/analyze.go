package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"github.com/stepscope/stepscope/internal/analysis"
	"github.com/stepscope/stepscope/internal/atomicfile"
	"github.com/stepscope/stepscope/internal/ingest"
	"github.com/stepscope/stepscope/internal/kernel"
	"github.com/stepscope/stepscope/internal/progress"
	"github.com/stepscope/stepscope/internal/report"
	"github.com/stepscope/stepscope/trace"
)

// analyzeCmd is "analyze".
type analyzeCmd struct {
	Paths     []string `arg:"" name:"path" help:"A directory of rank files, or the files."`
	JSON      bool     `name:"json" xor:"form" help:"Print the whole report as JSON."`
	Markdown  bool     `name:"markdown" xor:"form" help:"Print the report as Markdown."`
	HTML      string   `name:"html" placeholder:"FILE" help:"Also write one self-contained page with plots."`
	ProfileID string   `name:"profile-id" placeholder:"ID" help:"Which window, when there are several (default: the newest)."`
	Rules     string   `placeholder:"FILE" help:"Kernel classes of your own, tried first: lines of CLASS REGEXP."`
	Top       int      `default:"10" help:"Rows a table."`
	All       bool     `help:"All rows and all evidence."`
}

// Help is the end of the verb's help text.
func (c *analyzeCmd) Help() string {
	return `Examples:
  stepscope analyze /tmp/profile
  stepscope analyze /tmp/profile --html report.html
  stepscope analyze run-TP-0.trace.json.gz run-TP-1.trace.json.gz --json`
}

// Run analyses.
func (c *analyzeCmd) Run(ctx context.Context, e *env) error {
	if c.Top < 1 {
		return usagef("--top %d: give 1 or more", c.Top)
	}
	capture, err := e.readCapture(ctx, c.Paths, c.ProfileID, "analyze")
	if err != nil {
		return err
	}
	r, err := e.explain(capture, c.Rules)
	if err != nil {
		return err
	}
	if c.HTML != "" {
		if err := atomicfile.Write(c.HTML, func(w io.Writer) error { return report.HTML(w, r) }); err != nil {
			return fmt.Errorf("write the page: %w", err)
		}
		e.warn("page written: %s", c.HTML)
	}
	opt := report.Options{Top: c.Top, All: c.All}
	switch {
	case c.JSON:
		return report.JSON(e.stdout, r)
	case c.Markdown:
		return report.Markdown(e.stdout, r, opt)
	}
	opt.Width, opt.Color = e.screen()
	return report.Text(e.stdout, r, opt)
}

// screen tells how wide stdout is and whether it takes colours.
func (e *env) screen() (width int, color bool) {
	f, ok := e.stdout.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		width = 0
	}
	return width, os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// capture is one profiling window, read.
type capture struct {
	id      string
	traces  []*trace.Trace
	missing []string // ranks that are promised and absent
}

// readCapture reads a window for analysis. What is missing or broken is named
// on stderr and makes the exit status say so.
func (e *env) readCapture(ctx context.Context, paths []string, profileID, label string) (*capture, error) {
	set, absent, err := e.findSet(paths, profileID)
	for _, p := range absent {
		e.warn("%s: no such file", p)
		e.incomplete()
	}
	if err != nil {
		return nil, err
	}
	var opt ingest.Options
	if e.terminal {
		opt.Meter = progress.New(e.stderr, label, inputBytes(set))
	}
	traces, failures, err := ingest.ReadSet(ctx, set, opt)
	opt.Meter.Close()
	if err != nil {
		return nil, err
	}
	c := &capture{id: set.ID, traces: traces}
	for _, f := range failures {
		e.warn("%s: %v", f.Path, f.Err)
		e.incomplete()
	}
	if len(traces) == 0 {
		return nil, fmt.Errorf("%s: none of the %d files could be read", strings.Join(paths, ", "), len(set.Files))
	}
	for _, t := range traces {
		for _, n := range t.Notes {
			if n.Severity == trace.Loss {
				e.warn("%s: %s", t.Source.Path, n.Text)
				e.incomplete()
			}
		}
	}
	for _, m := range missingRanks(set) {
		c.missing = append(c.missing, fmt.Sprint(m))
	}
	for _, f := range failures {
		c.missing = append(c.missing, filepath.Base(f.Path))
	}
	if len(c.missing) > 0 {
		e.warn("missing: %s", strings.Join(c.missing, ", "))
		e.incomplete()
	}
	return c, nil
}

// explain runs the analysis, with kernel classes of the user's own if given.
func (e *env) explain(c *capture, rulesFile string) (*analysis.Report, error) {
	opt := analysis.Options{ID: c.id, Missing: c.missing}
	if rulesFile != "" {
		f, err := os.Open(rulesFile)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if opt.Rules, err = kernel.ParseRules(f); err != nil {
			return nil, fmt.Errorf("%s: %w", rulesFile, err)
		}
	}
	return analysis.Analyze(c.traces, opt)
}
