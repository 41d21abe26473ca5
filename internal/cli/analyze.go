package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/waits"
	"github.com/stepscope/stepscope/internal/explain/window"
)

// analyzeCmd is "analyze".
type analyzeCmd struct {
	inputs
	stretch
	JSON     bool   `name:"json" xor:"form" help:"Print as JSON."`
	Markdown bool   `name:"markdown" xor:"form" help:"Print as Markdown."`
	Layers   bool   `name:"layers" help:"All layers and modules of a capture with layer-wise markers."`
	HTML     string `name:"html" placeholder:"FILE" help:"Also write one self-contained page with plots; - for stdout, and nothing else there."`
	shown
	runPlace
}

// shown is what the verbs that explain have in common.
type shown struct {
	Rules string `placeholder:"FILE" help:"Kernel classes of your own, tried first: lines of CLASS REGEXP."`
	Top   int    `default:"10" help:"At most so many rows in each table."`
	All   bool   `help:"All rows and all evidence."`
}

// check looks at the values.
func (s *shown) check() error {
	if s.Top < 1 {
		return usagef("--top %d: give 1 or more", s.Top)
	}
	return nil
}

// rules reads the classes of the user's own, if any.
func (s *shown) rules() (*kernel.Rules, error) {
	if s.Rules == "" {
		return nil, nil
	}
	f, err := os.Open(s.Rules)
	if err != nil {
		return nil, fmt.Errorf("--rules: %w", err)
	}
	defer f.Close()
	rules, err := kernel.ParseRules(f)
	if err != nil {
		return nil, fmt.Errorf("--rules %s: %w", s.Rules, err)
	}
	return rules, nil
}

// Help is the end of the verb's help text.
func (c *analyzeCmd) Help() string {
	return `Examples:
  stepscope analyze /tmp/profile
  stepscope analyze /tmp/profile --html report.html
  stepscope analyze run-TP-0.trace.json.gz run-TP-1.trace.json.gz --json

A benchmark run with traces, by its id or "last", also tells what its slow
requests waited for. A run of several servers, or a directory with one of each
(prefill-0, decode-0, ...), explains each, and of prefill and decode servers
what went between them and which side limits the throughput.`
}

// Run analyses.
func (c *analyzeCmd) Run(ctx context.Context, e *env) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.HTML == "-" && (c.JSON || c.Markdown) {
		return usagef("--html - takes stdout for the page: leave out --json and --markdown, or give a file")
	}
	rules, err := c.rules()
	if err != nil {
		return err
	}
	if c.HTML != "" {
		if c.HTML, err = target(c.HTML, "", "report.html"); err != nil {
			return err
		}
	}
	run, servers, err := c.run()
	if err != nil {
		return err
	}
	if len(servers) > 1 {
		return c.servers(ctx, e, rules, run, servers)
	}
	capture, err := c.read(ctx, e, c.inputs)
	if err != nil {
		return err
	}
	r, err := explain.Prepare(capture.Traces, rules).Analyze(capture.Options())
	if err != nil {
		return err
	}
	var joined *waits.Result
	if run != nil {
		role := ""
		if len(servers) == 1 {
			role = servers[0].Role
		}
		one := waits.NewServer("", role, capture.Traces)
		if joined, err = e.join(run, []*waits.Server{one}, lateSteps(r)); err != nil { // the findings stand
			e.Warn("what the requests waited for is not known: %v", err)
			e.Incomplete()
		}
	}
	if c.HTML == "-" {
		return report.HTML(e.stdout, r)
	}
	if err := c.page(e, c.HTML, func(w io.Writer) error { return report.HTML(w, r) }); err != nil {
		return err
	}
	switch {
	case c.JSON && joined != nil:
		return joinJSON(e.stdout, r, joined)
	case c.JSON:
		return report.JSON(e.stdout, r)
	}
	if err := c.print(e, r); err != nil || joined == nil || c.Markdown {
		return err
	}
	return e.showJoin(joined, c.rows())
}

// read reads a window.
func (c *analyzeCmd) read(ctx context.Context, e *env, in inputs) (*window.Capture, error) {
	w, err := c.of(in)
	if err != nil {
		return nil, err
	}
	capture, err := w.Open(ctx, e.Console, "analyze")
	if err != nil {
		return nil, err
	}
	return capture, capture.Set.NotAnInput(c.HTML)
}

// print writes a report for people.
func (c *analyzeCmd) print(e *env, r *result.Report) error {
	opt := report.Options{Top: c.Top, All: c.All, Layers: c.Layers}
	if c.Markdown {
		return report.Markdown(e.stdout, r, opt)
	}
	opt.Width, opt.Color = e.screen()
	return report.Text(e.stdout, r, opt)
}

// page writes a page, if one is wanted.
func (c *analyzeCmd) page(e *env, path string, write func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	if err := atomicfile.Write(path, write); err != nil {
		return writing(path, err)
	}
	e.Warn("page written: %s", path)
	return nil
}

// rows is the most rows that a table may have; 0: no limit.
func (c *analyzeCmd) rows() int {
	if c.All {
		return 0
	}
	return c.Top
}
