package watch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/capture/collect"
	"github.com/stepscope/stepscope/internal/watch/detect"
)

// coordinator makes all decisions of a watch. It runs in one goroutine.
type coordinator struct {
	w         *Watch
	began     time.Time
	followers []*follower
	groups    []*group // groups of one server come before groups of several servers
	engine    *detect.Engine
	capture   func(context.Context, *shot) // runs a capture

	shots    chan *shot        // finished captures
	shooting *shot             // the capture in progress; nil: none
	waiting  map[string]*alarm // alarms waiting for a capture, by key
	budget   budget
	ring     ring

	exec   *executor
	alerts *alerter
	counts counts
	screen screen
	blind  time.Duration // total length of the windows that the watch captured, over all servers
	err    error         // first write error
}

func (w *Watch) coordinator() *coordinator {
	return &coordinator{
		w: w, shots: make(chan *shot, 1), waiting: map[string]*alarm{}, engine: &detect.Engine{Rules: w.Rules, Every: w.Every},
		capture: func(ctx context.Context, s *shot) { s.take(ctx) }, began: time.Now(),
	}
}

// alarm is an event of a group.
type alarm struct {
	of *group
	detect.Event
	refused []string // reasons for refusing a capture that have already been logged
}

func (a *alarm) key() string { return a.of.name + "\x00" + a.Rule.Name }

// before reports whether the alarm a is captured before b. The order is decided by three criteria, the most important
// first: alarms of the user's rules precede others, alarms of groups with one server precede alarms of groups with
// several servers, and alarms that name a rank precede alarms that do not.
func (a *alarm) before(b *alarm) bool {
	rank := func(a *alarm) int {
		n := 0
		for i, is := range []bool{a.Who >= 0, len(a.of.of) == 1, a.Rule.Asked} {
			if is {
				n += 1 << i
			}
		}
		return n
	}
	return rank(a) > rank(b)
}

// run applies the rules to samples until limited ends. It then waits for the capture in progress. After ctx ends, the
// capture in progress may continue for finishIn.
func (m *coordinator) run(ctx, limited context.Context, readings <-chan reading) {
	for {
		select {
		case r := <-readings:
			m.take(ctx, &r)
		case s := <-m.shots:
			m.shot(s)
		case <-limited.Done():
			if m.shooting != nil {
				m.w.Say.Line("waiting for " + m.shooting.what() + " to finish")
				m.shot(<-m.shots)
			}
			return
		}
	}
}

// take processes one reading of a follower.
func (m *coordinator) take(ctx context.Context, r *reading) {
	f := r.of
	if r.err != nil {
		if said := f.lost(r.at, r.err); said != "" {
			m.tell(&Event{Kind: KindLost, At: r.at, Server: f.name, Error: said}, fmt.Sprintf("%s  %s: %s", clock(r.at), f.name, said))
		}
		m.see(f, r.at, r.err)
		m.screen.set(m)
		return
	}
	if gone := f.back(r.at); gone > 0 {
		m.tell(&Event{Kind: KindBack, At: r.at, Server: f.name, Seconds: gone.Seconds()}, fmt.Sprintf("%s  %s: answers again after %v", clock(r.at), f.name, gone.Round(time.Second)))
	}
	f.take(r.sample)
	if f.live.Restarted {
		if said := f.restarted(r.at); said != "" {
			m.tell(&Event{Kind: KindRestarted, At: r.at, Server: f.name}, fmt.Sprintf("%s  %s: %s", clock(r.at), f.name, said))
		}
	}
	m.note(f)
	m.see(f, r.at, nil)
	for _, g := range m.groups {
		if g.takes(f) && g.look() {
			m.judge(g)
		}
	}
	m.counts.seen(f)
	m.screen.set(m)
	if !m.consider(ctx) {
		m.turn(ctx)
	}
}

// see forwards a sample to the observer.
func (m *coordinator) see(f *follower, at time.Time, err error) {
	if m.w.See != nil {
		m.w.See(f.name, at, f.live, err)
	}
}

