package experiment

import (
	"context"
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
	Dir     string // where the files are brought
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
}

func (p *Profile) start(ctx context.Context, log func(string)) (*window, error) {
	log("Starting profiler...")
	if p.Options.Log == nil {
		p.Options.Log = log
	}
	s, err := torch.Start(ctx, p.Targets, p.Window, p.Options)
	if err != nil {
		return nil, err
	}
	log("Profiler started")
	w := &window{p: p, session: s, guarded: make(chan struct{})}
	ctx, w.unguard = context.WithCancel(ctx)
	go func() {
		defer close(w.guarded)
		s.Guard(ctx)
	}()
	return w, nil
}

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
