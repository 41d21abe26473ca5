package cli

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/analysis"
	"github.com/stepscope/stepscope/internal/kernel"
	"github.com/stepscope/stepscope/internal/report"
)

// compareCmd is "compare".
type compareCmd struct {
	A        string `arg:"" help:"The base: a directory of rank files, or one file."`
	B        string `arg:"" optional:"" help:"What is set against it. Left out with --ranks."`
	Ranks    string `placeholder:"TP00,TP02" help:"Compare two ranks: of one capture, or the first of A with the second of B."`
	FailOn   string `name:"fail-on" placeholder:"5%" help:"Exit with status 4 if something got slower by more than this."`
	JSON     bool   `name:"json" xor:"form" help:"Print the comparison as JSON."`
	Markdown bool   `name:"markdown" xor:"form" help:"Print the comparison as Markdown."`
	Rules    string `placeholder:"FILE" help:"Kernel classes of your own, tried first: lines of CLASS REGEXP."`
	Top      int    `default:"20" help:"Rows a table."`
	All      bool   `help:"All rows."`
}

// Help is the end of the verb's help text.
func (c *compareCmd) Help() string {
	return `Examples:
  stepscope compare before/ after/
  stepscope compare before/ after/ --fail-on 5%
  stepscope compare capture/ --ranks TP00,TP02`
}

// Run compares.
func (c *compareCmd) Run(ctx context.Context, e *env) error {
	limit, err := parseShare(c.FailOn)
	if err != nil {
		return usagef("--fail-on %s: %v", c.FailOn, err)
	}
	if c.Top < 1 {
		return usagef("--top %d: give 1 or more", c.Top)
	}
	opt := analysis.CompareOptions{FailOn: limit}
	if c.Ranks != "" {
		a, b, ok := strings.Cut(c.Ranks, ",")
		if !ok || a == "" || b == "" {
			return usagef("--ranks %s: give two labels, as in TP00,TP02", c.Ranks)
		}
		opt.OnlyA, opt.OnlyB = a, b
	} else if c.B == "" {
		return usagef("compare with what? give a second capture, or two ranks of this one with --ranks")
	}
	if c.Rules != "" {
		f, err := os.Open(c.Rules)
		if err != nil {
			return err
		}
		opt.Rules, err = kernel.ParseRules(f)
		f.Close()
		if err != nil {
			return err
		}
	}
	a, err := e.readCapture(ctx, []string{c.A}, "", "read A")
	if err != nil {
		return err
	}
	b := a
	if c.B != "" {
		if b, err = e.readCapture(ctx, []string{c.B}, "", "read B"); err != nil {
			return err
		}
	}
	opt.IDA, opt.IDB = a.id, b.id
	result, err := analysis.Compare(a.traces, b.traces, opt)
	if err != nil {
		return err
	}
	o := report.Options{Top: c.Top, All: c.All}
	switch {
	case c.JSON:
		err = report.CompareJSON(e.stdout, result)
	case c.Markdown:
		err = report.CompareMarkdown(e.stdout, result, o)
	default:
		o.Width, o.Color = e.screen()
		err = report.CompareText(e.stdout, result, o)
	}
	if err == nil && len(result.Regressions) > 0 {
		return errRegression
	}
	return err
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
	if percent {
		f /= 100
	}
	if !(f > 0 && f < 100) {
		return 0, errors.New("give a share above 0")
	}
	return f, nil
}
