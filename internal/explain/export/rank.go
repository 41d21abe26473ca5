package export

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/trace"
)

// rank is one trace, with the data that the rows of the table need in addition to the spans.
type rank struct {
	t        *trace.Trace
	label    string
	steps    []step
	rule     string
	passes   []trace.Pass
	step     []int32 // index in steps of each span's step; -1: outside of steps
	class    []kernel.Class
	known    []bool // whether class is valid, by name
	at       struct{ tp, dp, pp, ep *int32 }
	tracks   []track
	commName []string // operation of each element of t.Comms
}

// track describes a track of the trace in the form that the table uses.
type track struct {
	pid    string
	device *int32
	stream *int64
}

// namer gives each rank of an export a unique label.
type namer struct{ used map[string]bool }

func newNamer() *namer { return &namer{used: map[string]bool{}} }

// label returns the rank's coordinates, "R03" if only the number of the rank is known, or "Unknown". If a label repeats
// within a stage, label appends a number.
func (n *namer) label(s *trace.Source) string {
	base := s.Rank.String()
	if s.Rank == trace.NoRank && s.World.Rank >= 0 && s.World.Known {
		base = fmt.Sprintf("R%02d", s.World.Rank)
	}
	label := base
	for i := 2; n.used[label+"|"+s.Stage]; i++ {
		label = fmt.Sprintf("%s (%d)", base, i)
	}
	n.used[label+"|"+s.Stage] = true
	return label
}

func prepare(t *trace.Trace, names *namer) *rank {
	r := &rank{t: t, label: names.label(&t.Source)}
	r.passes, r.steps, r.rule = findSteps(t)
	r.assignSteps()
	at := t.Source.Rank
	r.at.tp, r.at.dp, r.at.pp, r.at.ep = said(at.TP), said(at.DP), said(at.PP), said(at.EP)
	r.class = make([]kernel.Class, t.Strings.Len())
	r.known = make([]bool, t.Strings.Len())
	r.tracks = make([]track, len(t.Tracks))
	for i := range t.Tracks {
		tr := &t.Tracks[i]
		r.tracks[i].pid = tr.PID
		// In a merged file, the pid is preceded by the rank's label.
		if strings.HasPrefix(tr.PID, "[") {
			if _, pid, ok := strings.Cut(tr.PID, "] "); ok {
				r.tracks[i].pid = pid
			}
		}
		if tr.GPU {
			r.tracks[i].device, r.tracks[i].stream = said(int(tr.Device)), &tr.Stream
		}
	}
	r.commName = make([]string, len(t.Comms))
	for i := range t.Comms {
		r.commName[i] = kernel.CollectiveArg(t.Strings.Get(t.Comms[i].Name))
	}
	return r
}

// assignSteps assigns each span to its step. GPU work belongs to the step in which it was launched. The time of the GPU
// work itself would give the wrong step, because the host prepares step n+1 while the GPU works on step n.
func (r *rank) assignSteps() {
	t := r.t
	r.step = make([]int32, len(t.Spans))
	if len(r.steps) == 0 {
		for i := range r.step {
			r.step[i] = -1
		}
		return
	}
	launch := map[int64]int32{} // correlation id -> span of the launch
	opened := map[int64]int64{} // External id of an annotation -> start of the annotation
	for i := range t.Spans {
		s := &t.Spans[i]
		switch {
		case s.Cat.Launch() && s.Corr != 0:
			// A launch may appear as a runtime call and a driver call with the same correlation id. Use the outer call,
			// which is the longer one.
			if at, ok := launch[s.Corr]; !ok || t.Spans[at].Dur < s.Dur {
				launch[s.Corr] = int32(i)
			}
		case s.Cat == trace.UserAnnotation && s.Ext != 0:
			opened[s.Ext] = s.Start
		}
	}
	for i := range t.Spans {
		s := &t.Spans[i]
		at := s.Start
		switch {
		case s.Cat.OnGPU() || s.Cat == trace.Sync:
			if l, ok := launch[s.Corr]; ok && s.Corr != 0 {
				at = t.Spans[l].Start
			}
		case s.Cat == trace.GPUAnnotation:
			start, ok := opened[s.Ext]
			if !ok || s.Ext == 0 {
				r.step[i] = -1 // the time of GPU work does not determine its step
				continue
			}
			at = start
		}
		r.step[i] = trace.PassAt(r.passes, at)
	}
}

// classOf returns the class of a span of GPU work.
func (r *rank) classOf(s *trace.Span) kernel.Class {
	switch s.Cat {
	case trace.Memcpy:
		return kernel.Copy
	case trace.Memset:
		return kernel.Memset
	}
	if !r.known[s.Name] {
		r.class[s.Name] = kernel.Classify(r.t.Strings.Get(s.Name), s.Cat.String())
		r.known[s.Name] = true
	}
	return r.class[s.Name]
}

// collective returns the operation of a communication kernel, as recorded or, if it was not recorded, derived from the
// kernel's name. It returns "" for other work.
func (r *rank) collective(s *trace.Span, op *trace.Op, class kernel.Class) string {
	if op.Comm >= 0 {
		return r.commName[op.Comm]
	}
	if class != kernel.Comm {
		return ""
	}
	name, _ := kernel.Collective(r.t.Strings.Get(s.Name))
	return name
}

func (r *rank) result() RankResult {
	s := &r.t.Source
	res := RankResult{
		Label: r.label, Stage: s.Stage, File: filepath.Base(s.Path), Host: s.Host, Device: s.Device,
		Spans: int64(len(r.t.Spans)), Steps: len(r.steps), StepRule: r.rule, Complete: s.Complete, Notes: []Note{},
	}
	for _, n := range r.t.Notes {
		n.Source = res.File
		res.Notes = append(res.Notes, Note{n})
		if n.Severity() == trace.Loss {
			res.Complete = false
		}
	}
	return res
}
