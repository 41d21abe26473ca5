package system

import (
	"context"

	"github.com/stepscope/stepscope/internal/explain/brief"
	"github.com/stepscope/stepscope/internal/explain/window"
	"github.com/stepscope/stepscope/internal/runs"
)

// Explain explains the capture or run that ref names, and prints nothing. root is the directory of the runs. run is nil
// if ref is a path. For a run with a load, the result has the causes of slow requests.
func (o *Options) Explain(ctx context.Context, root, ref string) (found *brief.Capture, run *runs.Run, err error) {
	run, servers, paths, err := Find(root, ref)
	if err != nil {
		return nil, nil, err
	}
	to := *o
	to.Form, to.HTML, to.Take = JSON, "", func(c *brief.Capture) error {
		found = c
		return nil
	}
	load := run
	if !run.Loaded() {
		load = nil
	}
	if len(servers) <= 1 {
		err = to.Window(ctx, &window.Input{Paths: paths, Read: o.Read}, load, servers)
	} else {
		err = to.Servers(ctx, servers, load)
	}
	return found, run, err
}
