package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/explain/brief"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/measure/system"
	"github.com/stepscope/stepscope/internal/runs"
)

// analyzeCmd is "analyze".
type analyzeCmd struct {
	inputFlags
	rangeFlags
	JSON       bool   `name:"json" xor:"form" without:"html=-: both write to stdout" help:"Print as JSON."`
	Markdown   bool   `name:"markdown" xor:"form" without:"html=-: both write to stdout" help:"Print as Markdown."`
	Full       bool   `name:"full" help:"Print all tables after the answer."`
	Tables     string `name:"tables" placeholder:"NAME,…" help:"Print these tables after the answer: times, idle, stages, steps, ranks, balance, path, collectives, layers, light, light-modules, light-changes, classes, kernels, gaps, ops, frames, launches, memory, notes."`
	Layers     bool   `name:"layers" help:"Show all layers and modules, including those in CUDA graphs."`
	LayersFrom string `name:"layers-from" placeholder:"DIR|FILE" needs:"layers: give both" without:"quick: a quick analysis skips the layers of graphs" help:"With --layers: a window of the same server without CUDA graphs, to identify the layers of graphs."`
	SourceFrom string `name:"source-from" placeholder:"DIR|FILE" without:"brief: a bounded answer has no room for it" help:"Show the code that launches each kernel; for kernels in graphs, take it from this window of the same server, recorded with Python stacks and without CUDA graphs."`
	HTML       string `name:"html" placeholder:"FILE" help:"Also write one self-contained page with plots; - writes only the page to stdout."`

	Quick bool `help:"Skip the gains of findings and the critical path, which saves up to a fifth of the time."`

	cluster
	Summary string `placeholder:"FILE" without:"on=slurm|json|markdown|html: a summary is no explanation" help:"Write a summary per rank to FILE (- for stdout), which analyze accepts in place of traces."`

	Reference string `placeholder:"TIME|RUN|FILE" help:"Decode step time without recording (2.55ms), or a load of the server to take it from: a run, or a file of --output-details. The cost of recording is then subtracted."`

	displayFlags
	lightFlags
	memoryFlags
	runPlace
	briefFlags

	take func(*brief.Capture) error // receives the results in place of stdout; nil: print them
}

// displayFlags are the flags that all verbs which explain windows share.
type displayFlags struct {
	Rules string `placeholder:"FILE" help:"Your own kernel classes, tried first: lines of CLASS REGEXP."`
	Top   int    `default:"10" limits:"1.." help:"Maximum number of rows in each table."`
	All   bool   `help:"Show all rows and all evidence."`
	Force bool   `help:"Continue even if the files cannot be ranks of one capture (exit status 3)."`
}

