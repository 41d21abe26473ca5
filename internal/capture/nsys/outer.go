package nsys

import (
	"context"
	"time"

	"github.com/stepscope/stepscope/internal/base/progress"
)

// Outer holds the nsys sessions under which servers of this host run. A window of CUDA_PROFILER on a server opens a
// window of the session. The window of the session makes a report.
type Outer struct {
	sessions []ExternalSession
	window   []int // per session: number of the next window
	servers  int
}

// FindOuter finds the sessions of the runs below root. Call it before opening a window on the given number of servers.
// A session that is still generating a report would miss the next range. FindOuter therefore delays its return until
// each such session waits for its next range.
//
// The argument begun is true if the window has already been opened.
func FindOuter(ctx context.Context, root string, servers int, begun bool) *Outer {
	o := &Outer{servers: servers}
	if root == "" {
		return o
	}
	// An error means that there is no store or no nsys. In that case no session is known.
	list, _ := Sessions(ctx, root, "")
	for _, s := range list {
		if s.Record == nil || s.Record.Mode != Range && s.Record.Mode != Own {
			continue
		}
		n := 0
		if s.Record.Mode == Range {
			w := s.Next(ctx)
			if begun && s.Session.State.Armed() {
				w = Last(s.Dir)
			}
			if w == nil {
				continue // the session does not wait for further ranges
			}
			n = w.N
		}
		o.sessions, o.window = append(o.sessions, s), append(o.window, n)
	}
	return o
}

// Wait returns the windows whose reports are complete. It warns about windows whose reports are not complete. A nil
// Outer has no windows.
func (o *Outer) Wait(ctx context.Context, say *progress.Console, timeout time.Duration) ([]*Window, error) {
	if o == nil {
		return nil, nil
	}
	waiting := 0
	for i, s := range o.sessions {
		if o.window[i] > 0 {
			waiting++
			continue
		}
		say.Warn("nsys session %s writes its own reports, named %s%s or with .1, .2, … before the suffix; with repeat it writes them when the server ends",
			s.Session.Name, s.Record.Output, Suffix)
	}
	if waiting == 0 {
		if len(o.sessions) == 0 {
			say.Warn("CUDA_PROFILER: the window was opened, and the profiler around the server writes the report: nsys to the path of its -o. " +
				"This host has no session of stepscope nsys run --capture-range")
		}
		return nil, nil
	}
	end := time.NewTimer(timeout)
	defer end.Stop()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		done, open := o.look()
		if len(done) >= min(waiting, o.servers) && open == 0 {
			return done, nil
		}
		select {
		case <-ctx.Done():
			return done, context.Cause(ctx)
		case <-end.C:
			say.Incomplete()
			if open > 0 {
				say.Warn("nsys has not finished its report after %v; see: stepscope nsys sessions", timeout)
			} else {
				say.Warn("no nsys session saw a range in %v: does the server run under stepscope nsys run, and does it have work? See: stepscope nsys sessions", timeout)
			}
			return done, nil
		case <-tick.C:
		}
	}
}

// look returns the windows whose reports are complete and the number of windows that are still open.
func (o *Outer) look() (done []*Window, open int) {
	for i, s := range o.sessions {
		for _, w := range Windows(s.Dir) {
			switch {
			case o.window[i] == 0 || w.N != o.window[i]:
			case w.Report != "" || w.Error != "":
				done = append(done, w)
			case !w.Opened.IsZero():
				open++
			}
		}
	}
	return done, open
}
