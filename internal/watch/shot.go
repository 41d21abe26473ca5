package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/base/pause"
	"github.com/stepscope/stepscope/internal/capture/collect"
	"github.com/stepscope/stepscope/internal/capture/nsys"
	"github.com/stepscope/stepscope/internal/capture/signals"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/explain"
	"github.com/stepscope/stepscope/internal/explain/report"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/window"
	"github.com/stepscope/stepscope/internal/runs"
	"github.com/stepscope/stepscope/internal/tracefile/read"
	"github.com/stepscope/stepscope/trace"
)

// shot is one capture, with the state at the beginning of the capture.
type shot struct {
	w       *Watch
	name    string
	ring    bool // the shot is a window of the flight recorder; it is explained only if a capture needs it
	of      *group
	servers []*follower
	at      time.Time
	why     []*alarm        // alarms that led to the capture, the earliest first
	past    []*signals.Live // samples of the group
	before  []string        // directories of the flight recorder's windows from before the change

	dir     string
	stalls  *Stalls // stalls of the first server; nil: none
	result  *torch.Result
	windows []*explained // in the order of result.Servers
	replica *result.Replica
	budget  *collect.Budget
	changed string // difference from the window before the change, in words
	bytes   int64
	err     error
}

// explained is the analysis of one server's window.
type explained struct {
	server string
	report *result.Report // nil: see err
	err    error
}

// gpusBefore is the time before a capture from which samples of the GPUs are kept with it.
const gpusBefore = 3 * time.Second

// finishIn is the time for which a capture may continue after the watch is interrupted.
const finishIn = 25 * time.Second

func (s *shot) what() string {
	if s.ring {
		return "the window"
	}
	return s.name
}

// take records a window, downloads the files, adds them to the run and explains the window. After ctx ends, take may
// continue for finishIn.
func (s *shot) take(ctx context.Context) {
	going, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(finishIn, cancel) })()
	s.dir = filepath.Join(s.w.Dir, s.name)
	if !s.ring && len(s.servers) > 0 {
		s.stalls = s.servers[0].probe(going, s.w.Capture.Options.Client)
	}
	if s.err = s.fit(s.record(going)); s.err != nil || s.ring {
		return
	}
	s.explain(going)
	debug.FreeOSMemory() // release the memory of the analysis, because the next analysis may be hours away
}

// fit removes a window whose files exceed the budget.
func (s *shot) fit(err error) error {
	if !errors.Is(err, collect.ErrBudget) {
		return err
	}
	s.bytes = 0
	return errors.Join(fmt.Errorf("removed: %w; allow more with --max-disk", err), os.RemoveAll(s.dir))
}

// record captures the window.
func (s *shot) record(ctx context.Context) (err error) {
	if s.w.Capture.Nsys != nil && !s.ring {
		return s.collect(ctx)
	}
	var targets []torch.Target
	for _, f := range s.servers {
		// A worker that can be reached only through its router is captured through the router. All other workers of the
		// router are captured together with this worker.
		t := f.server.Target
		if f.server.Base != f.server.URL {
			t = f.server.Front
		}
		if !slices.ContainsFunc(targets, func(o torch.Target) bool { return o.URL == t.URL }) {
			targets = append(targets, t)
		}
	}
	win, o := s.w.Capture.Window, s.w.Capture.Options
	o.Budget = s.budget
	if s.ring {
		win.NumSteps, o.Pace, o.NoMerge, o.Log = s.w.Ring.Steps, 0, true, func(string) {}
	}
	session, err := torch.Start(ctx, targets, win, o)
	if err != nil {
		return err
	}
	s.result, err = session.Collect(ctx, s.dir)
	s.bytes = sizeOf(s.dir)
	if err != nil || s.ring {
		return err
	}
	s.result.KeepGPUs(s.w.sampler.Between(s.at.Add(-gpusBefore).UnixNano(), time.Now().UnixNano()))
	return s.keep()
}

// keep adds the window to the run.
func (s *shot) keep() error {
	if s.w.Run == nil {
		return nil
	}
	return s.result.Keep(s.w.Run, s.name)
}

// collect captures a window of NsysTime with Nsight Systems.
func (s *shot) collect(ctx context.Context) error {
	told := s.w.Capture.Nsys
	if err := os.MkdirAll(s.dir, 0o777); err != nil {
		return err
	}
	w, err := told.Start(ctx, filepath.Join(s.dir, "window"+nsys.Suffix), nil)
	if err != nil {
		return err
	}
	pause.For(ctx, s.w.Capture.NsysTime)
	// Stop must not be cancelled, even if it takes long, because closing a window cannot be aborted.
	closed, err := told.Stop(context.WithoutCancel(ctx), w.Output, s.w.Capture.Options.Timeout)
	if err != nil {
		return err
	}
	s.bytes = closed.Size
	if err := s.budget.Hold(closed.Report, closed.Size); err != nil {
		os.Remove(closed.Report)
		return err
	}
	server := s.servers[0].server
	s.result = &torch.Result{Dir: s.dir, Servers: []torch.ServerResult{{URL: server.URL, Name: server.Name, Kind: server.Kind, Dir: s.dir, Traces: []string{closed.Report}}}}
	if s.w.Run == nil {
		return nil
	}
	rel, err := filepath.Rel(s.w.Run.Dir(), closed.Report)
	if err != nil || !filepath.IsLocal(rel) {
		return err // the report is outside the run, in the session's directory
	}
	return s.w.Run.AddFile(runs.File{Path: filepath.ToSlash(rel), Kind: runs.Nsys, Format: "nsys-rep", Host: server.URL, Window: s.name}, "")
}

