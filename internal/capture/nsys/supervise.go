package nsys

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
)

// supervise opens and closes the windows that other processes do not control. It passes signals to the program; if a
// report is unfinished, it waits for the report first. It returns when nsys has ended.
func (r *running) supervise(ctx context.Context) (int, error) {
	if r.record.ID == "" { // the program has already ended
		<-r.done
		if r.Mode == Whole {
			r.opened(r.record.NewWindow(r.Dir, ""))
		}
		return r.ended(ctx)
	}
	a := &supervisor{running: r}
	opening, closing := make(chan struct{}, 1), make(chan struct{}, 1)
	after := func(d time.Duration, what chan struct{}) {
		if d > 0 {
			time.AfterFunc(d, func() { what <- struct{}{} })
		}
	}
	after(r.Delay, opening)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	switch r.Mode {
	case Whole:
		after(r.Duration, closing)
		r.opened(r.record.NewWindow(r.Dir, ""))
	case Range:
		a.do(func() { r.arm(ctx) })
	}
	for {
		// A signal first ends the window. Then the signal is passed to the program.
		if a.busy == nil && len(a.pending) > 0 {
			r.pass(a.pending[0])
			a.pending = nil
		}
		var ranges <-chan time.Time
		var open, shut chan struct{}
		if a.busy == nil && !r.closed {
			open, shut = opening, closing
			if r.Mode == Range {
				ranges = tick.C
			}
		}
		select {
		case <-r.done:
			if a.busy != nil {
				<-a.busy
			}
			return r.ended(ctx)
		case <-a.busy:
			a.busy = nil
		case sig := <-r.Signals:
			a.signal(ctx, sig)
		case <-open:
			a.do(func() {
				if r.open(ctx) {
					after(r.Duration, closing)
				}
			})
		case <-shut:
			a.do(func() { r.finish(ctx, fmt.Sprintf("closing the window after %v", r.Duration)) })
		case <-ranges:
			a.lookAtRange(ctx)
		}
	}
}

// supervisor runs one operation at a time in the background of supervise's loop. The loop can therefore pass on a
// second signal at any time without delay.
type supervisor struct {
	*running
	busy    chan struct{} // closed when the operation is done; nil: idle
	pending []os.Signal
	first   time.Time // time at which the first pending signal arrived
	looked  time.Time // time of the last query of nsys about a range
}

func (a *supervisor) do(f func()) {
	done := make(chan struct{})
	a.busy = done
	go func() { f(); close(done) }()
}

// signal handles a signal to this process. It completes the report and then passes the signal to the program. A second
// signal is passed on without delay.
func (a *supervisor) signal(ctx context.Context, sig os.Signal) {
	if len(a.pending) == 1 && sig == a.pending[0] && time.Since(a.first) < sentTwice {
		return
	}
	if a.pending = append(a.pending, sig); len(a.pending) > 1 {
		a.pass(sig)
		return
	}
	a.first = time.Now()
	before := a.busy
	a.do(func() {
		if before != nil {
			<-before
		}
		a.closed = true
		a.finish(ctx, fmt.Sprintf("%v: finishing the report before the program gets the signal (a second signal is passed on at once)", sig))
	})
}

// lookAtRange updates the state of the window that the program opens and closes. It checks for the report file at each
// call, because this check is cheap. It queries nsys only when that file exists, and otherwise every two seconds.
func (a *supervisor) lookAtRange(ctx context.Context) {
	w := Open(a.Dir)
	if w == nil { // another process has ended the wait for a range
		a.closed = true
		return
	}
	if _, err := os.Stat(w.Output); err == nil || time.Since(a.looked) > 2*time.Second {
		a.looked = time.Now()
		a.do(func() { a.askForRange(ctx, w) })
	}
}

// sentTwice is the time within which a repeated signal counts as a duplicate. Duplicates occur because timeout(1)
// signals the process and then its process group.
const sentTwice = 250 * time.Millisecond

func (r *running) pass(sig os.Signal) {
	to := cmp.Or(r.record.Target, r.cmd.Process.Pid)
	pass(sig, to) // the program may have ended by now
}

func (r *running) opened(w *Window, err error) {
	if err == nil {
		w.Opened = time.Now().UTC()
		err = w.Save(r.Dir)
	}
	if err != nil {
		r.Log(err.Error())
	}
}

// open opens a window with nsys start.
func (r *running) open(ctx context.Context) bool {
	w, err := r.record.NewWindow(r.Dir, r.Output+Suffix)
	if err == nil {
		if err = r.Tool.Start(ctx, r.record.ID, w.Output, r.plan.Start); err != nil {
			w.Drop(r.Dir)
		}
	}
	if err != nil {
		r.Log(err.Error())
		return false
	}
	r.opened(w, nil)
	r.Log(fmt.Sprintf("collecting, %v after the start", r.Delay))
	return true
}

