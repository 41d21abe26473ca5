package experiment

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/measure/load"
)

// Profile configures a window captured during a load.
type Profile struct {
	Targets []torch.Target
	Window  torch.Window
	Options torch.Options
	After   *int64 // forward steps of the load before the window; nil: the window opens when the load is steady
	// PrefillAfter and PrefillSteps replace After and Window.NumSteps on prefill servers; nil and 0: they do not.
	PrefillAfter *int64
	PrefillSteps int
	// At is the time from the first request to the opening of the window. If At is nil, After applies.
	At *time.Duration
	// FitSteps chooses the number of steps of the window to fit the load. If neither At nor After is set, further windows
	// then open when requests wait longer than before, and the window with the slowest requests is kept (see ring.go).
	FitSteps bool
	Dir      string // local directory for the trace files
}

// Captured is the result of a profile.
type Captured struct {
	*torch.Result
	Err error // reason why nothing was captured
}

// window is a profile in progress.
type window struct {
	p       *Profile
	session *torch.Session   // the latest
	past    []*torch.Session // windows that were recorded before it
	failed  []*torch.Session // further windows that could not be opened; they may have delayed servers
	level   time.Duration    // how long requests waited for first tokens in the latest window
	median  int64            // median TTFT at the end of the first window, in ns
	left    float64          // share of the requests without a first token at the latest window
	unguard context.CancelFunc
	guarded chan struct{} // closed when the goroutine that guards the session has ended
	armed   bool
	err     error // reason why the profilers were not armed
}

// prepare prepares a window on the servers. If the window must open before the load, prepare opens the window at once.
// Otherwise a goroutine opens the window when the load is steady or has reached p.At or p.After.
func (p *Profile) prepare(ctx context.Context, at *level, log func(string)) (*window, error) {
	if p.Options.Log == nil {
		p.Options.Log = log
	}
	reached := at.reached // condition for opening the window during the load
	if p.At != nil {
		begun := time.Duration(-1)
		reached = func(after time.Duration) bool {
			if begun < 0 && at.live.Released.Load() > 0 {
				begun = after
			}
			return begun >= 0 && after-begun >= *p.At
		}
	}
	s, err := torch.Prepare(ctx, p.Targets, p.Window, p.Options)
	if err != nil {
		return nil, err
	}
	if p.PrefillSteps > 0 {
		s.SetPrefillSteps(p.PrefillSteps)
	}
	counted := false
	most := p.mostAfter(s.Roles())
	if most > 0 {
		if counted, err = s.After(ctx, p.after); err != nil {
			return nil, fmt.Errorf("begin the window after %d steps: %w", most, err)
		}
		if !counted {
			log(fmt.Sprintf("The window cannot begin with a step of the server: it begins when the running requests have received %d tokens each, on average", most))
			reached = func(time.Duration) bool { return at.made() >= most }
		}
	}
	w := &window{p: p, session: s, guarded: make(chan struct{})}
	first := counted || p.first(at, most, s.Prefills())
	if first || p.At == nil && at.short(p.steps(at)) {
		if !first {
			log(fmt.Sprintf("The load has about %d forward steps, too few for a window in its steady part: the window opens before the load and affects most of it", at.forwards()))
		}
		first = true
		if w.open(ctx, at, log); w.err != nil {
			return nil, w.err
		}
	}
	ctx, w.unguard = context.WithCancel(ctx)
	go func() {
		defer close(w.guarded)
		if !first && at.wait(ctx, reached) {
			s.LoadRuns(loadWait)
			w.open(ctx, at, log)
		}
		if w.armed {
			s.Guard(ctx)
			for w.again(ctx, at, log) {
				w.session.Guard(ctx)
			}
		}
	}()
	return w, nil
}

// first reports whether a window is opened before the load, as in SGLang's client. Three kinds of windows are opened
// before the load. A window with a start step can be opened early, because it records nothing before that step. A
// window without an end is meant to record the whole load. A window that needs prefills must be opened early if all
// requests are sent at once, because the steady part then contains no prefill.
//
// most is the highest number of steps before the window of a server.
func (p *Profile) first(at *level, most int64, prefills bool) bool {
	if p.At != nil {
		return *p.At <= 0
	}
	return p.After != nil && most == 0 || p.Window.StartStep > 0 || p.Window.NumSteps == 0 || at.atOnce() && (p.Window.ByStage || prefills)
}

