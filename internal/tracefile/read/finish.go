package read

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/trace"
)

// mainDevice is the GPU that did most of the work; -1: none did any.
func (b *builder) mainDevice() int32 {
	best, most := int32(-1), 0
	for d, n := range b.deviceOps {
		if n > most || n == most && d < best {
			best, most = d, n
		}
	}
	return best
}

// dropStrays leaves out spans that lie days away from the rest: broken times,
// which would stretch the window beyond all measure.
func (b *builder) dropStrays() {
	t := b.t
	if len(t.Spans) == 0 {
		return
	}
	const sample = 101
	starts := make([]int64, min(sample, len(t.Spans)))
	for i := range starts {
		starts[i] = t.Spans[i*len(t.Spans)/len(starts)].Start
	}
	slices.Sort(starts)
	mid := starts[len(starts)/2]
	near := func(at int64) bool { return mid-sevenDays <= at && at <= mid+sevenDays }
	spans, points := len(t.Spans), len(t.Memory)
	t.Spans = slices.DeleteFunc(t.Spans, func(s trace.Span) bool { return !near(s.Start) })
	t.Memory = slices.DeleteFunc(t.Memory, func(p trace.MemoryPoint) bool { return !near(p.Time) })
	if n := spans + points - len(t.Spans) - len(t.Memory); n > 0 {
		b.odd.Add(trace.NoteDaysAway, int64(n))
	}
}

// finish orders and completes the table. base is added to all times.
func (b *builder) finish(base int64) *trace.Trace {
	t := b.t
	for _, o := range b.open {
		t.Spans[o.span].Dur = 0
		b.odd.Add(trace.NoteNeverEnded, 1)
	}
	b.dropStrays()
	for i := range t.Spans {
		t.Spans[i].Start += base
	}
	for i := range t.Memory {
		t.Memory[i].Time += base
	}
	for key, name := range b.threadName {
		if id, ok := b.tracks[key]; ok {
			t.Tracks[id].Name = name
		}
	}
	for id := 1; id < t.Strings.Len(); id++ {
		if s := t.Strings.Get(trace.StringID(id)); strings.IndexByte(s, '\\') >= 0 {
			t.Strings.Replace(trace.StringID(id), string(chromejson.Unescape([]byte(s))))
		}
	}
	slices.SortStableFunc(t.Spans, func(a, b trace.Span) int {
		if a.Track != b.Track {
			return cmp.Compare(a.Track, b.Track)
		}
		if a.Start != b.Start {
			return cmp.Compare(a.Start, b.Start)
		}
		return cmp.Compare(b.Dur, a.Dur)
	})
	t.Notes = b.odd.Notes("")
	return t
}
