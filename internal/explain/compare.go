package explain

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/tables"
	"github.com/stepscope/stepscope/trace"
)

var errNoGPU = errors.New("nothing to compare: the traces hold no GPU work (was the window recorded with GPU activities, and was there traffic?)")

// CompareOptions steer Compare.
type CompareOptions struct {
	IDA, IDB string
	// FailOn is the slowdown above which a row is a regression; 0: none is.
	FailOn float64
	// Only, if set, takes these ranks alone (labels), of A and of B.
	OnlyA, OnlyB string
	Rules        *kernel.Rules
	Force        bool // compare traces that cannot be one capture, too
}

// Compare sets the capture b against a. Steps are matched by kind, mode and
// batch size, kernels also by name and grid.
func Compare(a, b []*trace.Trace, opt CompareOptions) (*result.Comparison, error) {
	ha, err := sampleOf(a, opt.IDA, opt.OnlyA, opt)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", opt.IDA, err)
	}
	hb, err := sampleOf(b, opt.IDB, opt.OnlyB, opt)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", opt.IDB, err)
	}
	c := tables.Compare(ha, hb, opt.FailOn, opt.OnlyA != "" && opt.OnlyB != "" && opt.IDA == opt.IDB)
	c.Doubts = slices.Concat(ha.Doubts, hb.Doubts)
	result.NoNil(c)
	return c, nil
}

// sampleOf takes the samples of one side.
func sampleOf(traces []*trace.Trace, id, only string, opt CompareOptions) (*tables.Sample, error) {
	w := Prepare(traces, opt.Rules)
	marks := prep.FindMarkers(w.ranks)
	a := match.Align(w.ranks, w.names, marks)
	if a.HostOnly {
		return nil, errNoGPU
	}
	doubts := w.doubts(a)
	if len(doubts) > 0 && !opt.Force {
		return nil, &NotOneError{doubts[0]}
	}
	_, steps, _ := tables.Times(a)
	s, err := tables.NewSample(a, steps, id, only)
	for _, why := range doubts {
		if err == nil {
			s.Doubts = append(s.Doubts, id+": "+why)
		}
	}
	return s, err
}
