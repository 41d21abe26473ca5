package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/stepscope/stepscope/internal/base/httpguard"
	"github.com/stepscope/stepscope/internal/base/memory"
	"github.com/stepscope/stepscope/internal/capture/nsys"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/watch"
)

// watchCmd is "watch".
type watchCmd struct {
	profiledFlags
	podFlags
	LogFile []string      `name:"log" sep:"none" placeholder:"[NAME=]FILE" help:"Log of an SGLang, stepscope or vLLM server, which is followed, too; - for stdin. With several servers, NAME is the server's name or URL."`
	Every   time.Duration `default:"1s" help:"Time between samples."`
	For     time.Duration `placeholder:"TIME" help:"End after this time (default: when interrupted)."`
	ruleFlags

	OutputDir string `name:"output-dir" placeholder:"DIR" help:"Directory on the servers for their traces, as for profile."`
	NumSteps  int    `name:"num-steps" limits:"1.." default:"10" help:"Forward steps per capture."`
	GPUs      string `name:"gpus" bare:"nvidia-smi" placeholder:"[URL]" help:"Sample the clocks of the GPUs, with nvidia-smi here, or from the URL of a DCGM exporter: a capture then compares the clock of a late GPU."`
	Lean      bool   `name:"lean" help:"Record only kernels and launches, which slows the servers least."`
	fetchFlags
	Timeout     time.Duration `default:"5m" help:"Close a window that is still open after this time."`
	Cooldown    time.Duration `default:"10m" help:"Minimum time from the beginning of one capture to the next for the same cause."`
	MaxCaptures int           `name:"max-captures" limits:"0.." default:"5" help:"Maximum number of captures; 0 captures nothing."`
	MaxDisk     string        `name:"max-disk" default:"10GB" placeholder:"BYTES" help:"Disk space that all captures together may use."`
	Nsys        string        `name:"nsys" placeholder:"SESSION" help:"Capture with a waiting Nsight Systems session (nsys run --start-later), given by its name or its run."`
	NsysTime    time.Duration `name:"nsys-time" default:"2s" help:"How long that session collects."`

	Ring      int           `name:"ring" limits:"0.." placeholder:"N" help:"Flight recorder: capture a short window at intervals and keep the last N, so that a capture can be compared with the time before it."`
	RingEvery time.Duration `name:"ring-every" default:"60s" help:"Time from the end of one such window to the next; at least three times as long as the window took."`
	RingSteps int           `name:"ring-steps" limits:"1.." default:"3" help:"Forward steps per such window."`

	Exec         string   `name:"exec" placeholder:"CMD" help:"Run a command with sh for each event, with the event as JSON on stdin."`
	Listen       string   `name:"listen" placeholder:"[HOST:]PORT" help:"Serve the watch's own /metrics at this address."`
	Alertmanager []string `name:"alertmanager" sep:"none" placeholder:"URL" help:"Send alarms to this Alertmanager as alerts, with the verdict of a capture; may be repeated."`
	Insecure     bool     `name:"insecure" help:"Allow --listen beyond loopback."`
	Series       string   `name:"series" placeholder:"FILE" help:"Keep the samples in FILE, one line of JSON per sample."`
	Replay       string   `name:"replay" placeholder:"FILE" without:"url|prefill-url|decode-url|pods|lws|log|series|view|browser|listen|exec|alertmanager|ring|nsys|gpus: replay calls no server" help:"Apply the rules to samples that --series kept, and report what they would have found; no server is called."`

	watchView
	JSON bool `name:"json" help:"Print events as JSON lines."`
	quietFlag
	storeFlags
}

// Help returns the end of the verb's help text.
func (c *watchCmd) Help() string {
	return `When a rule finds a problem, watch reports when it began, and captures, explains and keeps a window. It captures again if the problem ends
and comes back. An idle server is not recorded.

Examples:
  stepscope watch --url http://localhost:30000
  stepscope watch --url http://gpu1:30000 --url http://gpu2:30000 --for 12h --ring 5
  stepscope watch --pods serving/app=sglang --for 12h
  stepscope watch --rules rules.yaml --exec 'mail -s stepscope me@example.org'
  stepscope watch --replay series.jsonl --imbalance 1.3`
}

// AfterApply returns an error for a watch duration of 0, which would otherwise count as unlimited.
func (c *watchCmd) AfterApply(k *kong.Context) error {
	if given(k, "for") && c.For <= 0 {
		return usagef("--for %v: give a time above 0, as 12h", c.For)
	}
	if err := c.podFlags.AfterApply(); err != nil {
		return err
	}
	return c.ruleFlags.given(k)
}

