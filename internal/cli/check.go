package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/tracefile/check"
	"github.com/stepscope/stepscope/internal/tracefile/set"
)

// checkCmd is "trace check".
type checkCmd struct {
	inputFlags
	JSON bool `name:"json" help:"Print as JSON."`
}

// Help returns the end of the verb's help text.
func (c *checkCmd) Help() string {
	return `Exits with 3 when a rank is missing or a file is broken, with 1 when no file holds a trace.

If a server was killed while it wrote traces to the directory, they get their
final names. They end early.

Examples:
  stepscope trace check /tmp/profile
  stepscope trace check /tmp/profile --json > check.json`
}

// Run checks the files.
func (c *checkCmd) Run(ctx context.Context, e *env) error {
	for _, dir := range c.Paths { // paths that are not readable directories are reported below
		set.Salvage(dir, func(line string) { e.Warn("%s", line) })
	}
	missing, text, err := e.text(ctx, c.inputFlags, true)
	if err != nil {
		return err
	}
	defer text.Close()
	meter := e.Meter("check", text.Bytes())
	rep, err := check.Check(ctx, text.Set, missing, meter)
	meter.Close()
	if err != nil {
		return err
	}
	for i := range rep.Files {
		rep.Files[i].Path = text.Told(rep.Files[i].Path)
	}
	for i := range rep.Notes {
		n := &rep.Notes[i]
		n.Source = text.Told(n.Source)
		for j := range n.Names {
			n.Names[j] = text.Told(n.Names[j])
		}
	}
	if rep.Incomplete() {
		e.Incomplete()
	}
	if c.JSON {
		err = e.printJSON(rep)
	} else {
		err = rep.Print(e.stdout)
	}
	if err == nil && !slices.ContainsFunc(rep.Files, func(f check.File) bool { return f.Events > 0 }) {
		return fmt.Errorf("%s: there are no events to read", strings.Join(c.Paths, ", "))
	}
	return err
}
