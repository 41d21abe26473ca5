// Package explain explains captures: pure functions from traces to findings.
//
// Analyze takes the ranks of one profiling window and says where the time
// goes, per rank and step kind, and which rank is late, since which step and
// why. Everything is computed in integer nanoseconds, and parts add up to
// totals exactly. Nothing here reads files or formats text.
package explain

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/trace"
)

// Options steer Analyze.
type Options struct {
	ID      string        // of the profiling window, for the report
	Missing []string      // ranks that are known to be absent
	Rules   *kernel.Rules // kernel classes; nil: the built-in table
}

// ErrNothing means that no trace has any GPU work, nor named steps or layers to
// tell host time by.
var ErrNothing = errors.New("nothing to analyse: the traces hold no GPU work and no named steps (was the window recorded with GPU activities, and was there traffic?)")

// Analyze explains the traces of one window, one trace per rank (and stage).
func Analyze(traces []*trace.Trace, opt Options) (*Report, error) {
	return Prepare(traces, opt.Rules).Analyze(opt)
}

// Analyze explains the window. It is the last thing to ask of it.
func (w *Window) Analyze(opt Options) (*Report, error) {
	hostOnly(w.ranks)
	marks := findMarkers(w.ranks, w.hosts)
	if !slices.ContainsFunc(w.ranks, func(r *rank) bool { return len(r.ops)+len(r.steps) > 0 }) {
		return nil, ErrNothing
	}
	a := align(w.ranks, w.hosts, w.names, marks)
	rep := &Report{Format: 1, Source: sourceOf(a, opt), Notes: notesOf(a)}
	var gaps longest
	var layers *layerWork
	rep.Times, rep.Steps, gaps = timesOf(a)
	rep.Gaps = spellGaps(a, gaps)
	rep.Collectives = collectiveRows(a)
	rep.Classes, rep.Kernels = kernelRows(a)
	rep.Layers, layers = layerTables(a)
	rep.CPU = cpuTable(a)
	rep.Memory = memoryRows(a)

	hostOps := hostOpsOf(a)
	markSlow(a, rep.Steps, hostOps)
	blames := blame(a)
	rep.Ranks = rankRows(blames, rep.Steps)
	rep.Findings = findings(a, blames, layers, hostOps, rep)
	NoNil(rep)
	return rep, nil
}

func sourceOf(a *aligned, opt Options) Source {
	s := Source{ID: opt.ID, Missing: opt.Missing, Complete: len(opt.Missing) == 0, StartNS: a.origin, SpanNS: a.span, Clocks: a.clocks}
	var rules []string
	for _, r := range a.ranks {
		src := &r.source
		s.Files = append(s.Files, src.Path)
		s.Ranks = append(s.Ranks, r.label)
		s.Complete = s.Complete && src.Complete
		s.Events += src.Events
		s.Device = cmp.Or(s.Device, src.Device)
		if !slices.Contains(rules, r.rule) {
			rules = append(rules, r.rule)
		}
	}
	s.StepRule = strings.Join(rules, "; ")
	slices.Sort(s.Files)
	s.Files = slices.Compact(s.Files)
	return s
}

// notesOf are the readers' notes, and those of matching.
func notesOf(a *aligned) (out []Note) {
	for _, r := range a.ranks {
		for _, n := range r.notes {
			out = append(out, Note{Severity: n.Severity().String(), Source: cmp.Or(n.Source, r.source.Path), Text: n.Text(), Count: n.Count})
		}
	}
	if a.broken > 0 {
		out = append(out, Note{Severity: "warning", Text: "collectives whose times contradict each other over ranks were left out of waits", Count: int64(a.broken)})
	}
	return out
}
