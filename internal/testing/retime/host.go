package retime

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/trace"
)

// Names of moments other than calls.
const (
	ThreadBegins = "thread begins"
	ThreadEnds   = "thread ends"
	StepBegins   = "step begins"
	StepEnds     = "step ends"
	Blocks       = "blocks"
	Returns      = "returns"
	Arrives      = "arrives at hosts"
	GoesOn       = "goes on from hosts"
)

// addHost lists the moments of all threads of a rank that launch or wait, and returns the moments of the rank's calls.
func (m *Model) addHost(i int, r *match.Rank) []*Moment {
	t := m.traces[i]
	off := offset(r)
	threads := map[trace.TrackID][]*Moment{}
	add := func(track trace.TrackID, at int64, name string) *Moment {
		p := &Moment{Rank: i, Step: stepOf(r, r.StepAt(at)), Name: name, at: at + off, Returns: name == Returns}
		threads[track] = append(threads[track], p)
		return p
	}
	calls := make([]*Moment, len(r.Calls))
	most := map[trace.TrackID]int{}
	for c := range r.Calls {
		calls[c] = add(r.Calls[c].Track, r.Calls[c].Start, t.Strings.Get(t.Spans[r.Calls[c].Span].Name))
		most[r.Calls[c].Track]++
	}
	for track, list := range blocked(r) {
		for _, b := range list {
			add(track, b.Start, Blocks)
			add(track, b.End, Returns)
		}
	}
	arrive, leave := map[int32]*Moment{}, map[int32]*Moment{}
	for c := range r.HostColls {
		x := &r.HostColls[c]
		arrive[int32(c)] = add(r.Main, x.Start, Arrives)
		if 2*(x.Blocked.End-x.Blocked.Start) > x.End-x.Start {
			leave[int32(c)] = add(r.Main, x.End, GoesOn)
		}
	}
	m.arrive, m.leave = append(m.arrive, arrive), append(m.leave, leave)
	for s := range r.Steps {
		if st := &r.Steps[s]; st.Name != "" {
			add(st.Track, st.Start, StepBegins)
			// Moments at the end of the step do not belong to the step.
			add(st.Track, st.End-1, StepEnds)
		}
	}
	main, n := trace.TrackID(0), -1
	for track := range threads {
		if most[track] > n || most[track] == n && track < main {
			main, n = track, most[track]
		}
	}
	first, last := map[trace.TrackID]int64{}, map[trace.TrackID]int64{}
	for _, s := range m.traces[i].Spans {
		if at, ok := first[s.Track]; !ok || s.Start < at {
			first[s.Track] = s.Start
		}
		last[s.Track] = max(last[s.Track], s.End())
	}
	for _, track := range sorted(threads) {
		add(track, first[track], ThreadBegins)
		add(track, last[track], ThreadEnds)
		list := threads[track]
		slices.SortStableFunc(list, func(a, b *Moment) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(rankOf(a), rankOf(b)))
		})
		for k, p := range list {
			if p.now = p.at; k == 0 {
				continue
			}
			p.prev, p.Gap = list[k-1], p.at-list[k-1].at
			if p.Returns || p.Name == GoesOn {
				p.Gap = min(p.Gap, callTime)
			}
		}
		m.Moments = append(m.Moments, list...)
	}
	m.threads, m.main = append(m.threads, threads), append(m.main, main)
	return calls
}

func sorted(threads map[trace.TrackID][]*Moment) []trace.TrackID {
	var out []trace.TrackID
	for track := range threads {
		out = append(out, track)
	}
	slices.Sort(out)
	return out
}

// rankOf orders moments with equal times.
func rankOf(p *Moment) int {
	return slices.Index([]string{ThreadBegins, Returns, GoesOn, StepEnds, StepBegins, Arrives, Blocks, ThreadEnds}, p.Name)
}

