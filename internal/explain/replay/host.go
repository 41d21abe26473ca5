package replay

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/base/runsort"
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/trace"
)

// moment is a point in time of a host thread: a call, the begin of blocking, or the return from blocking.
type moment struct {
	at    int64 // time on the rank's clock
	call  int32 // index of the call; none: begin of blocking, or return
	host  int32 // host collective at which the thread arrives or from which it returns, or none
	turn  int32 // wait for the engine that begins or ends, or none
	since int64 // for a return: begin of blocking
	what  What
}

// moments returns the moments of a rank's launching threads, each in time order.
func moments(r *match.Rank, hosts []hostPart, turns []engineWait, usual *lags) map[trace.TrackID][]moment {
	out := map[trace.TrackID][]moment{}
	waits, n := blocked(r), map[trace.TrackID]int{}
	for i := range r.Calls {
		n[r.Calls[i].Track]++
	}
	for track, calls := range n {
		out[track] = make([]moment, 0, calls+2*len(waits[track]))
	}
	for i := range r.Calls {
		c := &r.Calls[i]
		out[c.Track] = append(out[c.Track], moment{at: usual.asks(r, c), call: int32(i), host: none, turn: none, what: Host})
	}
	for track, list := range waits {
		if n[track] == 0 {
			continue // nothing depends on a thread that launches nothing
		}
		for _, x := range list {
			out[track] = append(out[track], moment{at: x.Start, call: none, host: none, turn: none, what: Host}, moment{at: x.End, call: none, host: none, turn: none, since: x.Start, what: Return})
		}
	}
	for i := range hosts {
		x := &hosts[i]
		out[r.Main] = append(out[r.Main], moment{at: x.Start, call: none, host: int32(i), turn: none, what: Host})
		if x.waits {
			out[r.Main] = append(out[r.Main], moment{at: x.End, call: none, host: int32(i), turn: none, what: Return})
		}
	}
	for i := range turns {
		x := &turns[i]
		out[r.Main] = append(out[r.Main], moment{at: x.Start, call: none, host: none, turn: int32(i), what: Host},
			moment{at: x.End, call: none, host: none, turn: int32(i), what: Return})
	}
	for _, list := range out {
		runsort.Stable(list, func(a, b moment) bool {
			// The call that launches a blocking copy also waits for the copy, so the launch comes before the begin of
			// blocking.
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.what, a.what), cmp.Compare(b.call, a.call)) < 0
		})
	}
	return out
}

// blocked returns the intervals in which threads may wait for the device: synchronisations, and calls of copies that
// return when the copy is done.
func blocked(r *match.Rank) map[trace.TrackID][]prep.Interval {
	out := map[trace.TrackID][]prep.Interval{}
	for track, list := range r.Blocked {
		out[track] = append(out[track], list...)
	}
	for i := range r.Calls {
		if c := &r.Calls[i]; c.Blocks && r.Ops[c.Op].End <= c.End {
			out[c.Track] = append(out[c.Track], prep.Interval{Start: c.Start, End: c.End})
		}
	}
	for track, list := range out {
		sorts.By(list, func(a, b prep.Interval) int { return cmp.Compare(a.Start, b.Start) })
		out[track] = slices.DeleteFunc(prep.Union(list), func(x prep.Interval) bool { return x.End == x.Start })
	}
	return out
}

// addHost makes the nodes of a rank's threads. It returns the nodes of calls, and the nodes of returns. The
// dependencies of returns are added later, when the nodes of ops exist.
func (b *builder) addHost(rank int32, r *match.Rank, usual *lags) (calls []int32, returns []ret) {
	calls = make([]int32, len(r.Calls))
	hosts := b.hosts[rank]
	turns := b.turns[rank]
	threads := moments(r, hosts, turns, usual)
	for _, track := range slices.Sorted(maps.Keys(threads)) {
		before := int32(none)
		for _, m := range threads[track] {
			n := newNode(m.what, rank, r.Wall(m.at), 0)
			if n.ref = m.call; m.call != none {
				c := &r.Calls[m.call]
				n.step = stepOf(r, c.Step)
				if c.Op >= 0 {
					n.key = r.Ops[c.Op].Key
				}
			} else {
				n.step = stepOf(r, r.StepAt(m.at))
			}
			if before != none {
				last := b.nodes[before].at
				if m.what == Host {
					n.dur = n.at - last
				}
				lag := int64(0)
				if m.turn != none && m.what == Return {
					lag = min(b.own, n.at-last)
				}
				n.await(before, last, lag)
			}
			before = b.add(n)
			switch {
			case m.host != none && m.what == Return:
				hosts[m.host].returns = before
			case m.host != none:
				hosts[m.host].arrives = before
			case m.turn != none:
				if m.what == Return {
					turns[m.turn].returns = before
				}
			case m.what == Return:
				returns = append(returns, ret{node: before, since: m.since, at: m.at})
			}
			if m.call != none {
				calls[m.call] = before
			}
		}
	}
	return calls, returns
}

// ret is a return from a blocking call. Times are on the rank's clock.
type ret struct {
	node      int32
	since, at int64
}

// stepOf converts a step of a rank to the capture's numbering.
func stepOf(r *match.Rank, step int32) int32 {
	if step < 0 {
		return none
	}
	return step + int32(r.First)
}

// waitFor finds the op for which a blocking call waited. This is the op that ended last, among the ops that were
// launched and had ended before the call returned. If the call waits for an event, only launches after which an event
// was recorded are considered.
type waitFor struct {
	r      *match.Rank
	lastOf []int32 // by call: the call's op that ends last, or none
	ended  []int64 // by call: end of the last op of this and all earlier calls
}

func newWaitFor(r *match.Rank) *waitFor {
	w := &waitFor{r: r, lastOf: make([]int32, len(r.Calls))}
	for i := range w.lastOf {
		w.lastOf[i] = none
	}
	for i := range r.Ops {
		o := &r.Ops[i]
		if o.Call < 0 {
			continue
		}
		if at := w.lastOf[o.Call]; at == none || o.End > r.Ops[at].End {
			w.lastOf[o.Call] = int32(i)
		}
	}
	w.ended = make([]int64, len(r.Calls))
	ended := int64(math.MinInt64)
	for i, o := range w.lastOf {
		if o != none {
			ended = max(ended, r.Ops[o].End)
		}
		w.ended[i] = ended
	}
	return w
}

// longAgo is the number of calls before a return that op searches.
const longAgo = 4096

func (w *waitFor) op(x ret) int32 {
	r := w.r
	_, onEvent := slices.BinarySearch(r.Awaits, x.since)
	last, _ := slices.BinarySearchFunc(r.Calls, x.at, func(c prep.Call, at int64) int { return cmp.Compare(c.Start, at) })
	best := int32(none)
	for i := last - 1; i >= max(0, last-longAgo); i-- {
		if best != none && w.ended[i] <= r.Ops[best].End {
			break // ops of earlier calls ended no later, either
		}
		o := w.lastOf[i]
		if o == none || r.Ops[o].End > x.at || best != none && r.Ops[o].End <= r.Ops[best].End {
			continue
		}
		if !onEvent || w.recordedAfter(i, x.since) {
			best = o
		}
	}
	return best
}

// recordedAfter reports whether an event was recorded between a call and the next call, and before the time before.
func (w *waitFor) recordedAfter(call int, before int64) bool {
	r := w.r
	k, _ := slices.BinarySearch(r.Records, r.Calls[call].Start)
	if k == len(r.Records) || r.Records[k] >= before {
		return false
	}
	return call+1 == len(r.Calls) || r.Records[k] <= r.Calls[call+1].Start
}