// after returns the number of forward steps of the load before the window of a server with a role.
func (p *Profile) after(role string) int64 {
	switch {
	case p.After == nil:
		return 0
	case role == api.Prefill && p.PrefillAfter != nil:
		return *p.PrefillAfter
	}
	return *p.After
}

// mostAfter returns the highest number of forward steps before the window of a server with one of the roles.
func (p *Profile) mostAfter(roles []string) (most int64) {
	for _, role := range roles {
		most = max(most, p.after(role))
	}
	return most
}

// steps returns the number of steps of the window, if this number is known before the load.
func (p *Profile) steps(at *level) int {
	if p.FitSteps {
		n, _ := at.steps()
		return n
	}
	return p.Window.NumSteps
}

// open arms the profilers.
func (w *window) open(ctx context.Context, at *level, log func(string)) {
	if w.p.FitSteps {
		n, why := at.steps()
		w.session.SetSteps(n)
		w.session.EndPrefills(time.Duration(int64(n) * at.live.ITL.Quantile(0.5)))
		log(why)
	}
	log("Starting profiler...")
	w.level = at.live.Oldest()
	if w.err = w.session.Arm(ctx); w.err == nil {
		w.armed = true
		log("Profiler started" + at.String())
	}
}

// loadWait is the maximum time to wait for the next request of a load.
const loadWait = time.Minute

// stopLimit is the maximum time that a server may take to write its traces.
const stopLimit = 5 * time.Minute

// interruptLimit replaces stopLimit after an interrupt.
const interruptLimit = 10 * time.Second

// finish collects the files of the window. If the window is still open, finish first ends the window. It does so even
// if the context of the run has ended, so that no profiler keeps running.
//
// Of several windows, finish collects the one with the slowest requests of res.
func (w *window) finish(run context.Context, res *load.Result, log func(string)) (*Captured, error) {
	limit := stopLimit
	if run.Err() != nil {
		limit = interruptLimit
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	w.unguard()
	<-w.guarded
	switch {
	case w.err != nil && !errors.Is(w.err, context.Canceled):
		return nil, w.err
	case !w.armed && w.p.At != nil:
		return nil, fmt.Errorf("the load ended before %s, when the window was to open (--profile-at)", *w.p.At)
	case !w.armed:
		return nil, errors.New("the load ended before a window could be opened in its steady part: send a longer load (--num-prompts)")
	}
	log("Stopping profiler...")
	err := w.session.Stop(ctx)
	if n := len(w.past); err != nil && n > 0 { // the earlier windows are complete
		log(fmt.Sprintf("The last window is left out: %v", err))
		w.failed, w.session, w.past, err = append(w.failed, w.session), w.past[n-1], w.past[:n-1], nil
		var more context.CancelFunc
		ctx, more = context.WithTimeout(context.Background(), limit)
		defer more()
	}
	if err != nil {
		return nil, err
	}
	log("Profiler stopped")
	s := w.slowest(res)
	dir, err := filepath.Abs(w.p.Dir)
	if err != nil {
		return nil, err
	}
	captured, err := s.Collect(ctx, dir)
	if err != nil {
		return nil, err
	}
	return &Captured{Result: captured}, nil
}

// touched returns the spans of the load that the windows affected. The times of the spans count from start, the start of
// the load.
func (w *window) touched(start time.Time, records []bench.Record) (spans []bench.Span) {
	last := int64(0)
	for i := range records {
		last = max(last, records[i].Done)
	}
	for _, s := range slices.Concat(w.all(), w.failed) {
		from, to, known := s.Affected()
		span := bench.Span{From: max(0, int64(from.Sub(start))), To: last}
		if known {
			span.To = int64(to.Sub(start))
		}
		if !from.IsZero() && span.To > span.From {
			spans = append(spans, span)
		}
	}
	return spans
}
