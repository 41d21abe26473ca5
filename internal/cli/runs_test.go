package cli

import (
	"github.com/stepscope/stepscope/internal/runs"
)

func init() { commands["running"] = running }

// running DIR TAG begins a run, which is written until the end of the page.
func running(ts *script, _ bool, args []string) {
	run, err := runs.Create(ts.MkAbs(args[0]), runs.About{Kind: "bench", Tool: "bench serving", Tags: args[1:]}, 0)
	ts.Check(err)
	ts.Defer(func() { _ = run.Finish(runs.Complete, nil) })
}
