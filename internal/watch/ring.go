package watch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stepscope/stepscope/internal/capture/signals"
)

// Ring is a flight recorder: short windows are captured now and then, of which the last few are kept, so
// that what a capture shows can be compared with what was before.
type Ring struct {
	N     int           // windows that are kept; 0: none are made
	Every time.Duration // from the end of one to the beginning of the next
	Steps int           // in each
}

// ring is how it stands.
type ring struct {
	made  int
	next  time.Time // before which none is made
	turn  int       // whose the next one is
	slow  bool      // it was said that they come less often than they are wanted
	shots []*shot   // the newest last
	after *shot     // a capture that the next window comes after; nil: none
	bad   int       // windows in a row that came to nothing
}

// judgedFor is how many times as long as a window took the servers are judged before the next one.
const judgedFor = 3

// turn makes a window, if it is time for one and there is work to record.
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

// servers are the groups of one server that can be captured.
func (m *coordinator) servers() (out []*group) {
	for _, g := range m.groups {
		if len(g.of) == 1 && g.of[0].server != nil {
			out = append(out, g)
		}
	}
	return out
}

// ended says when the next window may be made after one that took so long.
func (r *ring) ended(m *coordinator, now time.Time, took time.Duration) {
	wait := max(m.w.Ring.Every, judgedFor*took)
	r.next = now.Add(wait)
	if wait > m.w.Ring.Every && !r.slow {
		r.slow = true
		m.w.Say.Line(fmt.Sprintf("a window of the flight recorder took %v, in which nothing was judged: the next one comes %v after it, not %v", took.Round(time.Millisecond), wait.Round(time.Millisecond), m.w.Ring.Every))
	}
}

// works tells whether a server has requests: an idle one is not recorded.
func works(l *signals.Live) bool {
	return l.Sum(func(f *signals.Flow) float64 { return f.Running }) > 0
}

// take keeps a window, and drops the oldest.
func (r *ring) take(m *coordinator, s *shot) {
	if s.err != nil {
		os.RemoveAll(s.dir)
		if r.bad++; r.bad == 1 {
			m.w.Say.Line("the flight recorder's window came to nothing: " + s.err.Error())
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

// end drops the windows that no capture came after.
func (r *ring) end() {
	for _, s := range r.shots {
		os.RemoveAll(s.dir)
	}
}

// keep names the windows that a capture's server has from before the change, which it gives, and since.
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

// name gives a window a name for good.
func (r *ring) name(m *coordinator, s *shot, name string) bool {
	to := filepath.Join(m.w.Dir, name)
	if err := os.Rename(s.dir, to); err != nil {
		m.w.Say.Lack("a window of the flight recorder is lost: %v", err)
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
			m.w.Say.Lack("%s is not in the run: %v", name, err)
		}
	}
	return true
}

// moved is a path below a directory that has another name now.
func moved(path, from, to string) string {
	rel, err := filepath.Rel(from, path)
	if path == "" || err != nil || !filepath.IsLocal(rel) {
		return path
	}
	return filepath.Join(to, rel)
}
