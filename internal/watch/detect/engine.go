package detect

import (
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/capture/signals"
)

// Event is the beginning or the end of what a rule looks for.
type Event struct {
	Rule  *Rule
	Group string // whose ranks, as Take was told
	Ended bool

	At    time.Time // when it was certain
	After time.Time // the last look at which all was normal: the change lies between this
	Onset time.Time // and the first look at which it was not

	Value  float64 // of the rule's statistic, the mean since the onset
	Normal float64 // the same before: the mean of a minute, or what is normal by itself
	Limit  float64
	Who    int // DP of the rank that stands out; -1: none does
}

// Engine holds series against rules. It is for one goroutine.
type Engine struct {
	Rules []Rule
	Every time.Duration // between samples; a point stands for no more than twice that

	of     map[string][]*state        // by group
	past   map[string][]*signals.Live // of the last minute, by group
	paused map[string]bool            // groups
	blind  map[string]time.Time       // by group: until when nothing is judged
}

// state is how a rule stands with a group.
type state struct {
	rule *Rule
	sum  sum
	told Event           // what the last point told
	over time.Time       // when the last alarm was; zero: there was none
	who  map[int]float64 // DP: seconds since the onset in which it stood out
	calm calm

	gathered    signals.Histogram
	gatheredFor time.Duration
	history     history
	lately      map[int]*lately // by DP, of rates
	knows       bool            // what is usual was looked at once
	fromStart   bool            // nothing usual is known: it was not as it should be from the beginning
	queues      []moment
	series      []entry // raw values of the last minute, baseline included: larger is worse
	seen        map[int]bool
	gone        int // a rank that silent misses
}

type moment struct {
	at time.Time
	v  float64
}

// settle is how long what a server says is not judged after it has started again: its first
// requests compile and allocate.
const settle = 30 * time.Second

// Pause has samples of groups not judged until Resume: a capture slows their servers down, and has them stand still
// while their profilers write.
func (e *Engine) Pause(groups ...string) {
	e.paused = map[string]bool{}
	for _, g := range groups {
		e.paused[g] = true
	}
}

// catchUp is how long a server takes after a capture until all is as before.
const catchUp = time.Second

// Resume ends it. Samples that begin before servers have caught up are not judged either.
func (e *Engine) Resume(at time.Time) {
	if e.blind == nil {
		e.blind = map[string]time.Time{}
	}
	for g := range e.paused {
		e.blind[g] = at.Add(catchUp)
	}
	e.paused = nil
}

// Blind tells that a sample is not judged, and is no example of what is usual.
func (e *Engine) Blind(group string, l *signals.Live) bool {
	return e.paused[group] || l.At.Add(-l.Over).Before(e.blind[group])
}

// forget begins anew with a group, whose server has started again: what was on is over.
func (e *Engine) forget(group string, at time.Time) (events []Event) {
	for _, s := range e.of[group] {
		if s.sum.alarm {
			ev := s.told.ended(at, &s.sum)
			ev.Group = group
			events = append(events, ev)
		}
	}
	delete(e.of, group)
	delete(e.past, group)
	return events
}

// Take holds what went on in a group of ranks against all rules.
func (e *Engine) Take(group string, l *signals.Live) (events []Event) {
	if l.Restarted {
		events = e.forget(group, l.At)
	}
	if e.of == nil {
		e.of = map[string][]*state{}
	}
	states := e.of[group]
	if states == nil {
		for i := range e.Rules {
			s := &state{rule: &e.Rules[i]}
			if l.Restarted {
				s.calm.until = l.At.Add(settle)
			}
			states = append(states, s)
		}
		e.of[group] = states
	}
	if e.Blind(group, l) {
		return events
	}
	past := e.remember(group, l)
	for _, s := range states {
		if ev, ok := s.take(l, 2*e.Every); ok {
			ev.Group = group
			// The past must reach back to before the change. The cumulative sum dates it well enough for this check.
			within := l.At.Sub(s.sum.onset) <= lookBack-leastBefore*e.Every
			if !ev.Ended && !s.fromStart && within {
				if after, onset, known := changed(s.sinceLast(past, ev.Who)); known {
					ev.After, ev.Onset = after, onset
				}
			}
			events = append(events, ev)
		}
	}
	return events
}

// remember keeps a sample, and gives those of the last minute.
func (e *Engine) remember(group string, l *signals.Live) []*signals.Live {
	if e.past == nil {
		e.past = map[string][]*signals.Live{}
	}
	past := append(e.past[group], l)
	for len(past) > 1 && l.At.Sub(past[0].At).Abs() > lookBack {
		past = past[1:]
	}
	e.past[group] = past
	return past
}