// blocked lists the intervals in which threads may wait for the device: synchronisations, and copies that return on
// completion.
func blocked(r *match.Rank) map[trace.TrackID][]prep.Interval {
	out := map[trace.TrackID][]prep.Interval{}
	for track, list := range r.Blocked {
		out[track] = append(out[track], list...)
	}
	for c := range r.Calls {
		if call := &r.Calls[c]; call.Blocks && r.Ops[call.Op].End <= call.End {
			out[call.Track] = append(out[call.Track], prep.Interval{Start: call.Start, End: call.End})
		}
	}
	for track, list := range out {
		slices.SortFunc(list, func(a, b prep.Interval) int { return cmp.Compare(a.Start, b.Start) })
		kept := list[:0]
		for _, b := range list {
			if n := len(kept); n > 0 && b.Start < kept[n-1].End {
				kept[n-1].End = max(kept[n-1].End, b.End)
			} else if b.End > b.Start {
				kept = append(kept, b)
			}
		}
		out[track] = kept
	}
	return out
}

// addWaits finds, for each return from a blocking call, the work that the call waited for. This work is the last op
// that was launched before the call and had ended when the call returned. A call that waits for an event waits for the
// last op launched before the event was recorded.
func (m *Model) addWaits(i int, r *match.Rank, ops []*Op, calls []*Moment) {
	lastOf := map[*Moment]*Op{}
	for _, o := range ops {
		if p := lastOf[o.call]; o.call != nil && (p == nil || o.end > p.end) {
			lastOf[o.call] = o
		}
	}
	for _, track := range sorted(m.threads[i]) {
		list := m.threads[i][track]
		events := m.eventCalls(i, r, track)
		for k, ret := range list {
			if !ret.Returns {
				continue
			}
			from := k - 1
			for from > 0 && list[from].Name != Blocks {
				from--
			}
			begins := list[from]
			onEvent := events.waits[begins.at]
			var best *Op
			for c := len(calls) - 1; c >= 0; c-- {
				call := calls[c]
				// A blocking copy is launched by the call that also waits for it.
				if o := lastOf[call]; call.at < ret.at && o != nil && o.end <= ret.at && (best == nil || o.end > best.end) {
					if !onEvent || events.recordedAfter(calls, c, begins.at) {
						best = o
					}
				}
			}
			if best != nil {
				ret.forOp, ret.lag = best, min(ret.at-best.end, returnLag)
			}
		}
	}
}

// eventCalls holds a thread's event records and its waits for events.
type eventCalls struct {
	records []int64 // times of the event records, in order
	waits   map[int64]bool
}

func (m *Model) eventCalls(i int, r *match.Rank, track trace.TrackID) *eventCalls {
	t, off := m.traces[i], offset(r)
	e := &eventCalls{waits: map[int64]bool{}}
	for k := range t.Spans {
		s := &t.Spans[k]
		if s.Track != track || !s.Cat.Launch() {
			continue
		}
		switch name := t.Strings.Get(s.Name); {
		case strings.Contains(name, "EventRecord"):
			e.records = append(e.records, s.Start+off)
		case strings.Contains(name, "EventSynchronize"):
			e.waits[s.Start+off] = true
		}
	}
	return e
}

// recordedAfter reports whether an event was recorded after call c. The event must also have been recorded before the
// next launch call and before the time given by before.
func (e *eventCalls) recordedAfter(calls []*Moment, c int, before int64) bool {
	k, _ := slices.BinarySearch(e.records, calls[c].at)
	if k == len(e.records) || e.records[k] >= before {
		return false
	}
	return c+1 == len(calls) || e.records[k] <= calls[c+1].at
}

// move returns the new time of a moment of a thread.
func move(list []*Moment, at int64) int64 {
	k, _ := slices.BinarySearchFunc(list, at, func(p *Moment, at int64) int { return cmp.Compare(p.at, at) })
	switch {
	case len(list) == 0:
		return at
	case k == 0:
		return at + list[0].now - list[0].at
	case k == len(list):
		return at + list[k-1].now - list[k-1].at
	}
	p, q := list[k-1], list[k]
	if at == q.at {
		return q.now
	}
	length := q.now - p.now
	var before int64
	for _, x := range q.pauses {
		length -= x.ns
		if x.at < at {
			before += x.ns
		}
	}
	if q.at-p.at == length {
		return p.now + at - p.at + before
	}
	return p.now + before + int64(float64(at-p.at)*float64(length)/float64(q.at-p.at))
}
