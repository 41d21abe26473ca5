package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/base/gate"
	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/brief"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/light"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/trace"
)

// compareCmd is "compare".
type compareCmd struct {
	A         string   `arg:"" help:"The base: a directory of rank files, a file, a benchmark run, or performance dumps."`
	B         string   `arg:"" optional:"" help:"The counterpart to compare with A; leave it out to compare two ranks or two windows of A."`
	More      []string `arg:"" optional:"" name:"c" help:"More performance dumps to compare with A."`
	Ranks     string   `placeholder:"TP00,TP02" help:"Compare two ranks: of one capture, or the first of A with the second of B."`
	FailOn    []string `name:"fail-on" sep:"none" placeholder:"5%|NAME>5%" help:"Exit with status 4 if a figure certainly got worse by more than this: 5% applies to all figures, 'ttft.p99>5%' or 'throughput<-3%' to one; separate several with commas, or repeat the flag."`
	ProfileID []string `name:"profile-id" placeholder:"ID[,ID]" help:"Which window to read, if there are several (default: the newest). Two apply to A and to B."`
	JSON      bool     `name:"json" xor:"form" without:"html=-: both write to stdout" help:"Print as JSON."`
	Markdown  bool     `name:"markdown" xor:"form" without:"html=-: both write to stdout" help:"Print as Markdown."`
	HTML      string   `name:"html" placeholder:"FILE" help:"Also write one self-contained page; - writes only the page to stdout."`
	Full      bool     `name:"full" help:"Print all causes and all tables in full."`
	Sources   []string `name:"source-from" placeholder:"DIR[,DIR]" help:"Windows of A and B with stacks, without graphs: the sources of kernels by role."`
	rangeFlags
	displayFlags
	lightFlags
	memoryFlags
	runPlace
	briefFlags

	buildA, buildB []*runs.Run // the starts of A and of B, if they are benchmark runs
	limits         gate.Limits
	take           func(*report.Comparison) error // receives the result in place of stdout; nil: print it
}

// Help returns the end of the verb's help text.
func (c *compareCmd) Help() string {
	return `Examples:
  stepscope compare before/ after/
  stepscope compare before/ after/ --fail-on 5%
  stepscope compare before/ after/ --brief
  stepscope compare capture/ --ranks TP00,TP01
  stepscope compare sglang/ vllm/ --model-config /models/Qwen3-8B
  stepscope compare profiles/ --profile-id 1763750000,1763760000

Benchmark runs are given by id, the start of an id, "last", or directory:
compare a1b2 last --fail-on 'ttft.p99>5%,throughput<-3%'. If the runs have
traces, their captures are compared, too. Several starts of a build,
separated by commas, are one side: compare a1,a2,a3,a4 b1,b2,b3,b4. With at least
four on both sides, each start is one sample.

The results of other benchmark clients are files: a line of SGLang's bench_serving,
the JSON of vllm bench serve --save-result, or aiperf's export; a run may be the
other side. Without single requests no change is judged.

--fail-on accepts, for runs, ttft, tpot, e2e, longest_gap (each .median or .p99),
throughput, request_throughput, goodput and failed; for captures, step, compute,
exposed_comm, wait, idle, host_gap, time_per_step and throughput, also for one
kind of steps: decode.step. A change counts if its whole confidence interval lies
beyond the limit. Loads of different models or data sets, and captures of
different models, get no verdict without --force.

Performance dumps of image generation (--perf-dump-path, SGLang's and ours) are
files; give several for one side as a directory or separated by commas:
  stepscope compare before.json after.json --fail-on 5%
  stepscope compare a1.json,a2.json,a3.json,a4.json dumps/
  stepscope compare base.json one.json two.json --markdown`
}

// Run compares the two sides.
func (c *compareCmd) Run(ctx context.Context, e *env) error {
	if err := c.check(); err != nil {
		return err
	}
	done, err := c.watch(e)
	if err != nil {
		return err
	}
	defer done()
	sides, err := c.dumpSides()
	switch {
	case err != nil:
		return err
	case len(sides) > 0:
		return c.compareDumps(e, sides)
	case len(c.More) > 0:
		return usagef("three or more arguments must all be performance dumps: give two")
	}
	if done, err := c.foreign(e); done || err != nil {
		return err
	}
	runA, runB, err := c.loads()
	if err != nil {
		return err
	}
	if runA != nil {
		return c.compareRuns(ctx, e, runA, runB)
	}
	result, err := c.captures(ctx, e)
	if err != nil {
		return err
	}
	if len(result.Doubts) > 0 {
		e.Incomplete()
	}
	return c.show(e, report.Plain(result), func(o report.Options) *report.Comparison { return c.compared(result, o) }, result.Refused)
}

// check validates the flags.
func (c *compareCmd) check() (err error) {
	if c.limits, err = gate.Parse(c.FailOn); err != nil {
		return usagef("--fail-on %v", err)
	}
	if len(c.Sources) > 2 {
		return usagef("--source-from: give one window, or one for A and one for B")
	}
	if c.HTML != "" {
		c.HTML, err = target(c.HTML, "", "compare.html")
	}
	return err
}

// noCaptures rejects flags that apply only to captures.
func (c *compareCmd) noCaptures(these string) error {
	for _, f := range []struct {
		on   bool
		name string
	}{{c.Ranks != "", "--ranks"}, {len(c.ProfileID) > 0, "--profile-id"}, {len(c.Sources) > 0, "--source-from"}, {c.Rules != "", "--rules"}} {
		if f.on {
			return usagef("%s is for captures, and these are %s", f.name, these)
		}
	}
	return nil
}

