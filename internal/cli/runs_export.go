package cli

import (
	"io"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

type runsExportCmd struct {
	Ref string `arg:"" name:"run" help:"Id, its beginning or last part, \"last\", or the path of a run directory."`
	Out string `arg:"" optional:"" name:"out" help:"File to write, or - for stdout (default: ID.tar)."`
	runPlace
}

// Help returns the end of the verb's help text.
func (c *runsExportCmd) Help() string {
	return `The tar file contains one directory, which every verb reads as a run. A container without a shell and without
tar gives its runs in this way. Exits with 3 when files of the run are missing.

Examples:
  stepscope runs export last
  stepscope runs export a1b2 - >run.tar
  kubectl exec POD -c stepscope -- /usr/bin/stepscope runs export last - | tar -x`
}

// Run packs the run.
func (c *runsExportCmd) Run(e *env) error {
	run, err := c.open(c.Ref)
	if err != nil {
		return err
	}
	out, err := target(c.Out, "", run.ID()+".tar")
	if err != nil {
		return err
	}
	write := func(w io.Writer) error { return run.Export(w, e.Console) }
	if out == "-" {
		return write(e.data())
	}
	if err := atomicfile.Write(out, write); err != nil {
		return atomicfile.Named(out, err)
	}
	e.Told("run %s written: %s", run.ID(), out)
	return nil
}
