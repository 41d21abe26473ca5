package waits

import (
	"math"
	"slices"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/trace"
)

// hasIDs reports whether the steps name requests of this run.
func (j *Joined) hasIDs() bool {
	for _, l := range j.lanes {
		for i := range j.records {
			if id := j.records[i].ID; id != "" && len(l.of[id]) > 0 {
				return true
			}
		}
	}
	return false
}

// laneOf finds the lane that served a request between from and to. It uses the data-parallel rank in the server's
// reply, then the request id. If neither decides, it takes the lane whose steps end closest before the arrival of the
// request's tokens.
func (j *Joined) laneOf(lanes []*lane, s *slow, from, to int64) (l *lane, how string) {
	r := s.r
	how = "server"
	// The reply contains the rank of the decode server, not that of a prefill server.
	if is := func(l *lane) bool { return l.server.role != api.Prefill && l.dp == r.DPRank }; r.DPRank >= 0 && slices.ContainsFunc(lanes, is) {
		lanes = slices.DeleteFunc(slices.Clone(lanes), func(l *lane) bool { return !is(l) })
	} else if len(lanes) > 1 {
		how = ByTime
		if j.byID {
			how = ByID
		}
	}
	if j.byID {
		// If several lanes have the request, the last lane counts, since the earlier lanes failed.
		last := from
		for _, other := range lanes {
			for _, i := range other.of[r.ID] {
				if p := &other.steps[i]; p.from < to && p.to > last {
					l, last = other, p.to
				}
			}
		}
		return l, how
	}
	if len(lanes) == 1 {
		return lanes[0], how
	}
	how = ByTime
	least := int64(math.MaxInt64)
	for _, other := range lanes {
		lag, n := int64(0), int64(0)
		for _, c := range r.Chunks {
			at := j.wall(c.At)
			if !c.Text || !other.holds(at) || n > 0 && other.server.role == api.Prefill {
				continue
			}
			if i := other.lastBefore(at, func(*step) bool { return true }); i >= 0 {
				lag, n = lag+at-other.steps[i].to, n+1
			}
		}
		if n > 0 && lag/n < least {
			least, l = lag/n, other
		}
	}
	return l, how
}

// own returns the steps that worked on a request between from and to. If steps have request ids, these are the steps
// that name the request. Without request ids, the result for a TTFT is the prefill that produced the first token. For a
// gap between tokens, it is every step that is not a prefill, since such steps include all running requests.
func (j *Joined) own(l *lane, s *slow, from, to int64) (steps []int) {
	if j.byID {
		for _, i := range l.of[s.r.ID] {
			if l.steps[i].to > from && l.steps[i].from < to {
				steps = append(steps, i)
			}
		}
		return steps
	}
	after := 0
	if s.event == 0 {
		i := l.lastBefore(j.wall(firstToken(s.r)), (*step).begins)
		if i < 0 || l.steps[i].to <= from {
			return nil
		}
		steps = append(steps, i)
		if firstToken(s.r) == s.r.First {
			return steps
		}
		after = i + 1
	}
	for i := after; i < len(l.steps); i++ {
		if p := &l.steps[i]; p.to > from && p.from < to && p.kind != trace.Prefill && p.kind != trace.IdleStep {
			steps = append(steps, i)
		}
	}
	return steps
}

// firstToken returns the arrival of the first event with a token. That event may have no text, since a token can be a
// part of a character.
func firstToken(r *bench.Record) int64 {
	for i := range r.Chunks {
		if c := &r.Chunks[i]; c.Tokens > 0 || c.Text {
			return c.At
		}
	}
	return r.First
}

// made returns the time at which a token was complete. The token arrived at the time to, and was complete at the end of
// the last step of its request before to. From then on, the token was in transit. fresh means that it is the request's
// first token.
func (l *lane) made(own []int, to int64, fresh bool) int64 {
	for _, i := range slices.Backward(own) {
		if s := &l.steps[i]; s.to <= to && (!fresh || s.begins()) {
			return s.to
		}
	}
	return to
}

// waits divides the interval [from, made) of a request into parts. The request was in the queue until begun, and in the
// steps own. Every nanosecond counts once.
func (j *Joined) waits(l *lane, from, made int64, own []int, begun int64) (w Wait) {
	at := from
	idle := func(until int64) { // no step is running
		for _, p := range []interval{{at, min(until, begun)}, {max(at, begun), until}} {
			if p.to <= p.from {
				continue
			}
			n := l.recorded(p.from, p.to)
			w.NotRecorded += p.to - p.from - n
			if p.from < begun {
				w.Queue += n
				w.QueueIdle += n
			} else {
				w.Stall += n
			}
		}
		at = max(at, until)
	}
	for i := range l.steps {
		s := &l.steps[i]
		if s.to <= at || s.from >= made {
			continue
		}
		idle(s.from)
		until := min(s.to, made)
		n := until - at
		at = until
		if until <= begun {
			w.Queue += n
			w.QueueSlow += j.slowRank(l, s, n)
			if s.prefill() {
				w.QueuePrefill += n
			}
			continue
		}
		slow := j.slowRank(l, s, n)
		w.SlowRank += slow
		n -= slow
		switch mine := slices.Contains(own, i); {
		case mine && s.prefill():
			w.Prefill += n
		case mine:
			w.Decode += n
		case s.prefill():
			w.OtherPrefill += n
		default:
			w.OtherSteps += n
		}
	}
	idle(made)
	for _, p := range l.pauses {
		lo := max(p.from, from)
		if min(p.to, made)-lo < leastPause {
			continue // the server may have been idle until the request came
		}
		w.Paused += min(p.to, made) - lo
		w.QueuePaused += max(min(p.to, made, begun)-lo, 0)
	}
	return w
}

// isFirst reports whether step i is known to be the first step of a request, even if the window opened after the request
// was sent. A prompt that is computed in parts has a part in each prefill step from its first part on. So the step is the
// first if the window has an earlier prefill step, or if the step has as many tokens as the prompt.
func (l *lane) isFirst(i int, r *bench.Record, byID bool) bool {
	if !l.steps[i].prefill() {
		return false
	}
	if tokens := l.steps[i].tokens; tokens > 0 && r.PromptLen > 0 && r.PromptLen-max(r.CachedTokens, 0) <= tokens {
		return true
	}
	w := slices.IndexFunc(l.windows, func(w interval) bool { return w.from <= l.steps[i].from && l.steps[i].from <= w.to })
	for k := i - 1; byID && w >= 0 && k >= 0 && l.steps[k].from >= l.windows[w].from; k-- {
		if l.steps[k].prefill() {
			return true
		}
	}
	return false
}

// slowRank returns how much of n ns of a step was spent waiting for a late rank.
func (j *Joined) slowRank(l *lane, s *step, n int64) int64 {
	mid := s.from + (s.to-s.from)/2 - l.shift
	for i := range j.late {
		t := &j.late[i]
		if t.Server == l.server.name && (t.DP < 0 || l.dp < 0 || t.DP == l.dp) && t.From <= mid && mid < t.To && t.Cost > 0 {
			j.used[t.ID] = true
			return min(n, t.Cost)
		}
	}
	return 0
}
