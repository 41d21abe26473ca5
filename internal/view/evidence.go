package view

import (
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/view/timeline"
	"github.com/stepscope/stepscope/trace"
)

// overview returns the start page of the capture. Its findings and their evidence lead to spans, where they name any.
func (c *Capture) overview() *report.Overview {
	c.looking.Do(func() {
		c.looked = report.NewOverview(c.Report)
		if c.Traces == nil {
			return
		}
		for i := range c.looked.Findings {
			c.prove(&c.looked.Findings[i], &c.Report.Findings[i])
		}
	})
	return c.looked
}

// proofs returns the spans to which the overview leads.
func (c *Capture) proofs() (spans []timeline.SpanOf) {
	add := func(p *report.Place) {
		if p == nil || p.Span < 0 {
			return
		}
		if s := (timeline.SpanOf{Rank: p.Rank, Span: p.Span}); !slices.Contains(spans, s) {
			spans = append(spans, s)
		}
	}
	for _, f := range c.overview().Findings {
		add(f.At)
		for _, e := range f.Evidence {
			add(e.At)
		}
	}
	return spans
}

// prove finds the spans of a finding and of its evidence.
func (c *Capture) prove(out *report.OverviewFinding, f *result.Finding) {
	if out.At == nil {
		return
	}
	at := &f.At
	if at.Known() {
		c.locate(out.At, at.Span, at.Rank, at.Start, at.Start+1)
	}
	shown := false
	for k := range out.Evidence {
		e := &out.Evidence[k]
		switch {
		case e.Name == "":
		case e.At != nil:
			c.locate(e.At, e.Name, e.At.Rank, e.At.Start, e.At.End)
			if !at.Known() && !shown { // the first gap shows the finding
				*out.At, shown = *e.At, true
			}
		case at.Known() && e.Kernel:
			p := report.Place{Step: -1, Rank: at.Rank, Span: -1}
			more := f.Cause == result.CauseWork
			if c.locateKernel(&p, e.Name, at, more); p.Span < 0 {
				continue
			}
			if e.At = &p; !shown && (f.Cause == result.CauseWork || f.Cause == result.CauseDevice) {
				*out.At, shown = p, true
			}
		}
	}
}

// locate moves a place to the span with the given name that takes most of an interval on a rank. If there is none, the
// place stays.
func (c *Capture) locate(p *report.Place, name string, rank int, from, to int64) {
	r, t := c.Aligned.Ranks[rank], c.Traces[rank]
	is := named(t, strings.TrimPrefix(columns.Clean(name), "op "))
	best, most := int32(-1), int64(-1)
	for i := range t.Spans {
		s := &t.Spans[i]
		start, end := r.Wall(s.Start)-c.Aligned.Origin, r.Wall(s.End())-c.Aligned.Origin
		if start >= to || end <= from {
			continue
		}
		if took := min(end, to) - max(start, from); took > most && is(s.Name) {
			best, most = int32(i), took
		}
	}
	if best >= 0 {
		c.put(p, rank, best, r.StepAt(t.Spans[best].Start))
	}
}

// locateKernel moves a place to the longest kernel with the given name in the interval of a finding. If the rank has
// more such kernels than others, it is the first one that no other rank has.
func (c *Capture) locateKernel(p *report.Place, name string, at *result.Place, more bool) {
	r, t := c.Aligned.Ranks[at.Rank], c.Traces[at.Rank]
	is := named(t, name)
	best := int32(-1)
	for i := range r.Ops {
		o := &r.Ops[i]
		if start := r.Wall(o.Start) - c.Aligned.Origin; start < at.Start || start >= at.End || !is(t.Spans[o.Span].Name) {
			continue
		}
		if more && c.alone(at.Rank, int32(i)) {
			best = int32(i)
			break
		}
		if best < 0 || o.End-o.Start > r.Ops[best].End-r.Ops[best].Start {
			best = int32(i)
		}
	}
	if best >= 0 {
		c.put(p, at.Rank, r.Ops[best].Span, r.Ops[best].Step)
	}
}

// mostCompared limits the search for a kernel that no other rank has.
const mostCompared = 20_000_000

// alone reports whether no other rank has a counterpart of an op.
func (c *Capture) alone(rank int, op int32) bool {
	if c.counterparts == nil {
		c.counterparts = c.Aligned.Counterparts()
	}
	if c.compared += c.counterparts.Cost(rank, op); c.compared > mostCompared {
		return false
	}
	of := c.counterparts.Of(rank, op)
	return len(of) > 0 && !slices.ContainsFunc(of, func(p match.Pair) bool { return p.Why != match.NoSuch && !p.Other })
}

// put moves a place to a span. A span in no step leaves the step of the place.
func (c *Capture) put(p *report.Place, rank int, span, step int32) {
	r, s := c.Aligned.Ranks[rank], &c.Traces[rank].Spans[span]
	p.Rank, p.Span, p.Start, p.End = rank, span, r.Wall(s.Start)-c.Aligned.Origin, r.Wall(s.End())-c.Aligned.Origin
	margin := (p.End - p.Start) / 10
	p.From, p.To = p.Start-margin, p.End+margin
	if step >= 0 {
		p.Step = int(step) + r.First
	}
}

// named returns a function that reports whether a name is the given one, without what columns.Clean removes.
func named(t *trace.Trace, name string) func(trace.StringID) bool {
	is := map[trace.StringID]bool{}
	return func(id trace.StringID) bool {
		same, known := is[id]
		if !known {
			same = columns.Clean(t.Strings.Get(id)) == name
			is[id] = same
		}
		return same
	}
}