// rules reads the kernel classes that the user has defined, if there are any.
func (s *displayFlags) rules() (*kernel.Rules, error) {
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

// Help returns the end of the verb's help text.
func (c *analyzeCmd) Help() string {
	return `Examples:
  stepscope analyze /tmp/profile
  stepscope analyze /tmp/profile --html report.html
  stepscope analyze run-TP-0.trace.json.gz run-TP-1.trace.json.gz --json
  stepscope analyze /tmp/profile --brief
  stepscope analyze /shared/profile --on slurm --slurm-arg=--partition=cpu

With --on slurm, tasks on the nodes summarise the files and send the summaries
back through srun: in the current allocation, or else as a job array. The
program must have the same path on all nodes. Failed tasks are named (status 3).

For a benchmark run with traces (its id or "last"), it also explains why requests
were slow. For a run of several servers, or a directory with one subdirectory
each (prefill-0, decode-0, ...), it explains each server and, for prefill and
decode servers, the transfers between them and which side limits the throughput.`
}

// Run explains the windows.
func (c *analyzeCmd) Run(ctx context.Context, e *env) error {
	var run *runs.Run
	as, take, given := form(c.JSON, c.Markdown), c.take, c.Paths
	if c.Brief {
		take = func(found *brief.Capture) error { return c.answer(e, brief.Analysis(found, c.MaxBytes), c.JSON) }
	}
	if take != nil {
		as = system.JSON
	}
	opt, err := c.explain(e, as, c.HTML)
	if err != nil {
		return err
	}
	if take != nil {
		opt.Take = func(found *brief.Capture) error {
			found.Args = c.args(given, run)
			return take(found)
		}
	}
	opt.Show.Layers, opt.Show.Full, opt.Layers, opt.Quick = c.Layers, c.Full, c.Layers && !c.Quick, c.Quick
	if opt.Show.Tables, err = tableNames(c.Tables); err != nil {
		return err
	}
	if c.LayersFrom != "" {
		from, err := inputFlags{Paths: []string{c.LayersFrom}}.input()
		if err != nil {
			return err
		}
		opt.LayersFrom = from
	}
	if c.SourceFrom != "" {
		from, err := inputFlags{Paths: []string{c.SourceFrom}}.input()
		if err != nil {
			return err
		}
		opt.SourceFrom, opt.Show.Tables = from, append(opt.Show.Tables, "kernels")
	}
	if opt.Light, err = c.light(); err != nil {
		return err
	}
	done, err := c.watch(e)
	if err != nil {
		return err
	}
	defer done()
	if c.Reference != "" {
		root, _ := c.root()
		if opt.Reference, err = system.ReadReference(root, c.Reference, e.Console); err != nil {
			return usagef("--reference %v", err)
		}
	}
	var servers []system.Server
	if len(c.Paths) == 1 && !strings.Contains(c.On, ":") { // HOST:DIR is a directory on another machine
		root, _ := c.root() // without a home for runs, a run can still be given by its directory
		if run, servers, c.Paths, err = system.Find(root, c.Paths[0]); err != nil {
			return notFound(err)
		}
	}
	in := c.files()
	if err := c.set(in); err != nil {
		return err
	}
	opt.Read = in.Read
	if c.Summary != "" {
		return c.summarize(ctx, e, in, opt.Rules, len(servers))
	}
	if opt.Open, err = c.open(e); err != nil {
		return err
	}
	if run != nil && opt.Form == system.Text && c.HTML != "-" {
		if err := sayWatched(e.stdout, run); err != nil {
			return err
		}
	}
	load := run
	if run != nil && !run.Loaded() {
		load = nil
	}
	if len(servers) <= 1 {
		return opt.Window(ctx, in, load, servers)
	}
	if from := cmp.Or(c.LayersFrom, c.SourceFrom); from != "" {
		return usagef("--layers-from and --source-from need the window of one server: there are %d", len(servers))
	}
	if c.HTML == "-" {
		return usagef("--html -: there are %d servers, each with its own page: give a file name to derive theirs from", len(servers))
	}
	return opt.Servers(ctx, servers, load)
}

// explain returns the options of an explanation. If html is not "", a page is written to that file.
func (s *displayFlags) explain(e *env, form system.Form, html string) (*system.Options, error) {
	rules, err := s.rules()
	if err != nil {
		return nil, err
	}
	if html != "" {
		if html, err = target(html, "", "report.html"); err != nil {
			return nil, err
		}
	}
	out := io.Writer(e.stdout)
	if form == system.JSON || html == "-" {
		out = e.data()
	}
	return &system.Options{
		Say: e.Console, Out: out, Form: form, Show: s.tables(e), HTML: html, Rules: rules, Read: reading, Force: s.Force,
	}, nil
}

// tables returns the options for tables on stdout.
func (s *displayFlags) tables(e *env) report.Options {
	opt := e.tables()
	opt.Top, opt.All = s.Top, s.All
	return opt
}

func form(asJSON, markdown bool) system.Form {
	switch {
	case asJSON:
		return system.JSON
	case markdown:
		return system.Markdown
	}
	return system.Text
}

// tableNames parses the value of --tables.
func tableNames(text string) (names []string, err error) {
	for _, name := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		if !slices.Contains(report.TableNames, name) {
			return nil, usagef("--tables: there is no table %q: give some of %s", name, strings.Join(report.TableNames, ", "))
		}
		names = append(names, name)
	}
	return names, nil
}
