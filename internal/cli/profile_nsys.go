package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/capture/nsys"
)

// outer are the sessions of nsys, around servers of this host, that windows of
// CUDA_PROFILER open: each window makes a report there.
type outer struct {
	sessions []nsysSession
	window   []int // of each: the number of the window that comes
	servers  int
}

// outer looks for them, before the window is opened; nil: the window is none of
// CUDA_PROFILER. Sessions that are still making a report get time to wait for the
// next range, else it would be missed.
//
// begun: the window was opened before, by profile start.
func (c *profileCmd) outer(ctx context.Context, activities []string, servers int, begun bool) *outer {
	if !slices.Contains(activities, "CUDA_PROFILER") {
		return nil
	}
	o := &outer{servers: servers}
	root, err := c.root()
	if err != nil {
		return o
	}
	// Without a store or an nsys there are none that we know.
	list, _ := nsysSessions(ctx, root, "")
	for _, s := range list {
		if s.Record == nil || s.Record.Mode != nsys.Range && s.Record.Mode != nsys.Own {
			continue
		}
		n := 0
		if s.Record.Mode == nsys.Range {
			w := s.Next(ctx)
			if begun && s.Session.State.Armed() {
				w = nsys.Last(s.Dir)
			}
			if w == nil {
				continue // it waits for no more ranges
			}
			n = w.N
		}
		o.sessions, o.window = append(o.sessions, s), append(o.window, n)
	}
	return o
}

// wait returns the windows whose reports are complete. What else is to be said it
// says.
func (o *outer) wait(ctx context.Context, e *env, timeout time.Duration) ([]*nsys.Window, error) {
	if o == nil {
		return nil, nil
	}
	waiting := 0
	for i, s := range o.sessions {
		if o.window[i] > 0 {
			waiting++
			continue
		}
		e.Warn("nsys session %s makes its own reports, named %s%s or with .1, .2, … before the ending; with repeat it writes them when the server ends",
			s.Session.Name, s.Record.Output, nsys.Suffix)
	}
	if waiting == 0 {
		if len(o.sessions) == 0 {
			e.Warn("CUDA_PROFILER: the window was opened, and the profiler around the server writes its report: nsys where its -o says. " +
				"This host shows no session of stepscope nsys run --capture-range")
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
			e.Incomplete()
			if open > 0 {
				e.Warn("nsys has not finished its report after %v; see: stepscope nsys sessions", timeout)
			} else {
				e.Warn("no session of nsys saw a range in %v: is the server the one under stepscope nsys run, and has it work? See: stepscope nsys sessions", timeout)
			}
			return done, nil
		case <-tick.C:
		}
	}
}

// look tells the windows that are complete, and how many are open.
func (o *outer) look() (done []*nsys.Window, open int) {
	for i, s := range o.sessions {
		for _, w := range nsys.Windows(s.Dir) {
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

// print names the reports.
func printWindows(e *env, windows []*nsys.Window) error {
	for _, w := range windows {
		if w.Error != "" {
			e.Warn("nsys window %d: %s", w.N, w.Error)
			e.Incomplete()
		}
		if w.Report == "" {
			continue
		}
		if _, err := fmt.Fprintf(e.stdout, "nsys report: %s\n  %s; explain it with: stepscope analyze %s\n", w.Report, metric.Bytes(w.Size), nsys.Quote([]string{w.Report})); err != nil {
			return err
		}
	}
	return nil
}
