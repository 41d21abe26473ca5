package retime

import (
	"errors"
	"slices"

	"github.com/stepscope/stepscope/trace"
)

// edge states that one moment occurs at least lag after another moment. Device moments and host moments have a common
// numbering.
type edge struct {
	from, to int32
	lag      int64
}

// Run computes all times and returns the traces. The model must not be used afterwards.
func (m *Model) Run() ([]*trace.Trace, error) {
	if err := m.time(); err != nil {
		return nil, err
	}
	for i, t := range m.traces {
		m.rewrite(i, t)
		sortSpans(t)
	}
	return m.traces, nil
}

// time computes all times. Moments without waits keep their times, and all other moments follow in topological order.
func (m *Model) time() error {
	number := make(map[*Op]int32, len(m.Ops)) // number of the op's start; the op's end has the next number
	host := make(map[*Moment]int32, len(m.Moments))
	var at, add []int64
	for _, o := range m.Ops {
		number[o] = int32(len(at))
		at, add = append(at, o.start-o.Late, 0), append(add, o.Late, 0)
		if o.Meet != nil {
			add[number[o]+1] = o.tail
		}
	}
	for _, p := range m.Moments {
		host[p] = int32(len(at))
		at, add = append(at, p.at), append(add, p.late)
	}
	var edges []edge
	began := make(map[*Meet]int32, len(m.Meets)) // number of the moment at which all ranks have arrived
	for _, meet := range m.Meets {
		began[meet] = int32(len(at))
		at, add = append(at, 0), append(add, 0)
	}
	for _, o := range m.Ops {
		n := number[o]
		if o.prev != nil {
			edges = append(edges, edge{number[o.prev] + 1, n, o.gap})
		}
		if o.other != nil {
			edges = append(edges, edge{number[o.other] + 1, n, o.wait})
		}
		if o.call != nil && (o.prev == nil || o.prev.call != o.call) {
			edges = append(edges, edge{host[o.call], n, o.lag})
		}
		if o.Meet == nil {
			edges = append(edges, edge{n, n + 1, o.Dur})
			continue
		}
		edges = append(edges, edge{n, began[o.Meet], 0}, edge{began[o.Meet], n + 1, o.Meet.Transfer})
	}
	for _, p := range m.Moments {
		if p.prev == nil {
			continue
		}
		gap := p.Gap
		for _, x := range p.pauses {
			gap += x.ns
		}
		edges = append(edges, edge{host[p.prev], host[p], gap})
		if p.forOp != nil {
			edges = append(edges, edge{number[p.forOp] + 1, host[p], p.lag})
		}
		for _, from := range p.forHost {
			edges = append(edges, edge{host[from], host[p], p.hostLag})
		}
	}
	if err := longest(edges, at, add); err != nil {
		return err
	}
	for o, n := range number {
		o.start, o.end = at[n], at[n+1]
	}
	for p, n := range host {
		p.now = at[n]
	}
	return nil
}

// longest computes the times of all moments in at. On entry, at contains the times of moments without predecessors. The
// time of any other moment is the maximum over its predecessors, plus add.
func longest(edges []edge, at, add []int64) error {
	waits := make([]int32, len(at))
	first := make([]int32, len(at)+1)
	for _, e := range edges {
		waits[e.to]++
		first[e.from+1]++
	}
	for i := range at {
		first[i+1] += first[i]
	}
	out, next := make([]edge, len(edges)), slices.Clone(first)
	for _, e := range edges {
		out[next[e.from]] = e
		next[e.from]++
	}
	var ready []int32
	for i := range at {
		if waits[i] > 0 {
			at[i] = -1 << 62
		} else {
			ready = append(ready, int32(i))
		}
	}
	done := 0
	for ; len(ready) > 0; done++ {
		n := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		at[n] += add[n]
		for _, e := range out[first[n]:first[n+1]] {
			at[e.to] = max(at[e.to], at[n]+e.lag)
			if waits[e.to]--; waits[e.to] == 0 {
				ready = append(ready, e.to)
			}
		}
	}
	if done < len(at) {
		return errors.New("retime: circular wait in the capture: its collectives are matched incorrectly")
	}
	return nil
}

// rewrite stores the new times in a rank's trace.
func (m *Model) rewrite(i int, t *trace.Trace) {
	off := offset(m.ranks[i])
	main := m.threads[i][m.main[i]]
	host := func(track trace.TrackID, at int64) int64 {
		list := m.threads[i][track]
		if len(list) == 0 {
			list = main // threads without launches move with the main thread
		}
		return move(list, at+off) - off
	}
	var lastOld, lastNew int64
	device := map[trace.TrackID][]*Op{} // as recorded
	for _, o := range m.Ops {
		if o.Rank != i || o.added {
			continue
		}
		s := &t.Spans[o.span]
		lastOld, lastNew = max(lastOld, s.End()), max(lastNew, o.end-off)
		s.Start, s.Dur = o.start-off, o.end-o.start
		device[o.track] = append(device[o.track], o)
	}
	for k := range t.Spans {
		s := &t.Spans[k]
		switch {
		case s.Cat.OnGPU():
		case t.Tracks[s.Track].GPU:
			start, end := onDevice(device[s.Track], s.Start+off, s.End()+off)
			s.Start, s.Dur = start-off, end-start
		case s.Cat == trace.Window:
			end := host(s.Track, s.End())
			s.Dur = max(end, s.End()+lastNew-lastOld) - s.Start
		default:
			start, end := host(s.Track, s.Start), host(s.Track, s.End())
			s.Start, s.Dur = start, end-start
		}
	}
	for k := range t.Memory {
		t.Memory[k].Time = host(m.main[i], t.Memory[k].Time)
	}
	for _, o := range m.Ops {
		if o.Rank == i && o.added {
			t.Spans = append(t.Spans, trace.Span{
				Cat: trace.Kernel, Track: o.track, Name: t.Strings.Intern([]byte(o.Name)), Corr: o.corr,
				Start: o.start - off, Dur: o.end - o.start, Detail: int32(len(t.Ops)),
			})
			t.Ops = append(t.Ops, *o.trace)
		}
	}
}

// onDevice returns the new start and end of a device-side annotation. The annotation moves with the ops inside it.
func onDevice(ops []*Op, start, end int64) (int64, int64) {
	from, _ := slices.BinarySearchFunc(ops, start, func(o *Op, at int64) int { return int(min(max(o.beganAt-at, -1), 1)) })
	to := from
	for to < len(ops) && ops[to].beganAt < end {
		to++
	}
	if from == to { // the annotation has no ops
		if from == len(ops) {
			from--
		}
		if from < 0 {
			return start, end
		}
		d := ops[from].start - ops[from].beganAt
		return start + d, end + d
	}
	first, last := ops[from], ops[to-1]
	return start + first.start - first.beganAt, end + last.end - last.endedAt
}
