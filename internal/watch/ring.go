package watch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stepscope/stepscope/internal/capture/signals"
)

// Ring configures the flight recorder. The flight recorder captures short windows at intervals and keeps the last few.
// A capture can then be compared with a window from before the change.
type Ring struct {
	N     int           // windows kept; 0: off
	Every time.Duration // time from the end of a window to the beginning of the next window
	Steps int           // steps per window
}

// ring is the state of the flight recorder.
type ring struct {
	made  int
	next  time.Time // earliest time of the next window
	turn  int       // index of the next server
	slow  bool      // the user has been warned that windows are taken less often than requested
	shots []*shot   // the newest last
	after *shot     // the capture after which the next window is taken; nil: none
	bad   int       // consecutive failed windows
}

// judgedFor is the minimum time between two windows, as a multiple of the length of a window. The rules are applied
// during this time.
const judgedFor = 3

// turn starts a window if one is due and a server has work to record.
func (m *coordinator) turn(ctx context.Context) {
	r, now := &m.ring, time.Now()
	if m.w.Ring.N == 0 || m.shooting != nil || now.Before(r.next) || m.budget.bytes >= m.w.Capture.MostBytes {
		return
	}
	servers := m.servers()
	for i := range servers {
		g := servers[(r.turn+i)%len(servers)]
		if f := g.of[0]; f.live != nil && works(f.live) {
			r.turn += i + 1
			r.made++
			m.begins(ctx, &shot{w: m.w, name: fmt.Sprintf(".ring-%d", r.made), ring: true, of: g, servers: g.of, at: now})
			return
		}
	}
}

// servers returns the groups of one server that can be captured.
func (m *coordinator) servers() (out []*group) {
	for _, g := range m.groups {
		if len(g.of) == 1 && g.of[0].server != nil {
			out = append(out, g)
		}
	}
	return out
}

// ended schedules the next window after a window that took the given time.
func (r *ring) ended(m *coordinator, now time.Time, took time.Duration) {
	wait := max(m.w.Ring.Every, judgedFor*took)
	r.next = now.Add(wait)
	if wait > m.w.Ring.Every && !r.slow {
		r.slow = true
		m.w.Say.Line(fmt.Sprintf("a flight recorder window took %v, during which nothing was judged: the next one follows after %v instead of %v", took.Round(time.Millisecond), wait.Round(time.Millisecond), m.w.Ring.Every))
	}
}

// works reports whether a server has running requests; idle servers are not recorded.
func works(l *signals.Live) bool {
	return l.Sum(func(f *signals.Flow) float64 { return f.Running }) > 0
}

// take stores a window and deletes the oldest.
func (r *ring) take(m *coordinator, s *shot) {
	if s.err != nil {
		os.RemoveAll(s.dir)
		if r.bad++; r.bad == 1 {
			m.w.Say.Line("a flight recorder window failed: " + s.err.Error())
		}
		return
	}
	r.bad = 0
	m.budget.spent(s.bytes)
	if r.after != nil && r.after.servers[0] == s.servers[0] {
		r.name(m, s, r.after.name+"-after")
		r.after = nil
		return
	}
	r.shots = append(r.shots, s)
	for len(r.shots) > m.w.Ring.N {
		m.budget.spent(-r.shots[0].bytes)
		os.RemoveAll(r.shots[0].dir)
		r.shots = r.shots[1:]
	}
}

// end deletes the windows that have not been kept for a capture.
func (r *ring) end() {
	for _, s := range r.shots {
		os.RemoveAll(s.dir)
	}
}

// keep gives permanent names to the windows of the captured server. It returns the directories of the windows that were
// taken before the change.
func (r *ring) keep(m *coordinator, s *shot) (dirs []string) {
	var others []*shot
	n := map[string]int{}
	for _, old := range r.shots {
		if old.servers[0] != s.servers[0] {
			others = append(others, old)
			continue
		}
		when := "before"
		if old.at.After(s.why[0].After) {
			when = "since"
		}
		n[when]++
		if r.name(m, old, fmt.Sprintf("%s-%s-%d", s.name, when, n[when])) && when == "before" {
			dirs = append(dirs, old.dir)
		}
	}
	r.shots = others
	return dirs
}

// name renames a window for permanent storage.
func (r *ring) name(m *coordinator, s *shot, name string) bool {
	to := filepath.Join(m.w.Dir, name)
	if err := os.Rename(s.dir, to); err != nil {
		m.w.Say.Lack("a flight recorder window is lost: %v", err)
		return false
	}
	for i := range s.result.Servers {
		server := &s.result.Servers[i]
		server.Dir = moved(server.Dir, s.dir, to)
		for _, paths := range [][]string{server.Traces, server.Other} {
			for k := range paths {
				paths[k] = moved(paths[k], s.dir, to)
			}
		}
		server.Merged = moved(server.Merged, s.dir, to)
	}
	s.dir, s.name = to, name
	if m.w.Run != nil {
		if err := s.result.Keep(m.w.Run, name); err != nil {
			m.w.Say.Lack("%s could not be added to the run: %v", name, err)
		}
	}
	return true
}

// moved returns the new path of a file after its directory was renamed.
func moved(path, from, to string) string {
	rel, err := filepath.Rel(from, path)
	if path == "" || err != nil || !filepath.IsLocal(rel) {
		return path
	}
	return filepath.Join(to, rel)
}
