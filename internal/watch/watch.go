// Package watch follows servers that run, finds the moment at which their ranks drift apart or
// their requests become slow, and captures a window at that moment by itself.
//
// [Watch.Do] conducts: a follower for each server takes samples (package signals), the rules of
// package detect are held against them, and what these find becomes an [Event]; a capture is then
// made by package torch or nsys, explained, and joined with the signals to one [Verdict].
//
// It runs for days: what it keeps of the past has a bound, and a server that is gone is waited for.
package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/capture/nsys"
	"github.com/stepscope/stepscope/internal/capture/signals"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/watch/detect"
)

// Watch says whom to follow, and what to do about what is found.
type Watch struct {
	Targets []torch.Target
	Logs    []Log
	Rules   []detect.Rule
	Every   time.Duration // between samples
	For     time.Duration // 0: until it is ended

	Capture Capture
	Ring    Ring

	Run    *runs.Run    // keeps what was seen and captured; nil: none is kept
	Dir    string       // where captures lie
	Log    io.Writer    // events, as JSON lines; nil: nobody reads them
	Series io.Writer    // what was seen, as JSON lines; nil: nobody reads it
	Exec   string       // is run by a shell for each event; "": nothing is
	Listen net.Listener // for /metrics of its own; nil: none

	Say  *progress.Console
	Tell func(line string) // what people are to read, a line at a time

	// Others who look on; nil: nobody does. See is told what went on in a server up to a moment, or why nothing is known;
	// Hear of each event, in a sentence.
	See  func(server string, at time.Time, now *signals.Live, err error)
	Hear func(e *Event, says string)
}

// Log is a log of a server: its batch lines tell what the server itself does not.
type Log struct {
	Server string // by its name or URL; "": of the only one
	Path   string // "-": stdin
}

// Of tells whose log it is of servers with these names and URLs; -1: there is no server, it stands for one.
func (l *Log) Of(servers [][2]string) (int, error) {
	i := slices.IndexFunc(servers, func(s [2]string) bool { return l.Server != "" && (s[0] == l.Server || s[1] == l.Server) })
	switch {
	case l.Server == "" && len(servers) == 0:
		return -1, nil
	case l.Server == "" && len(servers) == 1:
		return 0, nil
	case i < 0 && l.Server == "":
		return 0, fmt.Errorf("--log %s: there are %d servers: say whose it is, as NAME=%s", l.Path, len(servers), l.Path)
	case i < 0:
		return 0, fmt.Errorf("--log %s=%s: there is no server of that name", l.Server, l.Path)
	}
	return i, nil
}

// Capture says how a window is captured, and how much captures may take.
type Capture struct {
	Window      torch.Window
	Options     torch.Options
	Nsys        *nsys.ExternalSession // instead: a session of Nsight Systems that stands by
	NsysTime    time.Duration         // how long it collects
	Cooldown    time.Duration         // from one capture to the next of the same cause, and of what that showed
	Most        int                   // captures
	MostBytes   int64                 // of all of them
	MostMemory  int64                 // for explaining one; 0: not known
	ReadReports func(ctx context.Context, path string) (db string, done func(), err error)
}

// Do follows the servers until ctx ends or the time is over. A capture that has begun by then is
// finished.
func (w *Watch) Do(ctx context.Context) error {
	m := w.coordinator()
	if err := m.meet(ctx); err != nil {
		return err
	}
	return m.follow(ctx)
}

// follow follows whom meet has met.
func (m *coordinator) follow(ctx context.Context) error {
	w := m.w
	limited, cancel := ctx, context.CancelFunc(func() {})
	if w.For > 0 {
		limited, cancel = context.WithTimeout(ctx, w.For)
	}
	defer cancel()
	if w.Exec != "" {
		m.exec = startExec(w.Exec, w.Say)
		defer m.exec.end()
	}
	if w.Listen != nil {
		defer m.counts.serve(w.Listen)()
	}
	m.begin()
	readings := make(chan reading)
	var all sync.WaitGroup
	for _, f := range m.followers {
		all.Go(func() { f.follow(limited, readings) })
	}
	end := w.Say.Show(m.screen.frame)
	m.run(ctx, limited, readings)
	end()
	cancel()
	all.Wait()
	m.ring.end()
	m.tell(&Event{Kind: KindEnd, At: time.Now(), Captures: m.budget.made, Seconds: time.Since(m.began).Seconds(), Blind: m.blind.Seconds()})
	return errors.Join(context.Cause(ctx), m.err)
}

// meet finds out what the servers are, and takes a first sample of each, so that what no waiting
// mends is said at once.
func (m *coordinator) meet(ctx context.Context) error {
	w := m.w
	if len(w.Targets) > 0 {
		o := w.Capture.Options
		o.Log = func(string) {}
		reached, left, err := torch.Reach(ctx, w.Targets, o)
		if err != nil {
			return err
		}
		for _, l := range left {
			w.Say.Lack("%s", l)
		}
		for i := range reached {
			m.followers = append(m.followers, newFollower(&reached[i], w.Targets, w.Every))
		}
	}
	if err := m.takeLogs(); err != nil {
		return err
	}
	return m.group(ctx)
}

// group takes a first sample of each, and says which are compared with each other.
func (m *coordinator) group(ctx context.Context) error {
	for _, f := range m.followers {
		if err := f.meet(ctx); err != nil {
			return err
		}
		m.groups = append(m.groups, &group{name: f.name, of: []*follower{f}})
	}
	// Servers of one role are compared with each other, too.
	roles := map[string][]*follower{}
	for _, f := range m.followers {
		roles[f.role()] = append(roles[f.role()], f)
	}
	for role, of := range roles {
		if len(of) > 1 {
			m.groups = append(m.groups, &group{name: cmp.Or(role, "all") + " servers", of: of})
		}
	}
	slices.SortStableFunc(m.groups, func(a, b *group) int { return cmp.Compare(len(a.of), len(b.of)) })
	return nil
}

// takeLogs gives logs to the followers of their servers. One without a server is followed by itself.
func (m *coordinator) takeLogs() error {
	var servers [][2]string
	for _, f := range m.followers {
		servers = append(servers, [2]string{f.name, f.url()})
	}
	for _, l := range m.w.Logs {
		i, err := l.Of(servers)
		if err != nil {
			return err
		}
		t, err := signals.OpenTail(l.Path)
		if err != nil {
			return err
		}
		if i < 0 {
			m.followers = append(m.followers, &follower{name: l.Path, every: m.w.Every})
			i = len(m.followers) - 1
		}
		m.followers[i].tail = t
	}
	return nil
}

// begin says who is followed, and what is not known of them.
func (m *coordinator) begin() {
	for _, f := range m.followers {
		m.see(f, f.last.At, nil)
		what := "batch lines of a log"
		if f.server != nil {
			what = f.server.String()
		}
		lacks := f.lacks()
		e := &Event{Kind: KindBegin, At: f.last.At, Server: f.name, Ranks: len(f.last.Ranks), Lacks: lacks}
		m.tell(e, fmt.Sprintf("%s: %s", f.name, what))
		for _, l := range lacks {
			m.w.Say.Line(fmt.Sprintf("%s: %s", f.name, l))
		}
	}
}

// reading is a sample of one server, or why there is none.
type reading struct {
	of     *follower
	at     time.Time
	sample *signals.Sample
	err    error
}
