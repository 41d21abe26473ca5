package cli

import (
	"context"
	"encoding/json"

	"github.com/stepscope/stepscope/internal/merge"
	"github.com/stepscope/stepscope/internal/progress"
	"github.com/stepscope/stepscope/internal/tracecheck"
)

// checkCmd is "trace check".
type checkCmd struct {
	Paths     []string `arg:"" name:"path" help:"A directory of rank files, or the files."`
	ProfileID string   `name:"profile-id" placeholder:"ID" help:"Which window, when there are several (default: the newest)."`
	JSON      bool     `name:"json" help:"Print as JSON."`
}

// Run checks.
func (c *checkCmd) Run(ctx context.Context, e *env) error {
	set, missing, err := e.findSet(c.Paths, c.ProfileID)
	for _, p := range missing {
		e.warn("%s: no such file", p)
	}
	if err != nil {
		return err
	}
	var meter merge.Meter
	if e.terminal {
		bar := progress.New(e.stderr, "check", inputBytes(set))
		defer bar.Close()
		meter = bar
	}
	rep, err := tracecheck.Check(ctx, set, missing, meter)
	if err != nil {
		return err
	}
	if rep.Incomplete() {
		e.incomplete()
	}
	if c.JSON {
		enc := json.NewEncoder(e.stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(struct {
			Format int `json:"format"`
			*tracecheck.Report
		}{1, rep})
	}
	return rep.Print(e.stdout)
}
