package trace

import (
	"cmp"
	"math"
	"slices"
)

// stretched returns one stretch that covers all of t, including the span of the profiler's window.
func stretched(t *Trace) Stretch {
	s := Stretch{Path: t.Source.Path, Start: math.MaxInt64, End: math.MinInt64, Complete: t.Source.Complete}
	for i := range t.Spans {
		s.Start, s.End = min(s.Start, t.Spans[i].Start), max(s.End, t.Spans[i].End())
	}
	return s
}

// JoinStretches merges successive recordings of one process into one trace. It returns nil if the recordings name
// different hosts, have no process in common, or overlap in time. The caller must not use parts afterwards.
func JoinStretches(parts []*Trace) *Trace {
	parts = slices.Clone(parts)
	of := map[*Trace]Stretch{}
	for _, t := range parts {
		of[t] = stretched(t)
	}
	slices.SortStableFunc(parts, func(a, b *Trace) int { return cmp.Compare(of[a].Start, of[b].Start) })
	t := parts[0]
	t.Stretches = []Stretch{of[t]}
	for _, p := range parts[1:] {
		if p.Source.Host != t.Source.Host || !oneProcess(t, p) || of[p].Start < t.Stretches[len(t.Stretches)-1].End {
			t.Stretches = nil
			return nil
		}
		t.Stretches = append(t.Stretches, of[p])
	}
	for _, p := range parts[1:] {
		t.add(p)
	}
	t.byTrack()
	return t
}

// oneProcess reports whether a and b have a thread of the same process.
func oneProcess(a, b *Trace) bool {
	return slices.ContainsFunc(a.Tracks, func(x Track) bool {
		return !x.GPU && x.PID != "" && slices.ContainsFunc(b.Tracks, func(y Track) bool { return !y.GPU && x.PID == y.PID })
	})
}

// add appends the contents of a later recording. Correlation and external ids may restart in each recording, so add
// renumbers them.
func (t *Trace) add(p *Trace) {
	name := make([]StringID, p.Strings.Len())
	for i := range name {
		name[i] = t.Strings.Intern([]byte(p.Strings.Get(StringID(i))))
	}
	track := make([]TrackID, len(p.Tracks))
	for i, k := range p.Tracks {
		at := slices.IndexFunc(t.Tracks, func(x Track) bool {
			return x.PID == k.PID && x.TID == k.TID && x.GPU == k.GPU && x.Device == k.Device && x.Stream == k.Stream
		})
		if at < 0 {
			at = len(t.Tracks)
			t.Tracks = append(t.Tracks, k)
		}
		track[i] = TrackID(at)
	}
	var corr, ext int64
	for i := range t.Spans {
		corr, ext = max(corr, t.Spans[i].Corr), max(ext, t.Spans[i].Ext)
	}
	ops, comms, moves, shapes := int32(len(t.Ops)), int32(len(t.Comms)), int32(len(t.Moves)), int32(len(t.Shapes))
	for _, s := range p.Spans {
		s.Name, s.Track = name[s.Name], track[s.Track]
		if s.Corr != 0 {
			s.Corr += corr
		}
		if s.Ext != 0 {
			s.Ext += ext
		}
		if s.Detail >= 0 {
			switch {
			case s.Cat.OnGPU():
				s.Detail += ops
			case s.Cat == UserAnnotation:
				s.Detail = int32(name[s.Detail])
			default:
				s.Detail += shapes
			}
		}
		t.Spans = append(t.Spans, s)
	}
	for _, o := range p.Ops {
		if o.Comm >= 0 {
			o.Comm += comms
		}
		if o.Move > 0 {
			o.Move += moves
		}
		t.Ops = append(t.Ops, o)
	}
	for _, c := range p.Comms {
		c.Name, c.DType, c.Group, c.Ranks = name[c.Name], name[c.DType], name[c.Group], name[c.Ranks]
		t.Comms = append(t.Comms, c)
	}
	for _, m := range p.Moves {
		m.Requests = name[m.Requests]
		t.Moves = append(t.Moves, m)
	}
	for _, s := range p.Shapes {
		t.Shapes = append(t.Shapes, Shape{name[s.Dims], name[s.Types]})
	}
	t.Memory, t.Notes = append(t.Memory, p.Memory...), append(t.Notes, p.Notes...)
	x, y := &t.Source, &p.Source
	x.Complete, x.WithStack, x.HasGPU = x.Complete && y.Complete, x.WithStack || y.WithStack, x.HasGPU || y.HasGPU
	x.Device, x.Bytes, x.Events = cmp.Or(x.Device, y.Device), x.Bytes+y.Bytes, x.Events+y.Events
	if !x.World.Known {
		x.World = y.World
	}
}

// byTrack groups the spans by track. It requires that the spans of each track are already in order.
func (t *Trace) byTrack() {
	at := make([]int, len(t.Tracks)+1)
	for i := range t.Spans {
		at[t.Spans[i].Track+1]++
	}
	for i := range t.Tracks {
		at[i+1] += at[i]
	}
	spans := make([]Span, len(t.Spans))
	for i := range t.Spans {
		k := t.Spans[i].Track
		spans[at[k]] = t.Spans[i]
		at[k]++
	}
	t.Spans = spans
}

// FindStretches returns the stretches of a trace file with several recorded periods. Each span of a profiler window is
// one stretch. FindStretches returns nil if there are fewer than two such spans. A span that begins between two windows
// belongs to the stretch of the earlier window.
func FindStretches(t *Trace) (out []Stretch) {
	for i := range t.Spans {
		if s := &t.Spans[i]; s.Cat == Window {
			out = append(out, Stretch{Path: t.Source.Path, Start: s.Start, End: s.End(), Complete: t.Source.Complete})
		}
	}
	slices.SortFunc(out, func(a, b Stretch) int { return cmp.Compare(a.Start, b.Start) })
	if len(out) < 2 {
		return nil
	}
	for i := range out[1:] {
		if out[i+1].Start < out[i].End {
			return nil
		}
	}
	for i := range t.Spans {
		s := &t.Spans[i]
		at := len(out) - 1
		for at > 0 && s.Start < out[at].Start {
			at--
		}
		out[at].Start, out[at].End = min(out[at].Start, s.Start), max(out[at].End, s.End())
	}
	for i := range out[1:] {
		out[i].End = min(out[i].End, out[i+1].Start)
	}
	return out
}
