package detect

import (
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/capture/signals"
)

// Event is the beginning or the end of a condition that a rule detects.
type Event struct {
	Rule  *Rule
	Group string // the group passed to Take
	Ended bool

	At    time.Time // time at which the change became certain
	After time.Time // last normal sample; the change lies between After and Onset
	Onset time.Time // first sample that is not normal

	Value  float64 // mean of the rule's statistic since the onset
	Normal float64 // mean over the minute before the onset, or the rule's nominal value
	Limit  float64
	Who    int // DP rank of the outlier; -1: none
}

// Engine applies rules to series of samples. It is not safe for concurrent use.
type Engine struct {
	Rules []Rule
	Every time.Duration // sampling interval; a point counts for at most twice this interval

	of     map[string][]*state        // by group
	past   map[string][]*signals.Live // the last minute, by group
	paused map[string]bool            // by group
	blind  map[string]time.Time       // by group: time until which no rule is applied
}

// state is the state of a rule for one group.
type state struct {
	rule *Rule
	sum  sum
	told Event           // event of the last point
	over time.Time       // end of the last alarm; zero: none
	who  map[int]float64 // by DP rank: time since the onset in which the rank was the outlier, s
	calm calm

	gathered    signals.Histogram
	gatheredFor time.Duration
	history     history
	lately      map[int]*lately // by DP rank; used for rates
	knows       bool            // the baseline has been checked once
	fromStart   bool            // no baseline: the series was abnormal from the start
	queues      []moment
	series      []entry // raw values of the last minute, including the baseline; larger values are worse
	seen        map[int]bool
	gone        int // rank that is missing, for the rule Silent
}

type moment struct {
	at time.Time
	v  float64
}

// settle is the time after a restart in which no rule is applied to a server. During its first requests, a server
// compiles kernels and allocates memory.
const settle = 30 * time.Second

// Pause suspends the rules for the given groups until Resume is called. A capture slows down the servers. It also
// stalls them while the profilers write.
func (e *Engine) Pause(groups ...string) {
	e.paused = map[string]bool{}
	for _, g := range groups {
		e.paused[g] = true
	}
}

// catchUp is the time that a server needs to recover after a capture.
const catchUp = time.Second

// Resume ends a Pause. Samples that begin before the servers have recovered from the capture are still ignored by the
// rules.
func (e *Engine) Resume(at time.Time) {
	if e.blind == nil {
		e.blind = map[string]time.Time{}
	}
	for g := range e.paused {
		e.blind[g] = at.Add(catchUp)
	}
	e.paused = nil
}

// Blind reports whether a sample of a group is excluded from the rules and from the baselines.
func (e *Engine) Blind(group string, l *signals.Live) bool {
	return e.paused[group] || l.At.Add(-l.Over).Before(e.blind[group])
}

// forget resets the state of a group whose server has restarted, and returns the end events of the group's active
// alarms.
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

// Take applies all rules to a sample of a group of ranks and returns the resulting events.
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
			// The history must begin before the change. For this check, the onset from the cumulative sum is accurate
			// enough.
			within := l.At.Sub(s.sum.onset) <= lookBack-leastBefore*e.Every
			if !ev.Ended && !s.fromStart && within {
				series := s.sinceLast(past, ev.Who)
				if len(series) > leastBefore && series[leastBefore-1].at.Before(s.sum.onset) {
					if after, onset, known := changed(series); known {
						ev.After, ev.Onset = after, onset
					}
				}
			}
			events = append(events, ev)
		}
	}
	return events
}

// remember stores a sample and returns the group's samples of the last minute.
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

// On returns the names of a group's active alarms.
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
	if s.rule.Kind == Latency { // the point covers the whole time in which its observations were gathered
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

// ended returns the event that ends the alarm of ev.
func (ev Event) ended(at time.Time, was *sum) Event {
	ev.Ended, ev.At, ev.Who, ev.Value = true, at, -1, was.mean()
	ev.After, ev.Onset = was.zero, was.onset
	return ev
}

// steady is the minimum share of the time since the onset in which the same rank must be the outlier.
const steady = 0.6

// outstanding returns the rank that was the outlier for the longest time since the onset, and the share of the time
// since the onset in which it was. It returns -1 and 1 if no rank was an outlier.
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

// calm is the mean of a statistic in normal operation. It averages over about one minute.
type calm struct {
	mean, weight float64
	until        time.Time // time before which nothing is judged
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

// history holds the normal points of the last minutes. A point is added only when it is certain that the point was not
// the beginning of an alarm.
type history struct {
	past, pending []entry
}

type entry struct {
	at        time.Time
	v, beside float64 // beside holds extra data whose meaning depends on the rule
}

const (
	recent     = 10 * time.Minute
	mostPoints = 600
)

// offer adds a point to the pending points. It is not yet known whether pending points are normal.
func (h *history) offer(e entry) {
	if h.pending = append(h.pending, e); len(h.pending) > mostPoints {
		// The pending state has lasted so long that it is the new normal.
		h.past, h.pending = h.pending, nil
	}
}

// settle adds the pending points to the baseline.
func (h *history) settle() {
	h.past = append(h.past, h.pending...)
	h.pending = h.pending[:0]
	if n := len(h.past) - mostPoints; n > 0 {
		h.past = slices.Delete(h.past, 0, n)
	}
}

// known returns the normal points of the last minutes.
func (h *history) known(now time.Time) []entry {
	first := slices.IndexFunc(h.past, func(e entry) bool { return now.Sub(e.at) <= recent })
	if first < 0 {
		return nil
	}
	return h.past[first:]
}

// median returns the median of the normal points of the last minutes. ok is false if there are too few points.
func (h *history) median(now time.Time) (m float64, ok bool) {
	past := h.known(now)
	if len(past) < some {
		return 0, false
	}
	return middle(past, func(e entry) float64 { return e.v }), true
}
