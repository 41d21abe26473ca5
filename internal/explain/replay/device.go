package replay

import (
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/parallel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/trace"
)

// Kinds of lags.
const (
	lagGraph  = iota // lag between successive ops of one graph
	lagStream        // lag between successive ops of one stream
	lagOther         // lag between ops of two streams
	lagReturn        // lag from the end of the work to the return of the call that waited for the work
	lagKinds
)

const (
	// near is the longest delay, in ns, between the end of an op and the start of a second op that waits for the first.
	// If the second op starts later, it waited for something else.
	near = 20_000
	// noise is the variation of lags, in ns. Delays up to noise are not gaps.
	noise = 3_000
	// together is the share of overlapping ops above which two streams count as concurrent.
	together = 0.01
	// mostStreams is the number of streams among which waits are inferred. Servers use a few dozen, and no GPU runs more
	// than 128 kernels at once. The bound keeps the work proportional to the ops.
	mostStreams = 1024
)

// lags are the usual lags of a rank, in ns.
type lags struct {
	of     [lagKinds]int64
	after  map[int32]int64 // lag from the end of an op in a graph to the next op, by the kernel key of the next op
	launch map[int32]int64 // lag from the begin of a call to its first op on an idle device, by the op's name
	call   map[int32]int64 // length of a call, by the name of its first op
}

// asks returns the time at which a call submits its first op to the device. A call may stall before it submits the op.
// A stall is assumed if two conditions hold: the call takes far longer than similar calls, and the op does not begin
// before the last part of the call. That last part has the usual length of such calls. The stall counts as host time.
// If the launch queue was full, the call is assumed not to have stalled.
func (l *lags) asks(r *match.Rank, c *prep.Call) int64 {
	if c.Op < 0 || c.Blocks {
		return c.Start
	}
	o := &r.Ops[c.Op]
	at := c.End - l.call[o.Name]
	if at-c.Start < near || o.Start < at || prep.Overlap(r.Full, c.Start, c.End) > 0 {
		return c.Start
	}
	return at
}

// usualLags returns the lags of the ranks. For launches, all ranks get the shortest lag of any rank. Any further delay
// means that the device began late, for example because other processes use it, and counts as a gap.
func usualLags(ranks []*match.Rank) (of []lags) {
	of = make([]lags, len(ranks))
	parallel.Each(len(ranks), func(i int) { of[i] = lagsOf(ranks[i]) })
	launch, call := map[int32]int64{}, map[int32]int64{}
	least := func(into, from map[int32]int64) {
		for name, ns := range from {
			if was, ok := into[name]; !ok || ns < was {
				into[name] = ns
			}
		}
	}
	for i := range of {
		least(launch, of[i].launch)
		least(call, of[i].call)
	}
	for i := range of {
		of[i].launch, of[i].call = launch, call
	}
	return of
}

// addRank adds the nodes of a rank: first the nodes of the host, then the nodes of the device.
func (b *builder) addRank(rank int32, r *match.Rank, usual *lags) {
	calls, returns := b.addHost(rank, r, usual)
	ends := make([]int32, len(r.Ops))
	b.leave[rank] = ends
	queues := serial(r)
	last := map[trace.TrackID]int32{}   // per stream: the op that ends last so far
	var recent []trace.TrackID          // the streams of last, the most recently used last; at most mostStreams
	before := make([]int32, len(r.Ops)) // per op: the previous op on the same stream, or none
	var busy int64                      // end of the device's work so far
	for i := range r.Ops {
		o := &r.Ops[i]
		n := newNode(Work, rank, r.Wall(o.End), 0)
		n.dur = n.at - r.Wall(o.Start)
		n.step, n.ref, n.key = stepOf(r, o.Step), int32(i), o.Key
		prev, ok := last[o.Track]
		if ok {
			kind := lagStream
			if o.Call >= 0 && r.Ops[prev].Call == o.Call && r.InGraph(o) {
				kind = lagGraph
			}
			lag := usual.of[kind]
			if after, ok := usual.after[o.Key]; ok && kind == lagGraph {
				lag = after
			}
			// An op may begin before the previous op has ended (programmatic dependent launch).
			if p := &r.Ops[prev]; p.End > o.Start && p.End <= o.End {
				lag = o.Start - p.End
			}
			n.await(ends[prev], b.nodes[ends[prev]].at, lag)
		}
		if o.Call >= 0 && o.First {
			c := &r.Calls[o.Call]
			asked := usual.asks(r, c)
			lag := o.Start - asked
			// Keep the recorded lag if the device was idle for most of the lag and the lag is near the usual lag.
			// Otherwise the device began late, for example because other processes use it.
			idle, most := o.Start-max(busy, asked), usual.launch[o.Name]
			if 2*idle < lag || c.Blocks && busy > asked || lag > 2*most+near {
				lag = min(lag, most)
			}
			n.await(calls[o.Call], b.nodes[calls[o.Call]].at, lag)
		}
		if before[i] = none; ok {
			before[i] = prev
		}
		if other := b.other(r, i, recent, last, before, queues, &n); other != none {
			n.await(ends[other], b.nodes[ends[other]].at, usual.of[lagOther])
		}
		b.settle(&n)
		ends[i] = b.add(n)
		busy = max(busy, o.End)
		if !ok || r.Ops[prev].End <= o.End {
			last[o.Track] = int32(i)
		}
		if at := slices.Index(recent, o.Track); at >= 0 {
			recent = slices.Delete(recent, at, at+1)
		}
		recent = append(recent, o.Track)
		recent = recent[max(0, len(recent)-mostStreams):]
	}
	w := newWaitFor(r)
	if int(rank) == b.engine.rank {
		b.addOutputs(r, ends, w, usual)
	}
	for _, x := range returns {
		n := &b.nodes[x.node]
		if o := w.op(x); o != none {
			n.await(ends[o], b.nodes[ends[o]].at, usual.of[lagReturn])
		}
		b.settle(n)
	}
}