// captures compares the captures that c.A and c.B name.
func (c *compareCmd) captures(ctx context.Context, e *env) (*result.Comparison, error) {
	if err := c.limits.Check(explain.LimitNames()); err != nil {
		return nil, usagef("--fail-on %v", err)
	}
	opt := explain.CompareOptions{Limits: c.limits, Force: c.Force}
	given, err := c.light()
	if err != nil {
		return nil, err
	}
	if c.Ranks != "" {
		a, b, ok := strings.Cut(c.Ranks, ",")
		if !ok || a == "" || b == "" {
			return nil, usagef("--ranks %s: give two labels, as in TP00,TP02", c.Ranks)
		}
		opt.OnlyA, opt.OnlyB = rankLabel(a), rankLabel(b)
	}
	sideA, sideB, err := c.sides()
	if err != nil {
		return nil, err
	}
	inA, err := c.of(sideA)
	if err != nil {
		return nil, err
	}
	if opt.Rules, err = c.rules(); err != nil {
		return nil, err
	}
	a, err := inA.Open(ctx, e.Console, "read A")
	if err != nil {
		return nil, err
	}
	b := a
	if len(sideB.Paths) > 0 {
		inB := *inA
		inB.Paths, inB.ID = sideB.Paths, sideB.ProfileID
		if b, err = inB.Open(ctx, e.Console, "read B"); err != nil {
			return nil, err
		}
	}
	for i, beside := range []light.Options{a.Light, b.Light} {
		side := &opt.Sides[i]
		side.Light = given.Or(beside)
		if len(c.Sources) == 0 {
			continue
		}
		side.SourcesFromName = "--source-from " + c.Sources[min(i, len(c.Sources)-1)]
		if side.SourcesFrom, err = c.source(ctx, e, c.Sources[min(i, len(c.Sources)-1)], opt.Rules); err != nil {
			return nil, err
		}
	}
	opt.IDA, opt.IDB = a.Set.ID, b.Set.ID
	compared, err := explain.Compare(a.Traces, b.Traces, opt)
	if err == nil && compared.Judged != result.JudgedAll {
		e.Incomplete()
	}
	return compared, err
}

// source reads a window for --source-from.
func (c *compareCmd) source(ctx context.Context, e *env, path string, rules *kernel.Rules) (*explain.Window, error) {
	in, err := inputFlags{Paths: []string{path}}.input()
	if err != nil {
		return nil, err
	}
	in.Lean, in.Rules = true, rules
	from, err := in.Open(ctx, e.Console, "source")
	if err != nil {
		return nil, fmt.Errorf("--source-from: %w", err)
	}
	return from.Prepare(rules), nil
}

// tables returns the options for tables on stdout.
func (c *compareCmd) tables(e *env) report.Options {
	o := c.displayFlags.tables(e)
	o.Full = c.Full
	return o
}

// compared returns a comparison of captures.
func (c *compareCmd) compared(r *result.Comparison, o report.Options) *report.Comparison {
	if c.Brief {
		return brief.Compared(r)
	}
	return report.Compared(r, o)
}

// show writes a comparison in the requested form. view returns the comparison with the tables that the options request.
// asJSON is the JSON form of the comparison. The returned error, and so the exit status, depends on --fail-on.
func (c *compareCmd) show(e *env, asJSON any, view func(report.Options) *report.Comparison, refused bool) (err error) {
	o := c.tables(e)
	v := view(o)
	o.Full = true
	whole := view(o) // the page contains all tables, since it can be searched and folded
	switch {
	case c.take != nil:
		err = c.take(whole)
	case c.HTML == "-":
		err = whole.HTML(e.data())
	case c.Brief:
		err = c.answer(e, brief.Comparison(v, c.args(), c.MaxBytes), c.JSON)
	case c.JSON:
		err = e.printJSON(asJSON)
	case c.Markdown:
		err = whole.Markdown(e.stdout)
	default:
		err = v.Text(e.stdout, c.tables(e))
	}
	if err == nil && c.HTML != "" && c.HTML != "-" {
		if err = atomicfile.Write(c.HTML, whole.HTML); err != nil {
			return atomicfile.Named(c.HTML, err)
		}
		e.Warn("page written: %s", c.HTML)
	}
	switch {
	case err != nil:
		return err
	case refused && len(c.limits) > 0:
		return fmt.Errorf("--fail-on %s: not judged, see the verdict (--force judges anyway)", c.limits)
	case v.Failed():
		return errRegression
	case v.Undecided():
		e.status = exitIncomplete
	}
	return nil
}

// rankLabel converts common spellings of a rank, such as tp2, to the label that reports use, such as TP02.
func rankLabel(s string) string {
	s = strings.TrimSpace(s)
	if r, ok := trace.ParseRank(strings.ToUpper(s)); ok {
		return r.String()
	}
	return s
}

// sides returns the inputs of A and B. If B is the same as A, the input of B has no paths.
func (c *compareCmd) sides() (a, b inputFlags, err error) {
	a = inputFlags{Paths: []string{c.A}}
	if c.B != "" {
		b.Paths = []string{c.B}
	}
	switch len(c.ProfileID) {
	case 0:
	case 1:
		a.ProfileID, b.ProfileID = c.ProfileID[0], c.ProfileID[0]
	case 2:
		a.ProfileID, b.ProfileID = c.ProfileID[0], c.ProfileID[1]
		if c.B == "" {
			b.Paths = a.Paths
		}
	default:
		return a, b, usagef("--profile-id: give one, or one for A and one for B")
	}
	if len(b.Paths) == 0 && c.Ranks == "" {
		return a, b, usagef("nothing to compare with: give a second capture, or two ranks of this one with --ranks")
	}
	return a, b, nil
}
