// Package explain explains captures. It consists of pure functions from traces to findings.
//
// Analyze takes the ranks of one profiling window. It reports how each rank spends its time in steps of each kind,
// which rank is late, from which step on, and why. All times are integer nanoseconds, and parts add up to totals
// exactly. The package neither reads files nor formats text.
package explain

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/parallel"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/answer"
	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/graphlayers"
	"github.com/stepscope/stepscope/internal/explain/judge"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/light"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/tables"
	"github.com/stepscope/stepscope/internal/explain/worth"
	"github.com/stepscope/stepscope/trace"
)

// Options configures Analyze.
type Options struct {
	ID      string        // ID of the profiling window, for the report
	Missing []string      // ranks known to be absent
	Rules   *kernel.Rules // rules that assign kernels to classes; nil: the built-in table
	Force   bool          // explain traces even if they cannot be one capture
	// Reference holds the step times while no profiler was recording; nil: unknown.
	Reference *trace.Reference
	GPUs      []trace.GPUState // samples of the GPUs around the window; nil: none
	// Quick skips the worth of findings and the critical path.
	Quick bool
	// Layers requests a search for the layers of kernels in replayed graphs, and for layers in captures without
	// markers. LayersFrom is a window of the same server from which the layers are learned; nil: this window.
	Layers     bool
	LayersFrom *Window
	FromName   string // name of LayersFrom, for errors
	// SourcesFrom is a window of the same server, recorded with Python stacks and without graphs, from which kernels
	// without a source take theirs; nil: none.
	SourcesFrom     *Window
	SourcesFromName string // name of SourcesFrom, for errors
	// Light is what is known about the model, the device and the server.
	Light light.Options
}

// ErrNothing means that no trace has GPU work, and that no trace has named steps or layers to which host time could be
// assigned.
var ErrNothing = errors.New("nothing to analyse: the traces hold no GPU work and no named steps (was the window recorded with GPU activities, and was there traffic?)")

// nothing returns ErrNothing, with advice if a trace lists a GPU.
func (w *Window) nothing() error {
	if slices.ContainsFunc(w.ranks, func(r *prep.Rank) bool { return r.APICalls > 0 }) {
		return fmt.Errorf("%w; the program did call CUDA: record for longer (for example, more inference steps), and with Nsight Systems add --trace-fork-before-exec=true", ErrNothing)
	}
	return ErrNothing
}

// Analyze explains the traces of one window, one trace per rank (and stage).
func Analyze(traces []*trace.Trace, opt Options) (*result.Report, error) {
	return Prepare(traces, opt.Rules).Analyze(opt)
}

// Analyze explains the window. It must be the last call on w.
func (w *Window) Analyze(opt Options) (*result.Report, error) {
	prep.RestoreCut(w.ranks)
	if !slices.ContainsFunc(w.ranks, func(r *prep.Rank) bool { return len(r.Ops)+len(r.Steps) > 0 }) {
		return nil, w.nothing()
	}
	marks, graphs, err := w.layers(opt)
	if err != nil {
		return nil, err
	}
	aligned, err := w.carrySources(opt)
	if err != nil {
		return nil, err
	}
	a := match.Align(w.ranks, w.names, marks)
	w.aligned = a
	doubts := w.doubts(a)
	if len(doubts) > 0 && !opt.Force {
		return nil, &NotOneError{doubts[0]}
	}
	var blames []*judge.Domain
	blamed := parallel.Go(func() { blames = judge.Blame(a) }) // concurrent with the tables, which do not need blames
	rep := &result.Report{Format: 1, Source: sourceOf(a, opt), Notes: notesOf(a)}
	rep.Source.Doubts = doubts
	var pauses tables.Pauses
	var layers *tables.LayerWork
	rep.Times, rep.Steps, pauses = tables.Times(a)
	rep.Stages = tables.Stages(a)
	rep.Gaps = tables.Gaps(a, pauses)
	rep.Collectives = tables.Collectives(a)
	rep.Classes, rep.Kernels = tables.Kernels(a)
	rep.Sites = tables.Sources(a, rep.Kernels)
	rep.Sites.Aligned = aligned
	rep.Layers, layers = tables.Layers(a)
	rep.Layers.Graphs = graphs
	rep.Balance = tables.Balance(a)
	rep.CPU = tables.CPU(a)
	rep.Memory = tables.Memory(a)
	var changes []light.Change
	rep.Light, changes = light.Of(a, rep.Steps, opt.Light)

	hostOps := tables.HostOps(a)
	judge.MarkSlow(a, rep, hostOps)
	rep.Recording = judge.Recording(a, rep, opt.Reference)
	blamed()
	rep.Ranks = judge.Ranks(blames, rep.Steps)
	rep.Findings = judge.Findings(a, blames, layers, hostOps, rep)
	judge.GPUClocks(a, rep, opt.GPUs)
	if !opt.Quick {
		w.worth = worth.New(a)
		w.worth.Findings(rep)
		w.valued(rep, changes)
	}
	answer.Of(rep)
	result.NoNil(rep)
	return rep, nil
}

