package experiment

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/capture/torch"
)

// Profile is a window that is taken while a load runs.
type Profile struct {
	Targets []torch.Target
	Window  torch.Window
	Options torch.Options
	After   *int64 // forward steps of the load before the window; nil: when the load is steady
	// At is when the window is opened, from the first request on; nil: After says it.
	At *time.Duration
	// FitSteps: the window's steps are chosen by the load, not given.
	FitSteps bool
	Dir      string // where the files are brought
}

// Captured is what came of a profile.
type Captured struct {
	*torch.Result
	Err error // why there is nothing
}

// window is a profile under way.
type window struct {
	p       *Profile
	session *torch.Session
	unguard context.CancelFunc
	guarded chan struct{} // closed when nobody guards it any more
	armed   bool
	err     error // why it was not
}

// prepare readies a window on the servers, and opens it when the load that follows is
// steady; or at once, if it has to.
func (p *Profile) prepare(ctx context.Context, at *level, log func(string)) (*window, error) {
	if p.Options.Log == nil {
		p.Options.Log = log
	}
	reached := at.reached // when the window may be opened, if not before the load
	if p.At != nil {
		begun := time.Duration(-1)
		reached = func(after time.Duration) bool {
			if begun < 0 && at.live.Released.Load() > 0 {
				begun = after
			}
			return begun >= 0 && after-begun >= *p.At
		}
	}
	if p.After != nil && *p.After > 0 {
		counted, err := p.count(ctx, log)
		if err != nil {
			return nil, err
		}
		if !counted {
			reached = func(time.Duration) bool { return at.made() >= *p.After }
		}
	}
	s, err := torch.Prepare(ctx, p.Targets, p.Window, p.Options)
	if err != nil {
		return nil, err
	}
	w := &window{p: p, session: s, guarded: make(chan struct{})}
	first := p.first(at, s.Prefills())
	if first || p.At == nil && at.short(p.steps(at)) {
		if !first {
			log(fmt.Sprintf("The load has some %d forward steps, too few for a window in its steady part: it is opened before the load, and touches most of it", at.forwards()))
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
		}
	}()
	return w, nil
}

// first tells whether a window is opened before the load, as SGLang's client does it: what
// has a start step records nothing before that, what has no end records all, and where all
// requests are sent at once nothing that is steady has a prefill in it.
func (p *Profile) first(at *level, prefills bool) bool {
	if p.At != nil {
		return *p.At <= 0
	}
	return p.After != nil && *p.After == 0 || p.Window.StartStep > 0 || p.Window.NumSteps == 0 || at.atOnce() && (p.Window.ByStage || prefills)
}

// count makes a start step, which servers count since they started, of steps of the load. It reports false where a server
// does not show how many it has made, as SGLang 0.5.11: then the load's tokens tell.
func (p *Profile) count(ctx context.Context, log func(string)) (bool, error) {
	if len(p.Targets) != 1 {
		return false, fmt.Errorf("a window that begins after %d steps of the load is one of one server: there are %d", *p.After, len(p.Targets))
	}
	c, err := torch.Count(ctx, p.Targets[0], p.Options)
	if errors.Is(err, torch.ErrNoCount) {
		log(fmt.Sprintf("The server does not show how many forward steps it has made: the window begins when the requests under way have had %d tokens each, on average", *p.After))
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("begin the window after %d steps: %w", *p.After, err)
	}
	made, err := c.Steps(ctx)
	if err != nil {
		return false, err
	}
	p.Window.StartStep = int64(made) + *p.After + 1
	log(fmt.Sprintf("The server has made %.0f forward steps: the window begins with step %d", made, p.Window.StartStep))
	return true, nil
}

// steps are those that the window will have, as far as it is known before the load.
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
		log(why)
	}
	log("Starting profiler...")
	if w.err = w.session.Arm(ctx); w.err == nil {
		w.armed = true
		log("Profiler started" + at.String())
	}
}

// loadWait is how long the next request of a load may let wait for it.
const loadWait = time.Minute

// stopLimit is how long a server may take to write its traces.
const stopLimit = 5 * time.Minute

// interruptLimit is that for who has been told to end.
const interruptLimit = 10 * time.Second

// finish ends the window, if it is still open, and brings the files home. The
// run's own context may have ended: profilers are not left running.
func (w *window) finish(run context.Context, log func(string)) (*Captured, error) {
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
		return nil, fmt.Errorf("the load ended before %s, when a window was to be opened (--profile-at)", *w.p.At)
	case !w.armed:
		return nil, errors.New("the load ended before a window could be opened in its steady part: send a longer one (--num-prompts)")
	}
	log("Stopping profiler...")
	if err := w.session.Stop(ctx); err != nil {
		return nil, err
	}
	log("Profiler stopped")
	dir, err := filepath.Abs(w.p.Dir)
	if err != nil {
		return nil, err
	}
	res, err := w.session.Collect(ctx, dir)
	if err != nil {
		return nil, err
	}
	return &Captured{Result: res}, nil
}

// touched is what the window touched of a load with this time 0 and these records.
func (w *window) touched(start time.Time, records []bench.Record) []bench.Span {
	from, to, known := w.session.Affected()
	last := int64(0)
	for i := range records {
		last = max(last, records[i].Done)
	}
	span := bench.Span{From: max(0, int64(from.Sub(start))), To: last}
	if known {
		span.To = int64(to.Sub(start))
	}
	if from.IsZero() || span.To <= span.From {
		return nil
	}
	return []bench.Span{span}
}
