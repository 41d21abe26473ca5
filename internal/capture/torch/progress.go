package torch

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/base/live"
	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/trace"
)

// Progress tracks the progress of windows for display. A session updates it for each server. A nil Progress ignores
// updates. The zero value is ready to use.
type Progress struct {
	// Duration is the length of the window; 0: the window has a number of steps instead.
	Duration time.Duration

	mu    sync.Mutex
	began time.Time
	of    []*state
}

// state is the progress of a server.
type state struct {
	url, role string
	doing     string
	since     time.Time
	steps, to int // number of steps recorded so far (below 0: unknown); number of steps requested (0: until stopped)
	files, of int // number of files of ranks that have arrived; number of such files that are expected (0: unknown)
	bytes     int64
}

// tell changes the state of a server.
func (p *Progress) tell(m *member, change func(*state)) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.began.IsZero() {
		p.began = time.Now()
	}
	i := slices.IndexFunc(p.of, func(s *state) bool { return s.url == m.URL })
	if i < 0 {
		i = len(p.of)
		p.of = append(p.of, &state{url: m.URL, role: m.Role, steps: -1})
	}
	change(p.of[i])
}

// Activities of a server, for display.
const (
	doingLook   = "checking"
	doingIdle   = "idle, waiting for load"
	doingPace   = "timing steps before the window"
	doingArm    = "arming"
	doingRecord = "recording"
	doingStop   = "closing the window"
	doingWait   = "waiting for its traces"
	doingOver   = "the window is over"
	doingFetch  = "fetching traces"
	doingMerge  = "merging traces"
	doingCount  = "counting steps"
	doingDone   = "done"
)

func (m *member) doing(what string) {
	m.o.Progress.tell(m, func(s *state) {
		if s.doing != what {
			s.doing, s.since = what, time.Now()
		}
		s.to = m.w.NumSteps
	})
}

// made sets the number of the window's steps that each replica has run.
func (m *member) made(n float64) {
	m.o.Progress.tell(m, func(s *state) { s.steps = int(math.Min(math.Max(n, 0), float64(m.w.NumSteps))) })
}

// brought updates the number of files that have arrived.
func (w *watch) brought() {
	w.m.o.Progress.tell(w.m, func(s *state) {
		s.files, s.of, s.bytes = 0, len(w.expected), 0
		for name, f := range w.seen {
			if !f.done {
				continue
			}
			s.bytes += max(f.size, 0)
			if parsed, _ := trace.ParseFileName(name); isTrace(parsed, name) {
				s.files++
			}
		}
	})
}

// Lines returns one line per server.
func (p *Progress) Lines(width int) (out []string) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	widest := 0
	for _, s := range p.of {
		widest = max(widest, columns.Width(s.name()))
	}
	widest = min(widest, width/2)
	for _, s := range p.of {
		text, share := s.text(now, p.Duration)
		bar := ""
		if share >= 0 {
			bar = live.Bar(share, 10) + " "
		}
		out = append(out, columns.Ends(fmt.Sprintf("%-*s  %s%s", widest, columns.Short(s.name(), widest), bar, text), seconds(now.Sub(s.since)), width))
	}
	return out
}

// Frame returns a line with the elapsed time, followed by Lines.
func (p *Progress) Frame(width, rows int) []string {
	p.mu.Lock()
	n, began, now := len(p.of), p.began, time.Now()
	p.mu.Unlock()
	if n == 0 {
		return nil
	}
	lines := append([]string{columns.Ends("Profiling", seconds(now.Sub(began)), width)}, p.Lines(width)...)
	if most := max(rows-2, 2); len(lines) > most {
		lines = append(lines[:most-1], fmt.Sprintf("and %d more", len(lines)-most+1))
	}
	return lines
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.0f s", d.Truncate(time.Second).Seconds()) }

func (s *state) name() string { return strings.TrimSpace(columns.Clean(s.url) + " " + s.role) }

// text describes the current activity. The result share is the completed share of the activity; below 0: unknown.
func (s *state) text(now time.Time, duration time.Duration) (text string, share float64) {
	switch {
	case s.doing == doingRecord && duration > 0:
		return fmt.Sprintf("recording for %v", duration), float64(now.Sub(s.since)) / float64(duration)
	case s.doing == doingRecord && s.to > 0 && s.steps >= 0:
		return fmt.Sprintf("recording, about %d of %d steps", s.steps, s.to), float64(s.steps) / float64(s.to)
	case s.doing == doingRecord && s.to > 0:
		return fmt.Sprintf("recording %d steps", s.to), -1
	case s.of > 0 && !slices.Contains([]string{doingLook, doingIdle, doingPace, doingArm, doingRecord, doingOver}, s.doing):
		return fmt.Sprintf("%s: %d of %d, %s", s.doing, s.files, s.of, metric.Bytes(s.bytes)), float64(s.files) / float64(s.of)
	}
	return s.doing, -1
}
