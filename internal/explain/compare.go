package explain

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/internal/base/gate"
	"github.com/stepscope/stepscope/internal/explain/answer"
	"github.com/stepscope/stepscope/internal/explain/fact"
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
	Sides        [2]SideOptions // of A and B
	Force        bool           // compare even if traces cannot be one capture, or workloads differ
}

// SideOptions is what is known about one of the captures beside its traces.
type SideOptions struct {
	Light light.Options
	// SourcesFrom is as in Options; nil: none.
	SourcesFrom     *Window
	SourcesFromName string
}

// LimitNames returns the names of the figures for which there may be limits.
func LimitNames() []string { return tables.LimitNames() }

// Compare compares capture b with capture a, the base. It matches steps by kind, mode and batch size. Kernels are
// matched by name and grid within such steps. The findings of both captures explain the changes.
func Compare(a, b []*trace.Trace, opt CompareOptions) (*result.Comparison, error) {
	wa, ra, err := explained(a, opt.IDA, &opt.Sides[0], &opt)
	if err != nil {
		return nil, err
	}
	wb, rb := wa, ra
	ranks := len(a) > 0 && len(b) > 0 && a[0] == b[0] // both are ranks of one capture
	if !ranks {
		if wb, rb, err = explained(b, opt.IDB, &opt.Sides[1], &opt); err != nil {
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
	byRole(c, [2]*Window{wa, wb}, [2]*result.Report{ra, rb}, &opt)
	answer.Causes(c, ra, rb, opt.OnlyA, opt.OnlyB)
	for i := range c.Causes {
		tables.CauseKernels(ha, hb, &c.Causes[i])
	}
	answer.Compared(c)
	result.NoNil(c)
	return c, nil
}

// byRole compares the captures by the roles of their kernels, if the model of one of them is known.
func byRole(c *result.Comparison, windows [2]*Window, reports [2]*result.Report, opt *CompareOptions) {
	known := [2]light.Options{opt.Sides[0].Light, opt.Sides[1].Light}
	var sides [2]*light.Side
	for i, w := range windows {
		own := known[i]
		borrowed := own.Model == nil && own.Why == ""
		if borrowed {
			own.Model = known[1-i].Model
		}
		sides[i] = light.SideOf([]string{"A", "B"}[i], w.aligned, reports[i].Steps, own, []string{opt.OnlyA, opt.OnlyB}[i], borrowed)
	}
	c.A.Engine, c.B.Engine = sides[0].Engine, sides[1].Engine
	c.LateA, c.LateB = lateOf("A", reports[0], opt.OnlyA), lateOf("B", reports[1], opt.OnlyB)
	if known[0].Model == nil && known[1].Model == nil && known[0].Why == "" && known[1].Why == "" {
		if c.Refused && !c.OfRanks {
			c.Notes = append(c.Notes, fact.Of("light_hint"))
		}
		return
	}
	rows, why, notes := light.Diff(sides[0], sides[1])
	for i := range rows {
		result.NoNil(&rows[i])
	}
	c.Light, c.Notes = rows, append(c.Notes, notes...)
	if len(why) > 0 {
		c.LightWhy = fact.Of("light_apart", "why", why)
	}
}

// lateOf describes the first late rank of a side whose lateness makes steps longer. The comparison by role attributes this
// time to waits and to hosts, not to the rank. only restricts the side to one rank; "": all.
func lateOf(side string, r *result.Report, only string) fact.Fact {
	i := slices.IndexFunc(r.Findings, func(f result.Finding) bool {
		return f.Kind == result.Straggler && f.Severity != "low" && f.Severity != "info" && f.Worth.Sure() && f.Worth.Without < f.Worth.Step
	})
	if i < 0 || only != "" {
		return fact.Fact{}
	}
	f := &r.Findings[i]
	return fact.Of("role_late", "side", side, "ranks", f.Names, "kind", f.Worth.Kind, "by", f.Worth.Step-f.Worth.Without)
}

// explained analyses one capture and returns its window and report.
func explained(traces []*trace.Trace, id string, side *SideOptions, opt *CompareOptions) (*Window, *result.Report, error) {
	w := Prepare(traces, opt.Rules)
	rep, err := w.Analyze(Options{ID: id, Rules: opt.Rules, Force: opt.Force, SourcesFrom: side.SourcesFrom, SourcesFromName: side.SourcesFromName})
	if errors.Is(err, ErrNothing) || err == nil && w.aligned.HostOnly {
		err = errNoGPU
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", id, err)
	}
	return w, rep, nil
}
