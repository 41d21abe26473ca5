package read

import (
	"context"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/internal/tracefile/format"
	"github.com/stepscope/stepscope/internal/tracefile/read/rocprof"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// readRocprof reads a file of rocprofv3: JSON or a database.
func readRocprof(ctx context.Context, f set.File, opt Options) (traces []*trace.Trace, err error) {
	if f.Format == format.Rocpd {
		traces, err = rocprof.ReadRocpd(ctx, f.Path)
	} else {
		var src *chromejson.Source
		if src, err = chromejson.Open(f.Path); err != nil {
			return nil, err
		}
		defer src.Close()
		traces, err = rocprof.ReadJSON(ctx, src)
	}
	opt.Meter.Add(f.Size)
	if err != nil {
		return nil, err
	}
	return fromReport(f, traces), nil
}
