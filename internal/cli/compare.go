package cli

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/trace"
)

// compareCmd is "compare".
type compareCmd struct {
	A         string   `arg:"" help:"The base: a directory of rank files, one file, a benchmark run (see runs list), or performance dumps."`
	B         string   `arg:"" optional:"" help:"What is compared with it; leave it out to compare two ranks or two windows of A."`
	More      []string `arg:"" optional:"" name:"c" help:"More performance dumps, compared with A too."`
	Ranks     string   `placeholder:"TP00,TP02" help:"Compare two ranks: of one capture, or the first of A with the second of B."`
	FailOn    string   `name:"fail-on" placeholder:"5%" help:"Exit with status 4 if something got slower by more than this."`
	ProfileID []string `name:"profile-id" placeholder:"ID[,ID]" help:"Which window, when there are several (default: the newest). Two are those of A and of B."`
	JSON      bool     `name:"json" xor:"form" help:"Print as JSON."`
	Markdown  bool     `name:"markdown" xor:"form" help:"Print as Markdown."`
	stretch
	shown
	bounded
	runPlace
}

// Help is the end of the verb's help text.
func (c *compareCmd) Help() string {
	return `Examples:
  stepscope compare before/ after/
  stepscope compare before/ after/ --fail-on 5%
  stepscope compare capture/ --ranks TP00,TP01
  stepscope compare profiles/ --profile-id 1763750000,1763760000

Two benchmark runs are named by their ids, starts of these, "last", or their
directories: compare a1b2 last --fail-on 10%.

Performance dumps of image generation (--perf-dump-path, SGLang's and ours) are
files; several of one side stand with commas between them or in a directory:
  stepscope compare before.json after.json --fail-on 5%
  stepscope compare a1.json,a2.json,a3.json,a4.json dumps/
  stepscope compare base.json one.json two.json --markdown`
}

// Run compares.
func (c *compareCmd) Run(ctx context.Context, e *env) error {
	limit, err := parseShare(c.FailOn)
	if err != nil {
		return usagef("--fail-on %s: %v", c.FailOn, err)
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
		return c.compareDumps(e, sides, limit)
	case len(c.More) > 0:
		return usagef("three or more are compared of performance dumps alone: give two")
	}
	runA, runB, err := c.loads()
	if err != nil {
		return err
	}
	if runA != nil {
		return c.compareRuns(e, runA, runB, limit)
	}
	opt := explain.CompareOptions{FailOn: limit}
	if c.Ranks != "" {
		a, b, ok := strings.Cut(c.Ranks, ",")
		if !ok || a == "" || b == "" {
			return usagef("--ranks %s: give two labels, as in TP00,TP02", c.Ranks)
		}
		opt.OnlyA, opt.OnlyB = rankLabel(a), rankLabel(b)
	}
	sideA, sideB, err := c.sides()
	if err != nil {
		return err
	}
	inA, err := c.of(sideA)
	if err != nil {
		return err
	}
	if opt.Rules, err = c.rules(); err != nil {
		return err
	}
	opt.Force = c.Force
	a, err := inA.Open(ctx, e.Console, "read A")
	if err != nil {
		return err
	}
	b := a
	if len(sideB.Paths) > 0 {
		inB := *inA
		inB.Paths, inB.ID = sideB.Paths, sideB.ProfileID
		if b, err = inB.Open(ctx, e.Console, "read B"); err != nil {
			return err
		}
	}
	opt.IDA, opt.IDB = a.Set.ID, b.Set.ID
	result, err := explain.Compare(a.Traces, b.Traces, opt)
	if err != nil {
		return err
	}
	if len(result.Doubts) > 0 {
		e.Incomplete()
	}
	o := c.tables(e)
	switch {
	case c.JSON:
		err = e.printJSON(report.Plain(result))
	case c.Markdown:
		err = report.CompareMarkdown(e.stdout, result, o)
	default:
		err = report.CompareText(e.stdout, result, o)
	}
	if err == nil && len(result.Regressions) > 0 {
		return errRegression
	}
	return err
}

// rankLabel is a rank as reports name it, TP02, of what people write: tp2.
func rankLabel(s string) string {
	s = strings.TrimSpace(s)
	if r, ok := trace.ParseRank(strings.ToUpper(s)); ok {
		return r.String()
	}
	return s
}

// sides tells where A and B are read from; B has no paths when it is A.
func (c *compareCmd) sides() (a, b inputs, err error) {
	a = inputs{Paths: []string{c.A}}
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
		return a, b, usagef("--profile-id: give one, or that of A and that of B")
	}
	if len(b.Paths) == 0 && c.Ranks == "" {
		return a, b, usagef("compare with what? give a second capture, or two ranks of this one with --ranks")
	}
	return a, b, nil
}

// parseShare reads "5%" or "0.05" as 0.05; "" is 0.
func parseShare(s string) (float64, error) {
	if s == "" {
		return 0, nil
	}
	number, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil {
		return 0, errors.New("give a share such as 5% or 0.05")
	}
	switch {
	case percent:
		f /= 100
	case f >= 1: // 5 is no 500 %: such a gate would never close
		return 0, errors.New("give a share such as 5% or 0.05: is " + number + "% meant?")
	}
	if !(f > 0 && f < 100) {
		return 0, errors.New("give a share above 0")
	}
	return f, nil
}