// Run watches the servers.
func (c *watchCmd) Run(ctx context.Context, e *env) (err error) {
	// A watch runs beside a server for days. More frequent garbage collection saves a tenth of the watch's memory and
	// costs a few thousandths of a core.
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	c.apply(e)
	w := &watch.Watch{Every: c.Every, For: c.For, Exec: c.Exec, GPUs: c.GPUs, Alerts: watch.Alerts{URLs: c.Alertmanager}, Version: release(), Say: e.Console, Tell: c.tell(e)}
	if w.Rules, err = c.rules(); err != nil {
		return err
	}
	if c.JSON {
		w.Log = e.data()
	}
	if c.Replay != "" {
		return c.replay(e, w)
	}
	if err := c.check(ctx, e, w); err != nil {
		return err
	}
	if c.Series != "" {
		f, err := os.Create(c.Series)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		w.Series = f
	}
	if c.Listen != "" {
		if w.Listen, err = c.listen(); err != nil {
			return err
		}
		e.Line("listening on http://" + w.Listen.Addr().String() + "/metrics")
	}
	ln, err := c.watchView.open()
	if err != nil {
		return err
	}
	if ln != nil {
		defer ln.Close()
	}
	if w.Run, err = c.create(e, runs.About{Kind: "watch", Tool: "watch", URL: c.urls(w)}); err != nil {
		return err
	}
	if w.Run == nil {
		if w.Dir, err = os.MkdirTemp("", "stepscope-watch-"); err != nil {
			return err
		}
		defer os.Remove(w.Dir) // removed only if it is empty
	} else {
		w.Dir = w.Run.Path("traces")
	}
	if ln != nil {
		defer c.show(ctx, e, w, ln)()
	}
	if w.Run == nil {
		return w.Do(ctx)
	}
	return c.kept(ctx, w)
}

// tell returns a function that prints messages. If the terminal shows a progress display, the messages appear above the
// display.
func (c *watchCmd) tell(e *env) func(string) {
	switch {
	case c.JSON:
		return func(string) {}
	case e.Terminal && e.terminal() != nil && !e.Quiet:
		return e.Line
	}
	return func(line string) { fmt.Fprintln(e.stdout, line) }
}

// watchEvents is the file name of the event log in a run.
const watchEvents = "events.jsonl"

// kept watches the servers, and stores the result as a run.
func (c *watchCmd) kept(ctx context.Context, w *watch.Watch) (err error) {
	log, err := os.Create(w.Run.Path(watchEvents))
	if err != nil {
		return errors.Join(err, w.Run.Finish(runs.Failed, err))
	}
	to := io.Writer(log)
	if w.Log != nil {
		to = io.MultiWriter(log, w.Log)
	}
	w.Log = to
	err = w.Do(ctx)
	status, cause := runs.Complete, err
	switch {
	case ctx.Err() != nil:
		status, cause = runs.Interrupted, nil
	case err != nil:
		status = runs.Failed
	}
	err = errors.Join(err, log.Close())
	if info, statErr := os.Stat(w.Run.Path(watchEvents)); statErr == nil && info.Size() > 0 {
		err = errors.Join(err, w.Run.AddFile(runs.File{Path: watchEvents, Kind: runs.KindLog, Format: "jsonl"}, ""))
	} else {
		os.Remove(w.Run.Path(watchEvents)) // no server was reached, so the log is removed
	}
	finished := w.Run.Finish(status, cause)
	if _, gone := os.Stat(w.Run.Dir()); gone == nil {
		w.Say.Told("run kept: %s", w.Run.Dir())
	}
	return errors.Join(err, finished)
}

// replay applies the rules to a recorded series.
func (c *watchCmd) replay(e *env, w *watch.Watch) error {
	f, err := os.Open(c.Replay)
	if err != nil {
		return fmt.Errorf("--replay: %w", err)
	}
	defer f.Close()
	found := 0
	hear := w.Hear
	w.Hear = func(ev *watch.Event, says string) {
		if ev.Kind == watch.KindAlarm {
			found++
		}
		if hear != nil {
			hear(ev, says)
		}
	}
	samples, strange, err := w.Replay(f)
	if err != nil {
		return fmt.Errorf("--replay %s: %w", c.Replay, err)
	}
	if found == 0 {
		e.Line(fmt.Sprintf("%d samples: no rule found anything (a rule must hold for some seconds, see --hold, and exceed chance)", samples))
	} else {
		e.Line(fmt.Sprintf("%d samples", samples))
	}
	if strange > 0 {
		e.Lack("%s: %d lines are not samples", c.Replay, strange)
	}
	return nil
}

