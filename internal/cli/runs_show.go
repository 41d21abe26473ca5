package cli

import (
	"cmp"
	"encoding/json"
	"io"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/atomicfile"
	"github.com/stepscope/stepscope/internal/capture/gpus"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/trace"
)

type runsShowCmd struct {
	Ref  string `arg:"" name:"run" help:"Id, its beginning or last part, \"last\", or the path of a run directory."`
	JSON bool   `name:"json" help:"Print as JSON."`
	HTML string `name:"html" placeholder:"FILE" help:"Also write the page of a load, as bench serving --html does."`
	runPlace
}

// Help returns the end of the verb's help text.
func (c *runsShowCmd) Help() string {
	return `Exits with 3 when the run is broken or files of it are missing.

Examples:
  stepscope runs show last
  stepscope runs show a1b2 --json
  stepscope runs show last --html bench.html`
}

// Run shows the run.
func (c *runsShowCmd) Run(e *env) error {
	run, err := c.open(c.Ref)
	if err != nil {
		return err
	}
	if c.HTML != "" {
		if err := c.page(e, run); err != nil || c.HTML == "-" {
			return err
		}
	}
	shown := run.Show(e.Console)
	if c.JSON {
		return e.printJSON(shown)
	}
	return shown.Print(e.stdout)
}

// page writes the page of the run's last load.
func (c *runsShowCmd) page(e *env, run *runs.Run) error {
	if !run.Loaded() {
		return usagef("--html: run %s has no requests of a load; for its traces: stepscope analyze %[1]s --html FILE", run.ID())
	}
	out, err := target(c.HTML, "", "bench.html")
	if err != nil {
		return err
	}
	loads, err := run.Load(e.Console)
	if err != nil {
		return err
	}
	var kept []*bench.Summary // for the objectives
	if err := run.ReadJSON(runs.KindSummary, &kept); err != nil {
		return err
	}
	last := loads.Runs[len(loads.Runs)-1]
	var options bench.Options
	if n := len(kept); n > 0 && kept[n-1] != nil && kept[n-1].Goodput != nil {
		options.SLO = kept[n-1].Goodput.SLO
	}
	b := &report.Bench{Run: last.Run, Summary: bench.Summarize(last.Records, last.Run, options), Records: last.Records}
	if n := len(kept); n > 0 && kept[n-1] != nil { // figures from the metrics of the server
		b.Summary.Cache = cmp.Or(b.Summary.Cache, kept[n-1].Cache)
		b.Summary.Speculative, b.Summary.AcceptLength = kept[n-1].Speculative, cmp.Or(b.Summary.AcceptLength, kept[n-1].AcceptLength)
	}
	var used struct{ Usage []gpus.Usage }
	if text, err := atomicfile.ReadFile(run.Path(trace.GPUsFile)); err == nil && json.Unmarshal(text, &used) == nil {
		b.GPUs = gpus.Lines(used.Usage, b.Summary.OutputTokens)
	}
	write := func(w io.Writer) error { return report.BenchHTML(w, b) }
	if out == "-" {
		return write(e.data())
	}
	if err := atomicfile.Write(out, write); err != nil {
		return atomicfile.Named(out, err)
	}
	e.Told("page written: %s", out)
	return nil
}
