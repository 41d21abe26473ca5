package merge

import (
	"cmp"
	"context"
	"io"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/internal/tracefile/clock"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// merger is the state of one merge.
type merger struct {
	opt     Options
	set     set.Set
	parts   []*part
	base    int64 // baseTimeNanoseconds of the output
	hasBase bool
	shifts  []clock.Result // nil: clocks were not compared
	notes   []trace.Note
}

// plan reads the heads of all files and determines labels, ids and times.
func plan(ctx context.Context, window set.Set, opt Options) (*merger, error) {
	m := &merger{opt: opt, set: window}
	heads := make([]*set.Head, len(window.Files))
	slowly := func(r io.Reader) io.Reader { return resting(r, opt.Rest) }
	for i, f := range window.Files {
		if err := ctx.Err(); err != nil {
			return m, err
		}
		heads[i] = set.ReadHead(f, slowly)
	}
	if opt.Filter.Kind != trace.NoNote {
		m.notes = append(m.notes, opt.Filter)
	}
	labels := set.Labels(heads)
	m.parts = make([]*part, len(heads))
	for i, h := range heads {
		p := &part{Head: h, index: i, label: labels[i], meter: opt.Meter, rest: opt.Rest, odd: trace.Tally{}}
		m.parts[i] = p
		p.problem = h.Problem
		p.rw.ids, p.rw.index = IDMap{Stride: len(heads)}, i
		if !opt.AsIs {
			p.rw.prefix = "[" + labels[i] + "] "
			p.rw.sort = rankOrder(h.File.Name.Rank)
			if h.File.Name.Rank == trace.NoRank {
				p.rw.sort = int64(max(h.World.Rank, i)) * 100
			}
		}
		if opt.Keep != nil {
			p.keep = opt.Keep(i)
		}
		p.redact = opt.Redact
	}
	if err := m.findBases(ctx); err != nil {
		return m, err
	}
	m.setBase()
	if err := m.align(ctx); err != nil {
		return m, err
	}
	return m, nil
}

// findBases looks for baseTimeNanoseconds after the events of files, if bases matter.
func (m *merger) findBases(ctx context.Context) error {
	if len(m.parts) < 2 {
		return nil
	}
	return m.each(ctx, func(p *part) bool { return !p.HasBase && p.readable() }, func(p *part) error {
		return p.prescan(ctx, nil, true)
	})
}

// setBase chooses the smallest base and sets the shifts that convert the files to it.
func (m *merger) setBase() {
	m.base = math.MaxInt64
	for _, p := range m.parts {
		if p.HasBase {
			m.base, m.hasBase = min(m.base, p.BaseNS), true
		}
	}
	if !m.hasBase {
		m.base = 0
	}
	for _, p := range m.parts {
		switch {
		case p.HasBase:
			p.moved = p.BaseNS - m.base
		case m.hasBase && p.FirstTS > epochNS:
			p.moved = -m.base
		case m.hasBase && p.readable():
			m.note(trace.NoteNoBase, p.base())
		}
		p.rw.shift = Shift{Offset: p.moved, Nonzero: p.moved != 0}
	}
}

// epochNS is a time in the year 2001. Larger times count from 1970; smaller times count from an arbitrary start.
const epochNS = 1_000_000_000_000_000_000

func (p *part) readable() bool { return p.Problem == nil }

func (m *merger) note(kind trace.NoteKind, source string, names ...string) {
	m.notes = append(m.notes, trace.Note{Kind: kind, Source: source, Count: 1, Names: names})
}

// hosts counts the distinct hosts that the files name. unnamed reports whether a readable file names no host.
func (m *merger) hosts() (n int, unnamed bool) {
	seen := map[string]bool{}
	for _, p := range m.parts {
		if p.Host == "" {
			unnamed = unnamed || p.readable()
		} else {
			seen[p.Host] = true
		}
	}
	return len(seen), unnamed
}

// align compares the clocks before the merge if requested or if the files name several hosts. Otherwise, if some files
// name no host, it makes the merge collect collectives for disagree.
func (m *merger) align(ctx context.Context) error {
	hosts, unnamed := m.hosts()
	switch {
	case len(m.parts) < 2, m.opt.Align == Never, m.opt.AsIs:
		return nil
	case m.opt.Align == Always, hosts > 1:
		err := m.each(ctx, (*part).readable, func(p *part) error {
			p.comms = NewComms(len(m.parts), p.File.Name.Rank)
			return p.prescan(ctx, p.comms, false)
		})
		if err != nil {
			return err
		}
		m.compare()
	case unnamed:
		for _, p := range m.parts {
			p.comms = NewComms(len(m.parts), p.File.Name.Rank)
		}
	}
	return nil
}

// compare estimates the shifts from the collectives and applies those that exceed their uncertainty. All stages of a
// rank have the same clock.
func (m *merger) compare() {
	rankOf, ranks := m.clockRanks()
	shifts := clock.Align(ranks)
	m.shifts = make([]clock.Result, len(m.parts))
	said := map[int]bool{}
	for i, p := range m.parts {
		p.comms = nil
		s := shifts[rankOf[i]]
		m.shifts[i] = s
		if s.Method == clock.Unaligned && p.readable() && !said[rankOf[i]] {
			said[rankOf[i]] = true
			m.note(trace.NoteNotAligned, p.base(), s.Err.Error())
		}
		if !s.Significant() {
			continue
		}
		p.rw.shift = Shift{
			Offset: p.moved + s.Offset, Drift: s.Drift, Since: s.Since - p.moved, Nonzero: true,
		}
	}
}

// clockRanks returns the collectives of each rank. rankOf[i] is the index in ranks of part i.
func (m *merger) clockRanks() (rankOf []int, ranks []clock.Rank) {
	of := map[string]int{}
	for _, p := range m.parts {
		at, ok := of[p.label]
		if !ok {
			at = len(ranks)
			of[p.label] = at
			ranks = append(ranks, clock.Rank{Host: p.Host, RTT: p.World.RTT})
		}
		rankOf = append(rankOf, at)
		if p.comms != nil {
			ranks[at].Events = append(ranks[at].Events, p.comms.Sorted(p.moved)...)
		}
	}
	for i := range ranks {
		slices.SortStableFunc(ranks[i].Events, func(a, b clock.Event) int { return cmp.Compare(a.Start, b.Start) })
	}
	return rankOf, ranks
}

// disagree reports whether the collectives found during the merge prove that the clocks differ.
func (m *merger) disagree() bool {
	refs := map[string][]clock.Event{} // reference events by place and stage
	for _, p := range m.parts {
		if p.comms == nil || len(p.comms.events) == 0 {
			continue
		}
		events := p.comms.Sorted(p.moved)
		place := p.comms.place + p.File.Name.Stage
		ref := refs[place]
		if ref == nil {
			refs[place] = events
			continue
		}
		if clock.Plausible(ref, events) {
			continue
		}
		if s, err := clock.Estimate(ref, events); err == nil && s.Disagree() && s.Significant() {
			return true
		}
	}
	return false
}

// run writes the whole output once.
func (m *merger) run(ctx context.Context, w io.Writer) error {
	plain := m.opt.Plain
	level := cmp.Or(m.opt.Level, DefaultLevel)
	s := newSink(ctx, w, level, plain, m.opt.Rest)
	ok := s.put(block{data: m.header()})
	if ok {
		ok = streamAll(ctx, m.readables(), s)
	}
	if ok {
		var foot []byte
		var err error
		switch {
		case m.nothing():
			err = ErrNothing
		default:
			foot, err = m.footer()
		}
		if err != nil {
			_ = s.close()
			return err
		}
		s.put(block{data: foot})
	}
	err := s.close()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// readables returns the parts whose heads could be read.
func (m *merger) readables() []*part {
	var parts []*part
	for _, p := range m.parts {
		if p.readable() {
			parts = append(parts, p)
		}
	}
	return parts
}

// nothing reports whether no file contained any event.
func (m *merger) nothing() bool {
	return !slices.ContainsFunc(m.parts, func(p *part) bool { return p.stats.Events > 0 })
}

// again prepares another pass over the files with shifted clocks.
func (m *merger) again() {
	m.compare()
	m.note(trace.NoteAligned, "")
	for _, p := range m.parts {
		p.kept, p.tail, p.stats, p.meter = 0, nil, chromejson.Stats{}, nil
		p.rows, p.odd, p.ended = Rows{}, trace.Tally{}, nil
	}
}
