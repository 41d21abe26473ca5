package ingest

import (
	"context"

	"github.com/stepscope/stepscope/internal/ingest/nsysdb"
	"github.com/stepscope/stepscope/internal/traceset"
	"github.com/stepscope/stepscope/trace"
)

// readNsys reads an export of Nsight Systems. Its ranks are placed by what the
// report says; where the file's name says which rank it is, that counts.
func readNsys(ctx context.Context, f traceset.File, opt Options) ([]*trace.Trace, error) {
	traces, err := nsysdb.Read(ctx, f.Path, opt.Nsys)
	for _, t := range traces {
		t.Source.Stage = f.Name.Stage
		if len(traces) == 1 && f.Named {
			t.Source.Rank = f.Name.Rank
		}
	}
	return traces, err
}
