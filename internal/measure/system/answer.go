package system

import (
	"context"
	"errors"

	"github.com/stepscope/stepscope/internal/runs"
)

// Explain explains the capture or run that ref names and prints nothing. root is the directory of the runs. For a run
// with a load, the result has the causes of slow requests. Options on output are ignored. The reports hold facts; see
// report.Words.
func (o *Options) Explain(ctx context.Context, root, ref string) (*Explained, *runs.Run, error) {
	run, servers, paths, err := Find(root, ref)
	if err != nil {
		return nil, run, err
	}
	if len(servers) == 0 {
		servers = []Server{{Paths: paths}}
	}
	quiet := *o
	quiet.Form, quiet.HTML = JSON, ""
	all, err := quiet.each(ctx, servers, run.Loaded())
	if err != nil {
		return nil, run, err
	}
	out, explained := &Explained{}, false
	for _, x := range all {
		out.Names = append(out.Names, x.title())
		out.Reports = append(out.Reports, x.report)
		explained = explained || x.report != nil
	}
	if !explained {
		return nil, run, errors.New("no server's traces could be explained")
	}
	if run.Loaded() {
		out.Requests = quiet.requests(run, all)
	}
	return out, run, nil
}
