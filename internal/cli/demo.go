package cli

import (
	"context"
	"errors"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/reference/demo"
	"github.com/stepscope/stepscope/internal/runs"
)

// demoCmd is "demo", which shows stepscope's main task with the embedded engine.
type demoCmd struct {
	SlowRank int    `name:"slow-rank" default:"-1" help:"Make this rank late (0 to 3), to see stepscope find it."`
	Cause    string `name:"cause" placeholder:"CAUSE" default:"" enum:",work,device,host" needs:"slow-rank!=-1: the late rank" help:"Cause of the delay: work (more kernels, the default), device (slower kernels), host (late launches)."`
	memoryFlags
	storeFlags
}

// Help returns the end of the verb's help text.
func (c *demoCmd) Help() string {
	return `Serves a tiny model on four ranks (TP 2, DP 2) of this machine's cores, loads it, records ten forward steps on all ranks during the load, and explains them. This usually takes ten to thirty seconds.

Examples:
  stepscope demo
  stepscope demo --slow-rank 1
  stepscope demo --slow-rank 2 --cause host`
}

// Run demonstrates stepscope.
func (c *demoCmd) Run(ctx context.Context, e *env) error {
	if c.SlowRank < -1 || c.SlowRank > 3 {
		return usagef("--slow-rank %d: there are ranks 0 to 3", c.SlowRank)
	}
	if c.NoStore { // the demo needs a directory, since it reads the stored results
		dir, remove, err := atomicfile.TempDir("stepscope-demo-")
		if err != nil {
			return err
		}
		defer remove()
		c.RunDir = dir
	}
	var run *runs.Run
	watch, err := c.watcher(e, func() { run.Finish(runs.Failed, errors.New("it exceeded its memory limit")) })
	if err != nil {
		return err
	}
	store := storeFlags{runPlace: c.runPlace}
	if run, err = store.create(e, runs.About{Kind: "demo", Tool: "demo"}); err != nil {
		return err
	}
	d := demo.Demo{SlowRank: c.SlowRank, Cause: c.Cause, Run: run, Gone: c.NoStore, Program: howCalled(), Watch: watch, Version: release(), Out: e.stdout, Say: e.Console, Show: e.tables()}
	err = d.Do(ctx)
	run.Finish(runs.Failed, err) // no effect if the run has already finished
	return err
}
