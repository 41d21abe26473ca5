package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/gate"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/brief"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/window"
	"github.com/stepscope/stepscope/internal/measure/system"
	"github.com/stepscope/stepscope/internal/runs"
)

// mostBoth limits both forms of an answer together, in bytes. The envelope of the protocol, and escapes, take the rest of
// 8,000.
const mostBoth = 7600

// overview gives the results of an analysis.
func (s *Server) overview(ctx context.Context, in ofRun) (reply, error) {
	a, err := s.analyse(ctx, in.Run)
	if err != nil {
		return nil, err
	}
	found := *a.Capture
	found.Args.Input = in.Run
	if in.Server != "" {
		r, err := a.report(in.Server)
		if err != nil {
			return nil, err
		}
		found.Servers, found.Together = []brief.Server{{Name: in.Server, Report: r}}, nil
	}
	return brief.Analysis(&found, mostBoth), nil
}

type findingIn struct {
	Run string `json:"run" jsonschema:"id of a run, last, or a path"`
	ID  string `json:"id" jsonschema:"id of a finding, from overview"`
}

// finding answers with all evidence of one finding.
func (s *Server) finding(ctx context.Context, in findingIn) (reply, error) {
	a, err := s.analyse(ctx, in.Run)
	if err != nil {
		return nil, err
	}
	found := *a.Capture
	found.Args.Input = in.Run
	return brief.Finding(&found, in.ID, mostBoth)
}

type compareIn struct {
	A      string `json:"a" jsonschema:"the base: a run or a path"`
	B      string `json:"b" jsonschema:"a run or a path"`
	Limits string `json:"limits,omitempty" jsonschema:"what counts as a regression, such as 5%"`
}

// compare compares two loads or two captures.
func (s *Server) compare(ctx context.Context, in compareIn) (reply, error) {
	limits, err := gate.Parse(strings.FieldsFunc(in.Limits, func(r rune) bool { return r == ',' || r == ' ' }))
	if err != nil {
		return nil, fmt.Errorf("limits: %w", err)
	}
	var said warnings
	say := &progress.Console{W: &said}
	args := brief.Args{Input: in.A + " " + in.B}
	var sides [2]*runs.Run
	for i, ref := range []string{in.A, in.B} {
		path, err := s.roots.find(ref)
		if err == nil {
			sides[i], err = runs.Named(s.roots.runs, path)
		}
		if err != nil {
			return nil, err
		}
	}
	if sides[0].Loaded() && sides[1].Loaded() {
		c, err := runs.Compare(say, sides[:1], sides[1:], bench.CompareOptions{Limits: limits})
		if err != nil {
			return nil, errors.Join(err, said.err())
		}
		return brief.Comparison(report.BenchCompared(c, report.Options{}), args, mostBoth), nil
	}
	opt := explain.CompareOptions{Limits: limits}
	var open [2]*window.Capture
	for i, ref := range []string{in.A, in.B} {
		if open[i], err = s.open(ctx, ref, &said); err != nil {
			return nil, errors.Join(err, said.err())
		}
		opt.Sides[i].Light = open[i].Light
	}
	if err := limits.Check(explain.LimitNames()); err != nil {
		return nil, fmt.Errorf("limits: %w", err)
	}
	opt.IDA, opt.IDB = open[0].Set.ID, open[1].Set.ID
	c, err := explain.Compare(open[0].Traces, open[1].Traces, opt)
	if err != nil {
		return nil, err
	}
	return brief.Comparison(brief.Compared(c), args, mostBoth), nil
}

// errSeveral says that a tool needs the directory of one server.
func errSeveral(ref string, servers []system.Server) error {
	var names []string
	for i := range servers {
		names = append(names, clean(servers[i].Name))
	}
	return fmt.Errorf("%s has %d servers (%s): give the directory of one", clean(ref), len(servers), strings.Join(names, ", "))
}
