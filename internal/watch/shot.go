package watch

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/stepscope/stepscope/internal/capture/signals"
	"github.com/stepscope/stepscope/internal/capture/torch"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/window"
	"github.com/stepscope/stepscope/internal/measure/experiment"
	"github.com/stepscope/stepscope/internal/watch/detect"
)

// shot is one capture, and what was known when it began.
type shot struct {
	n       int
	at      time.Time
	of      []*follower
	why     []detect.Event
	history []*signals.Live // of the server

	dir     string
	result  *torch.Result
	reports []*explained // by server of result
	bytes   int64
	err     error
}

// explained is what a server's window tells.
type explained struct {
	report  *result.Report  // nil: see err
	replica *result.Replica // the rank that stands out against the others
	err     error
}

// finishIn is how long a capture may go on once the watch has been ended.
const finishIn = 25 * time.Second

func (s *shot) name() string { return fmt.Sprintf("capture-%d", s.n) }

// rank is the data-parallel rank that stands out; -1: none does.
func (s *shot) rank() int {
	for _, ev := range s.why {
		if ev.Who >= 0 {
			return ev.Who
		}
	}
	return -1
}

// take records a window, brings it home, keeps and explains it. It goes on for a while when ctx ends.
func (s *shot) take(ctx context.Context, w *Watch) {
	going, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(finishIn, cancel) })()
	s.dir = filepath.Join(w.Dir, s.name())
	var targets []torch.Target
	for _, f := range s.of {
		targets = append(targets, f.target)
	}
	session, err := torch.Start(going, targets, w.Window, w.Options)
	if err != nil {
		s.err = err
		return
	}
	if s.result, s.err = session.Collect(going, s.dir); s.err != nil {
		return
	}
	s.bytes = sizeOf(s.dir)
	if w.Run != nil {
		if s.err = experiment.KeepCapture(w.Run, s.result, s.name()); s.err != nil {
			return
		}
	}
	for i := range s.result.Servers {
		s.reports = append(s.reports, s.explain(going, w, &s.result.Servers[i]))
	}
}

// explain reads the window of a server.
func (s *shot) explain(ctx context.Context, w *Watch, r *torch.ServerResult) *explained {
	if len(r.Traces) == 0 {
		return &explained{err: fmt.Errorf("no trace: %s", r.Problem)}
	}
	capture, err := (&window.Input{Paths: r.Traces}).Open(ctx, w.Say, "analyze")
	if err != nil {
		return &explained{err: err}
	}
	x := &explained{}
	prepared := capture.Prepare(nil)
	if dp := s.rank(); dp >= 0 {
		x.replica = prepared.Replica(dp)
	}
	x.report, x.err = prepared.Analyze(capture.Options())
	return x
}

// sizeOf is how many bytes a directory takes.
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
