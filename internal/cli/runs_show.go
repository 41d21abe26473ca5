package cli

import (
	"github.com/stepscope/stepscope/internal/runs"
)

type runsShowCmd struct {
	Ref  string `arg:"" name:"run" help:"Id, its beginning or last part, \"last\", or the path of a run directory."`
	JSON bool   `name:"json" help:"Print as JSON."`
	runPlace
}

// Help returns the end of the verb's help text.
func (c *runsShowCmd) Help() string {
	return `Exits with 3 when the run is broken or files of it are missing.

Examples:
  stepscope runs show last
  stepscope runs show a1b2 --json`
}

// Run shows the run.
func (c *runsShowCmd) Run(e *env) error {
	root, err := c.root()
	if err != nil {
		return err
	}
	run, err := runs.Open(root, c.Ref)
	if err != nil {
		return notFound(err)
	}
	shown := run.Show(e.Console)
	if c.JSON {
		return e.printJSON(shown)
	}
	return shown.Print(e.stdout)
}
