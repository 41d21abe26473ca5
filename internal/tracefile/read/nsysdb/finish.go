package nsysdb

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/parallel"
	"github.com/stepscope/stepscope/internal/base/runsort"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/trace"
)

// finish sorts and completes the tables.
func (r *reader) finish() []*trace.Trace {
	r.leaveGuests()
	ranks := r.inOrder()
	r.places(ranks)
	r.notes = append(r.notes, r.odd.Notes(r.db.Path)...)
	out := make([]*trace.Trace, len(ranks))
	parallel.Each(len(ranks), func(i int) {
		k := ranks[i]
		t := k.t
		place := t.Source.Rank
		t.Source = trace.Source{
			Path: r.db.Path, Host: r.meta.host, Rank: place, World: trace.World{Rank: -1},
			BaseNS: r.meta.epoch, HasGPU: len(r.meta.gpus) > 0, Complete: true, Bytes: r.db.Size, Events: int64(len(t.Spans) + len(t.Memory)),
		}
		if k.key.device >= 0 {
			gpu, _ := r.gpu(k)
			of := r.meta.gpus[gpu]
			t.Source.Device, t.Source.UUID, t.Source.PCI = of.name, of.uuid, of.pci
		}
		for i := range t.Spans {
			t.Spans[i].Start += r.meta.epoch
		}
		for i := range t.Memory {
			t.Memory[i].Time += r.meta.epoch
		}
		sorts.Stable(t.Memory, func(a, b trace.MemoryPoint) int { return cmp.Compare(a.Time, b.Time) })
		sortSpans(t)
		out[i] = t
	})
	sorts.Stable(out, func(a, b *trace.Trace) int { return a.Source.Rank.Compare(b.Source.Rank) })
	out[0].Notes = r.notes // the notes are about the report, not about one rank
	return out
}

// sortSpans sorts spans into a Trace's order. An export stores the rows of one kind together and mostly in time order,
// so sortSpans sorts each track separately.
func sortSpans(t *trace.Trace) {
	begin := make([]int, len(t.Tracks)+1)
	for i := range t.Spans {
		begin[t.Spans[i].Track+1]++
	}
	for i := 1; i < len(begin); i++ {
		begin[i] += begin[i-1]
	}
	sorted := make([]trace.Span, len(t.Spans))
	next := slices.Clone(begin)
	for i := range t.Spans {
		at := &next[t.Spans[i].Track]
		sorted[*at] = t.Spans[i]
		*at++
	}
	t.Spans = sorted
	for i := range t.Tracks {
		runsort.Stable(t.Spans[begin[i]:begin[i+1]], func(a, b trace.Span) bool {
			if a.Start != b.Start {
				return a.Start < b.Start
			}
			// Sort spans with equal times by launch, then by name, so that the result does not depend on the order of
			// the rows.
			return cmp.Or(cmp.Compare(b.Dur, a.Dur), cmp.Compare(a.Corr, b.Corr), cmp.Compare(a.Name, b.Name)) < 0
		})
	}
}