// check validates the flags.
func (c *watchCmd) check(ctx context.Context, e *env, w *watch.Watch) (err error) {
	for _, d := range []struct {
		name string
		of   time.Duration
		zero bool
	}{{"every", c.Every, false}, {"cooldown", c.Cooldown, true}, {"timeout", c.Timeout, false}, {"ring-every", c.RingEvery, false}, {"nsys-time", c.NsysTime, false}} {
		if d.of < 0 || d.of == 0 && !d.zero {
			return usagef("--%s %v: give a time above 0, as 5s", d.name, d.of)
		}
	}
	if c.Every < 50*time.Millisecond {
		return usagef("--every %v: give at least 50ms", c.Every)
	}
	if c.RingEvery < 5*time.Second {
		return usagef("--ring-every %v: give at least 5s: while a window is recorded, and a second after it, nothing is judged", c.RingEvery)
	}
	for _, url := range c.Alertmanager {
		if err := watch.CheckAlertmanager(url); err != nil {
			return usagef("--alertmanager: %v", err)
		}
	}
	for _, l := range c.LogFile {
		w.Logs = append(w.Logs, logOf(l))
	}
	if len(c.URL)+len(c.PrefillURL)+len(c.DecodeURL) > 0 || len(w.Logs) == 0 || c.podFlags.given() {
		if w.Targets, err = c.targets(); err != nil {
			return usageError{err}
		}
	}
	k := &w.Capture
	if k.MostBytes, err = memory.Parse(c.MaxDisk); err != nil {
		return usagef("--max-disk %q: %v", c.MaxDisk, err)
	}
	k.Window.NumSteps = c.NumSteps
	if c.Lean {
		k.Window.Lean()
	}
	if k.Window.OutputDir, err = profilesDir(c.OutputDir); err == nil {
		err = k.Window.Check()
	}
	if err != nil {
		return usageError{err}
	}
	k.Options = torch.Options{Timeout: c.Timeout, Wait: 10 * time.Second, Pace: paceTime, Log: e.Line, Sessions: c.windows()}
	if k.Options.Fetch, err = c.template(); err != nil {
		return usageError{err}
	}
	if c.podFlags.given() {
		pods, err := c.reach(ctx, e)
		if err != nil {
			return err
		}
		w.Targets = podTargets(pods, w.Targets[0])
		reachPods(pods, &k.Options)
	}
	k.Cooldown, k.Most, k.MostMemory, k.ReadReports, k.NsysTime = c.Cooldown, c.MaxCaptures, memory.Machine()/2, nsys.Exported, c.NsysTime
	w.Ring = watch.Ring{N: c.Ring, Every: c.RingEvery, Steps: c.RingSteps}
	if c.Nsys != "" {
		if len(w.Targets) != 1 {
			return usagef("--nsys: a session has one server, and there are %d", len(w.Targets))
		}
		root, _ := c.root() // without a home for runs, a session can still be found by its name
		if k.Nsys, err = nsys.FindSession(ctx, root, "", c.Nsys); err != nil {
			return fmt.Errorf("--nsys: %w", err)
		}
	}
	return nil
}

// listen opens the port of --listen.
func (c *watchCmd) listen() (net.Listener, error) {
	host, port := "127.0.0.1", c.Listen
	if i := strings.LastIndexByte(c.Listen, ':'); i >= 0 {
		host, port = strings.Trim(c.Listen[:i], "[]"), c.Listen[i+1:]
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, usagef("--listen %q: give a port, or HOST:PORT", c.Listen)
	}
	ln, err := httpguard.Listen(host, int(n), "", c.Insecure)
	if errors.Is(err, httpguard.ErrNeedKey) {
		return nil, usagef("--listen %s: anyone who reaches the port could read which servers there are: give --insecure to allow that", c.Listen)
	}
	return ln, err
}

// urls returns the URLs of the watched servers, which the run stores.
func (c *watchCmd) urls(w *watch.Watch) string {
	var urls []string
	for _, t := range w.Targets {
		urls = append(urls, t.URL)
	}
	for _, l := range w.Logs {
		if !slices.Contains(urls, l.Path) && len(w.Targets) == 0 {
			path, _ := filepath.Abs(l.Path)
			urls = append(urls, path)
		}
	}
	return strings.Join(urls, " ")
}

// logOf parses the value of a log flag, [NAME=]FILE.
func logOf(text string) watch.Log {
	if name, path, ok := strings.Cut(text, "="); ok && name != "" && path != "" {
		return watch.Log{Server: strings.TrimRight(name, "/"), Path: path}
	}
	return watch.Log{Path: text}
}
