package read

import (
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/trace"
)

// devices returns the number of GPU ops of each device.
func (b *builder) devices() map[int32]int {
	ops := map[int32]int{}
	for i, n := range b.trackOps {
		if n > 0 {
			ops[b.t.Tracks[i].Device] += n
		}
	}
	return ops
}

// mainDevice returns the GPU with the most work, or -1 if there is no GPU work.
func (b *builder) mainDevice() int32 {
	ops := b.devices()
	best, most := int32(-1), 0
	for d, n := range ops {
		if n > most || n == most && d < best {
			best, most = d, n
		}
	}
	return best
}

// busyDevices counts the devices with at least a tenth as many GPU ops as the busiest device. A rank merely touches a
// device with fewer ops.
func (b *builder) busyDevices() (n int) {
	ops, most := b.devices(), 0
	for _, k := range ops {
		most = max(most, k)
	}
	for d, k := range ops {
		if d >= 0 && 10*k >= most {
			n++
		}
	}
	return n
}

// near returns a function that reports whether a time fits the other times of the file. Other times would stretch the
// window.
func (b *builder) near() func(at int64) bool {
	if b.spans.n == 0 {
		return func(int64) bool { return true }
	}
	starts := make([]int64, min(101, b.spans.n)) // sample
	for i := range starts {
		starts[i] = b.spans.at(i * b.spans.n / len(starts)).Start
	}
	slices.Sort(starts)
	mid := starts[len(starts)/2]
	return func(at int64) bool { return !trace.Away(at, mid) }
}

// rows counts the violations that show in the order of the file.
func (b *builder) rows(near func(at int64) bool) {
	rows := make([]trace.Row, len(b.t.Tracks))
	for i := range b.spans.n {
		kind := trace.NoNote
		switch s := b.spans.at(i); {
		case s.Cat.OnGPU() && near(s.Start):
			kind = rows[s.Track].Op(s.Start, s.End(), s.Corr)
		case s.Cat.Launch() && s.Corr > 0 && near(s.Start):
			kind = rows[s.Track].Call(s.Start, s.Corr)
		}
		if kind != trace.NoNote {
			b.odd.Add(kind, 1)
		}
	}
}

// finish sorts and completes the table. It adds base to all times.
func (b *builder) finish(base int64) *trace.Trace {
	t := b.t
	for _, o := range b.open {
		b.spans.at(o.span).Dur = 0
		b.odd.Add(trace.NoteNeverEnded, 1)
	}
	b.npuLaunches()
	b.npuSizes()
	near, all := b.near(), b.spans.n+len(t.Memory)
	b.rows(near)
	t.Spans = b.spans.sorted(len(t.Tracks), func(s *trace.Span) bool { return near(s.Start) })
	t.Memory = slices.DeleteFunc(t.Memory, func(p trace.MemoryPoint) bool { return !near(p.Time) })
	if n := all - len(t.Spans) - len(t.Memory); n > 0 {
		b.odd.Add(trace.NoteDaysAway, int64(n))
	}
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
	t.Notes = b.odd.Notes("")
	return t
}
