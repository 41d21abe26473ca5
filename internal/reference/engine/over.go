package engine

import (
	"fmt"
	"time"
)

// A replica without requests makes no steps, so its part of a window with a step count would stay open without a time
// limit. An open part blocks the next window and delays the files of the other replicas.
const (
	replicaIdle = 3 * time.Second // idle time after which a replica's part is closed if another replica's part is over
	replicaLook = 250 * time.Millisecond
)

// over ends one data-parallel rank's part of the session. After the last part has ended, the engine can record another
// window while the remaining work of this session continues in the background.
func (s *session) over(r *dpRank) {
	s.mu.Lock()
	delete(s.open, r)
	left := len(s.open)
	if s.alone == nil && left > 0 && s.req.NumSteps > 0 && !s.stopping {
		s.alone = time.AfterFunc(replicaLook, s.lonely)
		for other := range s.open {
			s.open[other] = time.Now()
		}
	}
	if left == 0 {
		for _, t := range []*time.Timer{s.idle, s.alone} {
			if t != nil {
				t.Stop()
			}
		}
	}
	s.mu.Unlock()
	if left > 0 {
		s.e.opt.Log(fmt.Sprintf("The profiling window waits for %d more data-parallel ranks to finish their steps; /stop_profile ends it", left))
		return
	}
	s.e.closed.Store(s)
	s.e.session.CompareAndSwap(s, nil)
	s.e.exports.Go(func() {
		s.writing.Wait()
		s.conclude()
		close(s.done)
	})
}

// lonely runs after one replica has completed all of its steps. It closes the parts of other replicas that have been
// idle for replicaIdle.
func (s *session) lonely() {
	for _, r := range s.e.ranks {
		st := r.Stats()
		s.mu.Lock()
		at, open := s.open[r]
		if open && st.Running+st.Waiting > 0 {
			at = time.Now()
			s.open[r] = at
		}
		s.mu.Unlock()
		if !open || time.Since(at) < min(replicaIdle, s.e.opt.ProfileIdle) {
			continue
		}
		r.Do(func() {
			w := r.window
			if w == nil || w.s != s {
				return
			}
			steps := "without a step"
			switch {
			case s.req.ByStage:
				steps = "before its last stage"
			case w.count > 0:
				steps = fmt.Sprintf("after %d of %d steps", w.count, s.req.NumSteps)
			}
			text := fmt.Sprintf("DP%d was idle while the others ran their steps: its part of the window closed %s", s.e.index(r), steps)
			s.e.opt.Log(text)
			s.problem(text)
			w.finish()
		})
	}
	s.mu.Lock()
	if len(s.open) > 0 && !s.stopping {
		s.alone.Reset(replicaLook)
	}
	s.mu.Unlock()
}