// judge applies the rules to the current sample of a group.
func (m *coordinator) judge(g *group) {
	for _, ev := range m.engine.Take(g.name, g.live) {
		a := &alarm{of: g, Event: ev}
		m.tell(eventOf(a), clock(ev.At)+"  "+a.text())
		if ev.Ended {
			delete(m.waiting, a.key())
			continue
		}
		m.waiting[a.key()] = a
	}
}

// consider starts a capture if an alarm is waiting for a capture and the budget allows it.
func (m *coordinator) consider(ctx context.Context) bool {
	if m.shooting != nil {
		return false
	}
	now := time.Now()
	keys := slices.Sorted(maps.Keys(m.waiting))
	var first *alarm
	for _, k := range keys {
		a := m.waiting[k]
		if m.refuses(a, now) {
			continue
		}
		if first == nil || a.before(first) {
			first = a
		}
	}
	if first == nil {
		return false
	}
	servers, _ := first.of.concerned(first.Who)
	s := &shot{w: m.w, of: first.of, servers: servers, at: now, past: slices.Clone(first.of.past), why: []*alarm{first}}
	for _, k := range keys {
		if a := m.waiting[k]; a.of == first.of && a != first {
			s.why = append(s.why, a)
		}
	}
	for _, a := range s.why {
		delete(m.waiting, a.key())
	}
	m.budget.begin(s, m.groupsOf(s))
	s.before = m.ring.keep(m, s)
	m.tell(&Event{Kind: KindCapture, At: now, Server: first.of.name, Rule: first.Rule.Name, Capture: s.name})
	m.begins(ctx, s)
	return true
}

// refuses reports whether the budget currently refuses a capture for an alarm. It logs each reason for refusal once per
// alarm.
func (m *coordinator) refuses(a *alarm, now time.Time) bool {
	why := m.budget.refuses(&m.w.Capture, a, now)
	if _, none := a.of.concerned(a.Who); none != "" {
		why = none
	}
	if why != "" && !slices.Contains(a.refused, why) {
		a.refused = append(a.refused, why)
		m.tell(&Event{Kind: KindSkipped, At: now, Server: a.of.name, Rule: a.Rule.Name, Rank: a.of.rank(a.Who), Error: why})
		m.w.Say.Line(fmt.Sprintf("no capture for %s: %s", a.Rule.Name, why))
	}
	return why != ""
}

// groupsOf returns the groups whose servers are slowed down by a capture. If a worker can be reached only through its
// router, all other workers of the router are captured together with the worker.
func (m *coordinator) groupsOf(s *shot) (names []string) {
	for _, g := range m.groups {
		if slices.ContainsFunc(g.of, func(f *follower) bool {
			return f.server != nil && slices.ContainsFunc(s.servers, func(o *follower) bool {
				return o == f || o.server.Base != o.server.URL && o.server.Front.URL == f.server.Front.URL
			})
		}) {
			names = append(names, g.name)
		}
	}
	return names
}

// begins starts a capture in the background.
func (m *coordinator) begins(ctx context.Context, s *shot) {
	m.engine.Pause(m.groupsOf(s)...)
	m.shooting = s
	s.budget = collect.NewBudget(m.w.Capture.MostBytes - m.budget.bytes)
	go func() {
		m.capture(ctx, s)
		m.shots <- s
	}()
}

// shot processes the result of a finished capture.
func (m *coordinator) shot(s *shot) {
	m.shooting = nil
	now := time.Now()
	m.engine.Resume(now)
	m.blind += now.Sub(s.at)
	if s.ring {
		m.ring.ended(m, now, now.Sub(s.at))
		m.ring.take(m, s)
		return
	}
	m.budget.spent(s.bytes)
	m.ring.after = s
	server := s.of.name
	if errors.Is(s.err, collect.ErrBudget) {
		m.budget.full = s.name
	}
	if s.err != nil {
		m.tell(&Event{Kind: KindFailed, At: time.Now(), Server: server, Capture: s.name, Error: s.err.Error()})
		m.w.Say.Lack("%s: %v", s.name, s.err)
		return
	}
	v := s.verdict()
	m.tell(&Event{Kind: KindVerdict, At: time.Now(), Server: server, Capture: s.name, Dir: s.dir, Verdict: v}, v.lines(s.dir)...)
}

func clock(t time.Time) string { return t.Format(time.TimeOnly) }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