// On lists what is going on in a group, by the names of its rules.
func (e *Engine) On(group string) (names []string) {
	for _, s := range e.of[group] {
		if s.sum.alarm {
			names = append(names, s.rule.Name)
		}
	}
	return names
}

func (s *state) take(l *signals.Live, most time.Duration) (ev Event, ok bool) {
	if l.At.Before(s.calm.until) {
		return ev, false
	}
	judge := map[Kind]func(*signals.Live) (point, bool){
		Imbalance: s.imbalance, Latency: s.latency, Queue: s.queue, Throughput: s.throughput, Silent: s.silent,
	}[s.rule.Kind]
	p, ok := judge(l)
	if !ok {
		return ev, false
	}
	if p.limit == 0 {
		p.limit = p.high
	}
	if s.rule.Kind == Latency { // a point is of the time in which its observations were gathered
		most = max(most, s.rule.For/3)
	}
	dt := min(max(l.At.Sub(s.sum.last), 0), most).Seconds()
	if p.who >= 0 && p.v > p.normal {
		if s.who == nil {
			s.who = map[int]float64{}
		}
		s.who[l.Ranks[p.who].DP] += dt
	} else if s.rule.Kind == Silent && p.v > 0 {
		s.who = map[int]float64{s.gone: dt}
	}
	who, share := s.outstanding()
	was := s.sum
	changed := s.sum.add(l.At, &p, s.rule.For, most, share >= steady)
	if s.sum.s == 0 {
		s.who = nil
		s.calm.add(p.v, dt)
		s.history.settle()
	}
	ev = Event{Rule: s.rule, At: l.At, Value: s.sum.mean(), Normal: s.calm.or(p.normal), Limit: p.limit, Who: who}
	ev.After, ev.Onset = s.sum.between()
	if changed == ended {
		s.fromStart, s.over = false, l.At
		ev = ev.ended(l.At, &was)
	}
	s.told = ev
	return ev, changed != nothing
}

// ended is the end of what a sum had found.
func (ev Event) ended(at time.Time, was *sum) Event {
	ev.Ended, ev.At, ev.Who, ev.Value = true, at, -1, was.mean()
	ev.After, ev.Onset = was.zero, was.onset
	return ev
}

// steady is the share of the time since the onset in which it must be the same rank that stands out.
const steady = 0.6

// outstanding is the rank that stood out for the longest time since the onset, and its share of that; 1 where none
// does.
func (s *state) outstanding() (who int, share float64) {
	who, longest, all := -1, 0.0, 0.0
	for dp, t := range s.who {
		all += t
		if t > longest || t == longest && dp < who {
			who, longest = dp, t
		}
	}
	if all == 0 {
		return who, 1
	}
	return who, longest / all
}

// calm is the mean of a statistic while nothing happens, over about a minute.
type calm struct {
	mean, weight float64
	until        time.Time // nothing is judged before
}

func (c *calm) add(v, dt float64) {
	const minute = 60
	c.weight = min(c.weight+dt, minute)
	if c.weight > 0 {
		c.mean += (v - c.mean) * dt / c.weight
	}
}

func (c *calm) or(normal float64) float64 {
	if c.weight == 0 {
		return normal
	}
	return c.mean
}

// history is what was normal in the last minutes: points join it only once they have not
// become an alarm.
type history struct {
	past, pending []entry
}

type entry struct {
	at        time.Time
	v, beside float64 // and what else the rule wants to know of it
}

const (
	recent     = 10 * time.Minute
	mostPoints = 600
)

// offer adds a point, which is not known to be normal yet.
func (h *history) offer(e entry) {
	if h.pending = append(h.pending, e); len(h.pending) > mostPoints {
		// It has been so for so long that it is what is normal now.
		h.past, h.pending = h.pending, nil
	}
}

// settle takes what waits into what is normal.
func (h *history) settle() {
	h.past = append(h.past, h.pending...)
	h.pending = h.pending[:0]
	if n := len(h.past) - mostPoints; n > 0 {
		h.past = slices.Delete(h.past, 0, n)
	}
}

// known are the points of the last minutes.
func (h *history) known(now time.Time) []entry {
	first := slices.IndexFunc(h.past, func(e entry) bool { return now.Sub(e.at) <= recent })
	if first < 0 {
		return nil
	}
	return h.past[first:]
}

// median is that of the last minutes; ok is false if there are too few points.
func (h *history) median(now time.Time) (m float64, ok bool) {
	past := h.known(now)
	if len(past) < some {
		return 0, false
	}
	return middle(past, func(e entry) float64 { return e.v }), true
}