// dearly is the approximate memory that the analysis needs, in bytes per byte of trace files.
const dearly = 30

// explain analyses the window of each server and compares the outlier with its peers.
func (s *shot) explain(ctx context.Context) {
	if limit := s.w.Capture.MostMemory; limit > 0 && s.bytes > limit/dearly {
		s.windows = []*explained{{server: s.of.name, err: fmt.Errorf("explaining %s of traces needs more memory than this machine has: explain them on a larger one", metric.Bytes(s.bytes))}}
		return
	}
	var all []*trace.Trace
	for i := range s.result.Servers {
		r := &s.result.Servers[i]
		x := &explained{server: r.URL}
		s.windows = append(s.windows, x)
		if len(r.Traces) == 0 {
			x.err = errors.New("no trace arrived: " + r.Problem)
			continue
		}
		capture, err := (&window.Input{Paths: r.Traces, Read: read.Options{Export: s.w.Capture.ReadReports}}).Open(ctx, s.w.Say, "analyze")
		if err != nil {
			x.err = err
			continue
		}
		all = append(all, capture.Traces...)
		prepared := capture.Prepare(nil)
		if len(s.of.of) == 1 {
			s.replica = s.against(prepared, capture.Traces)
		}
		x.report, x.err = prepared.Analyze(capture.Options())
	}
	if len(s.of.of) > 1 && s.who() >= 0 {
		dir := s.of.of[s.who()].server.URL
		s.replica = explain.Prepare(all, nil).Replica(s.of.rank(s.who()), func(src *trace.Source) bool { return s.serverOf(src.Path) == dir })
	}
	if len(s.before) > 0 && len(all) > 0 {
		s.changed = s.since(ctx, all)
	}
}

// serverOf returns the URL of the server that wrote a trace file.
func (s *shot) serverOf(path string) string {
	for i := range s.result.Servers {
		if slices.Contains(s.result.Servers[i].Traces, path) {
			return s.result.Servers[i].URL
		}
	}
	return ""
}

// against compares the outlier data-parallel rank with the other ranks. If the signals show no outlier, against uses
// the rank with the longest steps, provided that two conditions hold. The steps must be long for a reason on that rank
// itself, and they must be clearly longer than the steps of every other rank. The second condition is needed because
// one rank is always the slowest, even if all ranks are slow.
func (s *shot) against(w *explain.Window, traces []*trace.Trace) *result.Replica {
	of := func(dp int) *result.Replica {
		return w.Replica(rankName(dp), func(src *trace.Source) bool { return src.Rank.DP == dp })
	}
	if who := s.who(); who >= 0 {
		return of(who)
	}
	var worst *result.Replica
	at, next := 0, 0.0 // DP rank of the slowest rank; Longer of the second slowest rank
	seen := map[int]bool{}
	for _, t := range traces {
		dp := t.Source.Rank.DP
		if seen[dp] || dp < 0 {
			continue
		}
		seen[dp] = true
		r := of(dp)
		switch {
		case r == nil:
		case worst == nil || r.Longer() > worst.Longer():
			if worst != nil {
				next = max(next, worst.Longer())
			}
			worst, at = r, dp
		default:
			next = max(next, r.Longer())
		}
	}
	if worst == nil || worst.Cause == "" || worst.Cause == result.CauseLoad || worst.Longer() < next*different || !s.shows(at) {
		return nil
	}
	return worst
}

// shows reports whether the signals are consistent with the hypothesis that a rank produces its tokens more slowly
// since the change. It returns true if the signals are unknown.
func (s *shot) shows(dp int) bool {
	v := &Verdict{Load: figures(s.past, dp, s.why[0].Onset, s.at)}
	pace := v.times("pace")
	return !signals.Known(pace) || pace > equal
}

// who returns the outlier rank; -1: none.
func (s *shot) who() int {
	for _, a := range s.why {
		if a.Who >= 0 {
			return a.Who
		}
	}
	return -1
}

// since compares the window with the flight recorder's last window from before the change.
func (s *shot) since(ctx context.Context, now []*trace.Trace) string {
	last := s.before[len(s.before)-1]
	was, err := (&window.Input{Paths: []string{last}}).Open(ctx, s.w.Say, "before")
	if err != nil {
		return "the earlier window cannot be read: " + err.Error()
	}
	if len(s.of.of) > 1 { // the earlier window covers only the first server
		now = slices.DeleteFunc(slices.Clone(now), func(t *trace.Trace) bool { return s.serverOf(t.Source.Path) != s.servers[0].server.URL })
	}
	opt := explain.CompareOptions{IDA: filepath.Base(last), IDB: s.name, Force: true}
	if i := slices.IndexFunc(now, func(t *trace.Trace) bool { return len(s.of.of) == 1 && t.Source.Rank.DP == s.who() }); i >= 0 {
		opt.OnlyA = now[i].Source.Rank.String() // compare the outlier rank with itself
		opt.OnlyB = opt.OnlyA
	}
	c, err := explain.Compare(was.Traces, now, opt)
	if err != nil {
		return "the earlier window cannot be compared with it: " + strings.TrimSpace(err.Error())
	}
	return report.Words(c.Verdict)
}

// sizeOf returns the size of a directory in bytes.
func sizeOf(dir string) (bytes int64) {
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil {
				bytes += info.Size()
			}
		}
		return nil
	})
	return bytes
}
