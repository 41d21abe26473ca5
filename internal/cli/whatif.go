package cli

import (
	"context"

	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/worth"
)

// whatifCmd is "whatif".
type whatifCmd struct {
	inputFlags
	rangeFlags
	Set   []string `required:"" sep:"none" placeholder:"[RANK.]PART=FACTOR" help:"A change: multiply the times of a part (host, device, work, class:NAME, kernel:TEXT, collective, gap) by FACTOR, 0 to remove it; peers: set it to the median of the other ranks, the only value for work. Several are applied in order."`
	JSON  bool     `name:"json" help:"Print as JSON."`
	Rules string   `placeholder:"FILE" help:"Your own kernel classes, tried first: lines of CLASS REGEXP."`
	Force bool     `help:"Continue even if the files cannot be ranks of one capture (exit status 3)."`
}

// Help returns the end of the verb's help text.
func (c *whatifCmd) Help() string {
	return `Examples:
  stepscope whatif capture/ --set TP02.host=0
  stepscope whatif capture/ --set class:attention=0.8 --set collective=0.5
  stepscope whatif capture/ --set TP02.work=peers
  stepscope whatif capture/ --set TP02.device=peers --json

The steps are replayed from the duration of each event and its dependencies,
unchanged and with the changes. Ranks have the names that analyze gives them.
docs/metrics.md describes what is inferred, and when there is no result.`
}

// Run replays a capture.
func (c *whatifCmd) Run(ctx context.Context, e *env) error {
	var settings []worth.Setting
	for _, text := range c.Set {
		s, err := worth.ParseSetting(text)
		if err != nil {
			return usagef("--set %v", err)
		}
		settings = append(settings, s)
	}
	rules, err := (&displayFlags{Rules: c.Rules}).rules()
	if err != nil {
		return err
	}
	in, err := c.of(c.inputFlags)
	if err != nil {
		return err
	}
	capture, err := in.Open(ctx, e.Console, "whatif")
	if err != nil {
		return err
	}
	opt := capture.Options()
	opt.Force = c.Force
	r, err := capture.Prepare(rules).WhatIf(opt, settings)
	if err != nil {
		return err
	}
	if len(r.Source.Doubts) > 0 {
		e.Incomplete()
	}
	if c.JSON {
		return report.WhatIfJSON(e.stdout, r)
	}
	return report.WhatIf(e.stdout, r, e.tables())
}