// arm arms a window for the program's next range.
func (r *running) arm(ctx context.Context) {
	w, err := r.record.NewWindow(r.Dir, "")
	if err == nil {
		options := append(slices.Clone(r.plan.Start), "--capture-range="+r.Range, "--capture-range-end=stop")
		if err = r.Tool.Start(ctx, r.record.ID, w.Output, options); err != nil {
			w.Drop(r.Dir)
		}
	}
	if err != nil {
		r.closed = true
		if s, _ := r.Tool.Look(ctx, r.record.ID); s != nil { // if the session does not exist, the program has ended
			r.Log("further ranges get no report: " + err.Error())
		}
	}
}

// askForRange queries nsys about the window and arms the next one.
func (r *running) askForRange(ctx context.Context, w *Window) {
	s, err := r.Tool.Look(ctx, r.record.ID)
	if err != nil || s == nil || s.State.Armed() || r.closed {
		return
	}
	if w.Opened.IsZero() {
		w.Opened = time.Now().UTC()
		if err := w.Save(r.Dir); err != nil {
			r.Log(err.Error())
		}
	}
	if !s.State.Ready() {
		return
	}
	if now := Open(r.Dir); now == nil || now.N != w.N { // nsys window stop has closed this window
		r.closed = true
		return
	}
	left := slices.DeleteFunc(ParseGenerated(r.out.String()), func(p string) bool {
		return strings.TrimSuffix(p, rawSuffix)+Suffix != w.Output
	})
	r.settle(ctx, w, left)
	r.arm(ctx)
}

// settle moves a window's report to its destination and logs it.
func (r *running) settle(ctx context.Context, w *Window, made []string) {
	path, size, err := r.Tool.Settle(ctx, made, w.Output)
	if path != "" {
		r.Log(fmt.Sprintf("window %d: %s (%s)", w.N, path, metric.Bytes(size)))
	}
	if err != nil {
		r.Log(fmt.Sprintf("window %d: %v", w.N, err))
	}
	if err := w.Close(r.Dir, path, size, err); err != nil {
		r.Log(err.Error())
	}
}

// finish closes the open window. If another process is closing the window, finish waits until that process is done.
func (r *running) finish(ctx context.Context, why string) {
	s, err := r.Tool.Look(ctx, r.record.ID)
	if err != nil || s == nil || !s.State.Collecting() && !s.State.Armed() && !s.State.Writing() {
		return
	}
	if !s.State.Armed() {
		r.Log(why)
	}
	w := Open(r.Dir)
	made, err := r.Tool.Stop(ctx, s.ID, r.Patience)
	var state *StateError
	switch {
	case errors.As(err, &state):
		s, err = r.Tool.waitState(ctx, s.ID, r.Patience, func(s State) bool { return !s.Writing() && !s.Collecting() })
		if err == nil && s != nil && s.State.Writing() {
			err = fmt.Errorf("nsys is still writing its report after %v", r.Patience)
		}
		if err != nil {
			r.Log(err.Error())
		}
	case err != nil:
		r.Log(err.Error())
	case w == nil:
		for _, path := range made {
			r.Log("nsys wrote " + path)
		}
	case s.State.Armed() && len(made) == 0:
		w.Drop(r.Dir)
	default:
		r.settle(ctx, w, made)
	}
}

// ended processes the reports that nsys generated when the program ended.
func (r *running) ended(ctx context.Context) (int, error) {
	if r.cmd.ProcessState.ExitCode() < 0 && Alive(r.record.Target) {
		r.Log(fmt.Sprintf("nsys was ended by a signal (%v); its program continues, pid %d", r.err, r.record.Target))
		r.finish(ctx, "saving what it has collected")
	}
	r.outlive()
	made := ParseGenerated(r.out.String())
	known := map[string]bool{}
	for _, w := range Windows(r.Dir) {
		known[w.Report] = true
	}
	made = slices.DeleteFunc(made, func(p string) bool { return known[p] })
	for _, w := range Windows(r.Dir) {
		if !w.Closed.IsZero() && (w.Report != "" || len(made) == 0) {
			continue
		}
		if _, err := os.Stat(w.Output); err != nil && len(made) == 0 && w.Opened.IsZero() {
			w.Drop(r.Dir) // the window waited for a range that did not begin
			continue
		}
		// Use the report with the name of the window. If there is none, use a report that nsys had to write to another
		// path.
		mine := slices.Index(made, w.Output)
		if mine < 0 {
			mine = slices.IndexFunc(made, func(p string) bool { return !sameFile(p, w.Output) })
		}
		var own []string
		if mine >= 0 {
			own, made = made[mine:mine+1], append(slices.Clone(made[:mine]), made[mine+1:]...)
		}
		r.settle(ctx, w, own)
	}
	if r.Mode == Own {
		for _, path := range made {
			w, err := r.record.NewWindow(r.Dir, path)
			if err != nil {
				return r.status(), err
			}
			r.settle(ctx, w, []string{path})
		}
	}
	return r.status(), nil
}

// outlive waits for a program that has outlived nsys, and for the rest of the program's output.
func (r *running) outlive() {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for Alive(r.record.Target) {
		select {
		case sig := <-r.Signals:
			r.pass(sig)
		case <-tick.C:
		}
	}
	orphan(r.Session)
	sleepUntil(r.copied, 2*time.Second) // another process may hold the pipes open
}