// valued adds the changes of the steps with their worth, the most valuable first.
func (w *Window) valued(rep *result.Report, changes []light.Change) {
	for i := range changes {
		x := &changes[i]
		atMost := x.Worth.AtMost
		x.Worth = w.worth.Changed(rep, x.Steps, x.After)
		x.Worth.AtMost = atMost
		rep.Light.Changes = append(rep.Light.Changes, x.LightChange)
	}
	sorts.Stable(rep.Light.Changes, func(x, y result.LightChange) int {
		return cmp.Or(cmp.Compare(y.Worth.Step-y.Worth.Without, x.Worth.Step-x.Worth.Without), cmp.Compare(y.Worth.Last, x.Worth.Last))
	})
}

// layers finds the layers of the window and, if opt.Layers is set, the layers of kernels in replayed graphs.
func (w *Window) layers(opt Options) (*prep.Markers, []result.GraphLayers, error) {
	if !opt.Layers {
		return prep.FindMarkers(w.ranks), nil, nil
	}
	own := graphlayers.Window{Ranks: w.ranks, Names: w.names}
	ranks := w.ranks
	var from *graphlayers.Window
	if f := opt.LayersFrom; f != nil {
		from = &graphlayers.Window{Ranks: f.ranks, Names: f.names}
		ranks = slices.Concat(ranks, f.ranks)
	}
	marks := prep.FindLayers(ranks)
	if has := func(r *prep.Rank) bool { return len(r.Ranges) > 0 }; from != nil && !slices.ContainsFunc(from.Ranks, has) {
		return nil, nil, fmt.Errorf("%s names no layers: record a window of the same server with Python stacks or --enable-layerwise-nvtx-marker, and without CUDA graphs", opt.FromName)
	}
	graphs := graphlayers.Find(own, from, marks)
	if !slices.ContainsFunc(w.ranks, func(r *prep.Rank) bool { return len(r.Ranges) > 0 }) {
		marks = nil
	}
	return marks, graphs, nil
}

// carrySources takes the sources of kernels that have none from opt.SourcesFrom.
func (w *Window) carrySources(opt Options) ([]result.GraphLayers, error) {
	from := opt.SourcesFrom
	switch {
	case from == nil:
		return nil, nil
	case len(from.names.Sites) == 0:
		return nil, fmt.Errorf("%s has no Python stacks at its launches: record a window of the same server with stacks and without CUDA graphs", opt.SourcesFromName)
	}
	marks := prep.FindLayers(from.ranks)
	if !slices.ContainsFunc(from.ranks, func(r *prep.Rank) bool { return len(r.Ranges) > 0 }) {
		return nil, fmt.Errorf("%s names no layers, by which kernels are aligned: record a window of the same server with Python stacks and without CUDA graphs", opt.SourcesFromName)
	}
	return graphlayers.Carry(graphlayers.Window{Ranks: w.ranks, Names: w.names}, graphlayers.Window{Ranks: from.ranks, Names: from.names}, marks), nil
}

func sourceOf(a *match.Aligned, opt Options) result.Source {
	s := result.Source{ID: opt.ID, Missing: opt.Missing, Complete: len(opt.Missing) == 0, StartNS: a.Origin, SpanNS: a.Span, RecordedNS: a.Recorded, Clocks: a.Clocks, Within: a.Within}
	var rules []string
	for _, r := range a.Ranks {
		src := &r.Source
		s.Files = append(s.Files, src.Path)
		for _, x := range r.Stretches {
			s.Files = append(s.Files, x.Path)
		}
		s.Ranks = append(s.Ranks, r.Label)
		s.Complete = s.Complete && src.Complete && !slices.ContainsFunc(r.Notes, func(n trace.Note) bool { return n.Severity() == trace.Loss })
		s.Events += src.Events
		s.Device = cmp.Or(s.Device, src.Device)
		s.Software = s.Software || software(src.Device)
		if !slices.Contains(rules, r.Rule) {
			rules = append(rules, r.Rule)
		}
	}
	s.StepRule = strings.Join(rules, "; ")
	slices.Sort(s.Files)
	s.Files = slices.Compact(s.Files)
	return s
}

// notesOf returns the notes of the trace readers and of matching.
func notesOf(a *match.Aligned) (out []result.Note) {
	for _, r := range a.Ranks {
		for _, n := range r.Notes {
			out = append(out, result.Note{Severity: n.Severity().String(), Source: cmp.Or(n.Source, r.Source.Path), Text: fact.Name(n.Text()), Count: n.Count})
		}
	}
	if a.Broken > 0 {
		out = append(out, result.Note{Severity: "warning", Text: fact.Of("left_out_of_waits"), Count: int64(a.Broken)})
	}
	return out
}

// software reports whether a device's name identifies a device that runs on CPU cores.
func software(device string) bool {
	return strings.HasPrefix(device, "software GPU") || strings.HasSuffix(device, "CPU device")
}
