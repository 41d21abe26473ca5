// Package watch follows servers that run, finds the moment at which their ranks drift apart or
// their requests become slow, and captures a window at that moment by itself.
//
// [Watch.Run] conducts: a follower for each server takes samples (package signals), the rules
// of package detect are held against them, and what these find becomes an [Event]; a capture is
// then made by package torch, explained, and joined with the signals to one [Verdict].
package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/capture/signals"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/watch/detect"
)

// Watch says whom to follow, and what to do about what is found.
type Watch struct {
	Targets []torch.Target
	Rules   []detect.Rule
	Every   time.Duration // between samples
	For     time.Duration // 0: until it is ended

	Window      torch.Window
	Options     torch.Options
	Cooldown    time.Duration // between captures
	MaxCaptures int
	MaxBytes    int64 // of all captures

	Run  *runs.Run // keeps what was seen; nil: none is kept
	Dir  string    // where captures lie
	Log  io.Writer // events, as JSON lines
	Say  *progress.Console
	Tell func(lines ...string) // for people

	events events
	budget budget
}

// reading is a sample of one server, or why there is none.
type reading struct {
	of     *follower
	at     time.Time
	sample *signals.Sample
	err    error
}

// Do follows the servers until ctx ends or the time is over. A capture that has begun by then is
// finished.
func (w *Watch) Do(ctx context.Context) error {
	w.events = events{to: w.Log, run: w.Run}
	followers, err := w.meet(ctx)
	if err != nil {
		return err
	}
	limited, cancel := ctx, context.CancelFunc(func() {})
	if w.For > 0 {
		limited, cancel = context.WithTimeout(ctx, w.For)
	}
	defer cancel()
	w.begin(followers)
	m := &mind{w: w, followers: followers, engine: &detect.Engine{Rules: w.Rules, Every: w.Every}, shots: make(chan *shot, 1)}
	readings := make(chan reading)
	var wg sync.WaitGroup
	for _, f := range followers {
		wg.Go(func() { f.follow(limited, readings) })
	}
	err = m.think(limited, readings)
	cancel()
	wg.Wait()
	w.events.add(&Event{Kind: "end", At: time.Now(), Captures: w.budget.made})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(err, w.events.err)
}

// meet looks at each server once, so that what no waiting mends is said at once.
func (w *Watch) meet(ctx context.Context) ([]*follower, error) {
	var out []*follower
	for _, t := range w.Targets {
		f := newFollower(t, w.Every)
		if err := f.meet(ctx); err != nil {
			return nil, fmt.Errorf("%w", err)
		}
		out = append(out, f)
	}
	return out, nil
}

// begin says who is followed, and what is not known of them.
func (w *Watch) begin(all []*follower) {
	for _, f := range all {
		lacks := f.reader.Lacks(f.last)
		w.events.add(&Event{Kind: "begin", At: f.last.At, Server: f.name, Ranks: len(f.last.Ranks), Lacks: lacks})
		w.Tell(fmt.Sprintf("%s: %s", f.name, plural(len(f.last.Ranks), "data-parallel rank")))
		for _, l := range lacks {
			w.Say.Line(fmt.Sprintf("%s: %s", f.name, l))
		}
	}
}

// mind is who decides: one goroutine.
type mind struct {
	w         *Watch
	followers []*follower
	engine    *detect.Engine
	shots     chan *shot // that have ended
	shooting  *shot      // nil: none goes on
}

// think holds samples against the rules until ctx ends, and after that waits for the capture under way.
func (m *mind) think(ctx context.Context, readings <-chan reading) error {
	for {
		select {
		case r := <-readings:
			m.take(ctx, r)
		case s := <-m.shots:
			m.shot(s)
		case <-ctx.Done():
			if m.shooting != nil {
				m.shot(<-m.shots)
			}
			return nil
		}
	}
}

func (m *mind) take(ctx context.Context, r reading) {
	f := r.of
	if r.err != nil {
		if said := f.lost(r.at, r.err); said != "" {
			m.w.events.add(&Event{Kind: "lost", At: r.at, Server: f.name, Error: said})
			m.w.Tell(clock(r.at) + "  " + said)
		}
		return
	}
	if gone := f.back(r.at); gone > 0 {
		m.w.events.add(&Event{Kind: "back", At: r.at, Server: f.name, Seconds: gone.Seconds()})
		m.w.Tell(fmt.Sprintf("%s  %s: answers again after %v", clock(r.at), f.name, gone.Round(time.Second)))
	}
	f.take(r.sample)
	l := f.live
	if l.Restarted {
		m.w.events.add(&Event{Kind: "restarted", At: r.at, Server: f.name})
		m.w.Tell(fmt.Sprintf("%s  %s: has started again", clock(r.at), f.name))
	}
	var began []detect.Event
	for _, ev := range m.engine.Take(f.name, l) {
		e := eventOf(f, &ev)
		m.w.events.add(e)
		m.w.Tell(clock(ev.At) + "  " + e.text())
		if !ev.Ended {
			began = append(began, ev)
		}
	}
	if len(began) > 0 {
		m.consider(ctx, f, began)
	}
}

// consider begins a capture, if there may be one.
func (m *mind) consider(ctx context.Context, f *follower, began []detect.Event) {
	w := m.w
	now := f.live.At
	why := ""
	if m.shooting != nil {
		why = "another capture is under way"
	} else {
		why = w.budget.refuses(w, now)
	}
	if why != "" {
		w.events.add(&Event{Kind: "skipped", At: now, Server: f.name, Error: why})
		w.Say.Line("no capture: " + why)
		return
	}
	w.budget.begin(now)
	m.engine.Pause()
	m.shooting = &shot{n: w.budget.made, at: now, of: []*follower{f}, why: began}
	w.events.add(&Event{Kind: "capture", At: now, Server: f.name, Capture: m.shooting.name()})
	s := m.shooting
	s.history = slices.Clone(f.past)
	go func() {
		s.take(ctx, w)
		m.shots <- s
	}()
}

// shot takes what came of a capture.
func (m *mind) shot(s *shot) {
	m.shooting = nil
	m.engine.Resume()
	w := m.w
	w.budget.spent(s.bytes)
	if s.err != nil {
		w.events.add(&Event{Kind: "failed", At: time.Now(), Server: s.of[0].name, Capture: s.name(), Error: s.err.Error()})
		w.Say.Lack("%s: %v", s.name(), s.err)
		return
	}
	v := s.verdict()
	w.events.add(&Event{Kind: "verdict", At: time.Now(), Server: s.of[0].name, Capture: s.name(), Dir: s.dir, Verdict: v})
	w.Tell(v.lines(s.dir)...)
}

func clock(t time.Time) string { return t.Format(time.TimeOnly) }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