// settle sets the unexplained gap of a node.
func (b *builder) settle(n *node) {
	if ready, ok := b.ready(n); ok && n.start()-ready > noise {
		n.gap = n.start() - ready
	}
}

// other returns the op of another stream for which op i waits, or none. It considers the streams in recent.
func (b *builder) other(r *match.Rank, i int, recent []trace.TrackID, last map[trace.TrackID]int32, before []int32, queues map[trace.TrackID]int, n *node) int32 {
	o := &r.Ops[i]
	ready, known := b.ready(n)
	unexplained := !known || n.start()-ready > noise
	best := int32(none)
	for _, track := range recent {
		at := last[track]
		if r.Ops[at].End > o.Start && before[at] != none { // still running: use the previous op, which has ended
			at = before[at]
		}
		p := &r.Ops[at]
		if track == o.Track || p.End > o.Start || best != none && p.End <= r.Ops[best].End {
			continue
		}
		if queues[track] == queues[o.Track] || unexplained && o.Start-p.End < near {
			best = at
		}
	}
	return best
}

// serial numbers the queues of a rank: streams that never run concurrently form one queue. If there are more than
// mostStreams streams, each is a queue of its own.
func serial(r *match.Rank) map[trace.TrackID]int {
	type pair struct{ a, b trace.TrackID }
	ops := map[trace.TrackID]int{}
	overlaps := map[pair]int{}
	running := map[trace.TrackID]int64{}
	for i := range r.Ops {
		o := &r.Ops[i]
		ops[o.Track]++
		if len(ops) > mostStreams {
			continue
		}
		for track, end := range running {
			if end <= o.Start { // ops are ordered by start
				delete(running, track)
			} else if track != o.Track {
				overlaps[pair{min(track, o.Track), max(track, o.Track)}]++
			}
		}
		running[o.Track] = max(running[o.Track], o.End)
	}
	queues := map[trace.TrackID]int{}
	if len(ops) > mostStreams {
		for track := range ops {
			queues[track] = len(queues)
		}
		return queues
	}
	var members [][]trace.TrackID
	var tracks []trace.TrackID
	for track := range ops {
		tracks = append(tracks, track)
	}
	slices.Sort(tracks)
	for _, track := range tracks {
		at := slices.IndexFunc(members, func(of []trace.TrackID) bool {
			return !slices.ContainsFunc(of, func(m trace.TrackID) bool {
				return float64(overlaps[pair{min(track, m), max(track, m)}]) > together*float64(min(ops[track], ops[m]))
			})
		})
		if at < 0 {
			at = len(members)
			members = append(members, nil)
		}
		members[at] = append(members[at], track)
		queues[track] = at
	}
	return queues
}

// lagsOf returns the medians of the recorded lags. It uses only lags for which a single cause is possible.
func lagsOf(r *match.Rank) lags {
	var seen [lagKinds][]int64
	launch, after, call := map[int32][]int64{}, map[int32][]int64{}, map[int32][]int64{}
	last := map[trace.TrackID]int32{}
	var busy int64 // end of the device's work so far
	for i := range r.Ops {
		o := &r.Ops[i]
		if prev, ok := last[o.Track]; ok {
			p := &r.Ops[prev]
			gap := o.Start - p.End
			switch {
			case gap < 0 || gap >= near:
			case o.Call >= 0 && p.Call == o.Call && r.InGraph(o):
				seen[lagGraph] = append(seen[lagGraph], gap)
				after[o.Key] = append(after[o.Key], gap)
			case o.Call >= 0 && r.Calls[o.Call].End < p.End-near:
				seen[lagStream] = append(seen[lagStream], gap)
			}
		}
		if o.Call >= 0 && o.First && busy < r.Calls[o.Call].Start {
			launch[o.Name] = append(launch[o.Name], o.Start-r.Calls[o.Call].Start)
		}
		if o.Call >= 0 && o.First {
			call[o.Name] = append(call[o.Name], r.Calls[o.Call].End-r.Calls[o.Call].Start)
		}
		busy = max(busy, o.End)
		last[o.Track] = int32(i)
	}
	l := lags{launch: map[int32]int64{}, after: map[int32]int64{}, call: map[int32]int64{}}
	for name, of := range call {
		l.call[name] = int64(metric.MedianInPlace(of))
	}
	for key, of := range after {
		l.after[key] = int64(metric.MedianInPlace(of))
	}
	for k := range seen {
		l.of[k] = min(int64(metric.MedianInPlace(seen[k])), near)
	}
	l.of[lagOther] = l.of[lagStream]
	var all []int64
	for name, of := range launch {
		all = append(all, of...)
		l.launch[name] = int64(metric.MedianInPlace(of))
	}
	usual := int64(metric.MedianInPlace(all))
	for i := range r.Ops {
		if name := r.Ops[i].Name; launch[name] == nil {
			l.launch[name] = usual
		}
	}
	w := newWaitFor(r)
	for _, list := range blocked(r) {
		var returns []int64
		for _, x := range list {
			if o := w.op(ret{since: x.Start, at: x.End}); o != none && r.Ops[o].End > x.Start && x.End-r.Ops[o].End < near {
				returns = append(returns, x.End-r.Ops[o].End)
			}
		}
		l.of[lagReturn] = max(l.of[lagReturn], int64(metric.MedianInPlace(returns)))
	}
	return l
}
