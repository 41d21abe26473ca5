// Package watch follows running servers. When ranks diverge or requests become slow, the package detects this and
// captures a window.
//
// [Watch.Do] starts one follower per server, which takes samples (package signals). The rules of package detect are
// applied to the samples, and each result becomes an [Event]. Package torch or nsys then captures a window. The window
// is explained, and the explanation is combined with the signals in a [Verdict].
//
// A watch can run for days. Its history is bounded, and servers that are down are awaited.
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
	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/capture/gpus"
	"github.com/stepscope/stepscope/internal/capture/nsys"
	"github.com/stepscope/stepscope/internal/capture/signals"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/watch/detect"
	"github.com/stepscope/stepscope/trace"
)

// Watch configures the servers to follow, the rules, and the response to alarms.
type Watch struct {
	Targets []torch.Target
	Logs    []Log
	Rules   []detect.Rule
	Every   time.Duration // sampling interval
	For     time.Duration // duration of the watch; 0: until interrupted

	Capture Capture
	Ring    Ring

	Run    *runs.Run    // stores series and captures; nil: none
	Dir    string       // directory of captures
	Log    io.Writer    // events, as JSON lines; nil: no log
	Series io.Writer    // samples, as JSON lines; nil: none
	GPUs   string       // source of samples of the GPUs, see gpus.Start; "": none
	Exec   string       // shell command to run for each event; "": none
	Listen net.Listener // for watch's own /metrics; nil: none
	Alerts Alerts

	Version string // version of stepscope, for /metrics

	Say  *progress.Console
	Tell func(line string) // prints a line for the user

	// See and Hear are optional observers. See receives each sample of a server, or the error that occurred while
	// taking the sample. Hear receives each event and a sentence that describes the event.
	See  func(server string, at time.Time, now *signals.Live, err error)
	Hear func(e *Event, says string)

	sampler *gpus.Sampler // nil: none
}

// Log is the log file of a server. Its lines about the load contain data that the server does not export.
type Log struct {
	Server string // name or URL; "": the only server
	Path   string // "-": stdin
}

// Of returns the index of the server that wrote the log. The parameter servers holds the name and the URL of each
// server. If there are no servers, Of returns -1, since the log is then followed by itself.
func (l *Log) Of(servers [][2]string) (int, error) {
	i := slices.IndexFunc(servers, func(s [2]string) bool { return l.Server != "" && (s[0] == l.Server || s[1] == l.Server) })
	switch {
	case l.Server == "" && len(servers) == 0:
		return -1, nil
	case l.Server == "" && len(servers) == 1:
		return 0, nil
	case i < 0 && l.Server == "":
		return 0, fmt.Errorf("--log %s: there are %d servers: name the log's server, as in NAME=%s", l.Path, len(servers), l.Path)
	case i < 0:
		return 0, fmt.Errorf("--log %s=%s: no server has that name", l.Server, l.Path)
	}
	return i, nil
}

// Capture configures captures and their limits.
type Capture struct {
	Window      torch.Window
	Options     torch.Options
	Nsys        *nsys.ExternalSession // standby session of Nsight Systems, used instead of the torch profiler
	NsysTime    time.Duration         // length of the windows of Nsys
	Cooldown    time.Duration         // minimum time between captures for the same cause
	Most        int                   // maximum number of captures
	MostBytes   int64                 // maximum total size
	MostMemory  int64                 // memory that is available for explaining a capture, in bytes; 0: unknown
	ReadReports func(ctx context.Context, path string) (db string, done func(), err error)
}

// Do follows the servers until ctx ends or For has passed. It then waits for a capture in progress.
func (w *Watch) Do(ctx context.Context) error {
	m := w.coordinator()
	if err := m.meet(ctx); err != nil {
		return err
	}
	return m.follow(ctx)
}

// follow watches the servers found by meet.
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
	if len(w.Alerts.URLs) > 0 {
		run := ""
		if w.Run != nil {
			run = w.Run.Dir()
		}
		m.alerts = startAlerts(&w.Alerts, run, w.Say)
		defer m.alerts.end()
	}
	if w.Listen != nil {
		m.counts.version = w.Version
		defer m.counts.serve(w.Listen)()
	}
	if err := w.sampleGPUs(ctx); err != nil {
		return err
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
	for _, f := range m.followers {
		if text := f.unreadLog(); text != "" {
			w.Say.Lack("%s", text)
		}
	}
	m.ring.end()
	m.err = errors.Join(m.err, w.keepGPUs())
	m.tell(&Event{Kind: KindEnd, At: time.Now(), Captures: m.budget.made, Seconds: time.Since(m.began).Seconds(), Blind: m.blind.Seconds()})
	return errors.Join(context.Cause(ctx), m.err)
}

// sampleGPUs begins to sample the GPUs. A capture may outlast ctx, so the samples do, too.
func (w *Watch) sampleGPUs(ctx context.Context) (err error) {
	if w.GPUs != "" {
		var servers []string
		for i := range w.Targets {
			servers = append(servers, w.Targets[i].URL)
		}
		w.sampler, err = gpus.Start(context.WithoutCancel(ctx), w.GPUs, func(line string) { w.Say.Warn("%s", line) }, servers...)
	}
	return err
}

// keepGPUs ends the samples of the GPUs and adds them to the run.
func (w *Watch) keepGPUs() error {
	if w.sampler == nil {
		return nil
	}
	states, err := w.sampler.End()
	if err != nil {
		w.Say.Lack("the samples of the GPUs are incomplete: %v", err)
	}
	if w.Run == nil {
		return nil
	}
	return w.Run.WriteJSON(runs.File{Path: trace.GPUsFile, Kind: runs.KindMetrics, Format: "json", Source: w.GPUs}, trace.GPUs{Format: 1, States: states})
}

// meet identifies the servers and takes a first sample of each server, so that permanent errors are reported at once.
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
			m.followers = append(m.followers, newFollower(&reached[i], w.Targets, w.Every, o.Client))
		}
	}
	if err := m.takeLogs(); err != nil {
		return err
	}
	return m.group(ctx)
}

// group takes a first sample of each server and decides which servers are compared with each other.
func (m *coordinator) group(ctx context.Context) error {
	for _, f := range m.followers {
		if err := f.meet(ctx); err != nil {
			return err
		}
		m.groups = append(m.groups, &group{name: f.name, of: []*follower{f}})
	}
	// Servers of the same role are also compared with each other.
	roles := map[string][]*follower{}
	for _, f := range m.followers {
		roles[f.role()] = append(roles[f.role()], f)
	}
	for role, of := range roles {
		if len(of) > 1 {
			m.groups = append(m.groups, &group{name: cmp.Or(role, "all") + " servers", of: of})
		}
	}
	sorts.Stable(m.groups, func(a, b *group) int { return cmp.Compare(len(a.of), len(b.of)) })
	return nil
}

// takeLogs assigns each log to the follower of the server that wrote the log. A log without a server gets a separate
// follower.
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

// begin reports the servers that are followed, and the data that they do not provide.
func (m *coordinator) begin() {
	for _, f := range m.followers {
		m.see(f, f.last.At, nil)
		what := "lines about the load from a log"
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

// reading is a sample of one server, or the error that occurred while taking the sample.
type reading struct {
	of     *follower
	at     time.Time
	sample *signals.Sample
	err    error
}
