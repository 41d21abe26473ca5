package explain

import (
	"errors"
	"fmt"

	"github.com/stepscope/stepscope/internal/base/gate"
	"github.com/stepscope/stepscope/internal/explain/answer"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/light"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/tables"
	"github.com/stepscope/stepscope/trace"
)

var errNoGPU = errors.New("nothing to compare: the traces hold no GPU work (was the window recorded with GPU activities, and was there traffic?)")

// CompareOptions configures Compare.
type CompareOptions struct {
	IDA, IDB string
	// Limits are the thresholds above which a change is a regression. Without limits, no change is a regression.
	Limits gate.Limits
	// OnlyA and OnlyB, if set, restrict A and B to the rank with that label.
	OnlyA, OnlyB string
	Rules        *kernel.Rules
	Light        light.Options // of both captures
	Force        bool          // compare even if traces cannot be one capture, or workloads differ
}

// LimitNames returns the names of the figures for which there may be limits.
func LimitNames() []string { return tables.LimitNames() }

// Compare compares capture b with capture a, the base. It matches steps by kind, mode and batch size. Kernels are
// matched by name and grid within such steps. The findings of both captures explain the changes.
func Compare(a, b []*trace.Trace, opt CompareOptions) (*result.Comparison, error) {
	wa, ra, err := explained(a, opt.IDA, opt)
	if err != nil {
		return nil, err
	}
	wb, rb := wa, ra
	ranks := len(a) > 0 && len(b) > 0 && a[0] == b[0] // both are ranks of one capture
	if !ranks {
		if wb, rb, err = explained(b, opt.IDB, opt); err != nil {
			return nil, err
		}
	}
	ha, err := tables.NewSample(wa.aligned, ra.Steps, opt.IDA, opt.OnlyA)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", opt.IDA, err)
	}
	hb, err := tables.NewSample(wb.aligned, rb.Steps, opt.IDB, opt.OnlyB)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", opt.IDB, err)
	}
	ha.Lacks(ra)
	hb.Lacks(rb)
	c := tables.Compare(ha, hb, opt.Limits, ranks && opt.OnlyA != opt.OnlyB, opt.Force)
	for i, rep := range []*result.Report{ra, rb} {
		for _, why := range rep.Source.Doubts {
			c.Doubts = append(c.Doubts, []string{opt.IDA, opt.IDB}[i]+": "+why)
		}
	}
	if opt.Light.Model != nil {
		c.Light, c.LightWhy = light.Diff(&ra.Light, &rb.Light)
	}
	answer.Causes(c, ra, rb, opt.OnlyA, opt.OnlyB)
	for i := range c.Causes {
		tables.CauseKernels(ha, hb, &c.Causes[i])
	}
	answer.Compared(c)
	result.NoNil(c)
	return c, nil
}

// explained analyses one capture and returns its window and report.
func explained(traces []*trace.Trace, id string, opt CompareOptions) (*Window, *result.Report, error) {
	w := Prepare(traces, opt.Rules)
	rep, err := w.Analyze(Options{ID: id, Rules: opt.Rules, Force: opt.Force, Light: opt.Light})
	if errors.Is(err, ErrNothing) || err == nil && w.aligned.HostOnly {
		err = errNoGPU
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", id, err)
	}
	return w, rep, nil
}
