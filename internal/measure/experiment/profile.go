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
	s, err := torch.Prepare(ctx, p.Targets, p.Window, p.Options)
	if err != nil {
		return nil, err
	}
	w := &window{p: p, session: s, guarded: make(chan struct{})}
	first := p.first(at, s.Prefills())
	if first || at.short(p.steps(at)) {
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
		if !first && at.wait(ctx) {
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
	return p.Window.StartStep > 0 || p.Window.NumSteps == 0 || at.atOnce() && (p.Window.ByStage || prefills)
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
	from, to, known := w.session.Touched()
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
