package torch

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/capture/signals"
	"github.com/stepscope/stepscope/internal/tracefile/check"
	"github.com/stepscope/stepscope/trace"
)

// A data-parallel replica without requests runs no steps. On such a replica, a window with a number of steps therefore
// does not end by itself, and SGLang records the replica's wait. Replicas with DP attention are not affected, because
// they run every step together.

// replicaIdle is the time after which the window is closed because of a replica without requests, if another replica
// has written its traces. Stepscope's own servers close such a window sooner by themselves.
const replicaIdle = 5 * time.Second

// replicas tracks the requests of each replica.
type replicas struct {
	reader *signals.Reader
	asked  time.Time
	busy   map[int]time.Time // time at which each replica last had requests or was first seen
	had    map[int]bool      // whether the replica had requests at any query
}

// look queries the requests of each replica at intervals.
func (r *replicas) look(ctx context.Context, m *member) {
	if time.Since(r.asked) < min(lookAt, m.o.Idle) {
		return
	}
	if r.reader == nil {
		r.reader = m.reader()
	}
	by, ok := m.loadBy(ctx, r.reader)
	if !ok {
		return
	}
	r.asked = time.Now()
	if r.busy == nil {
		r.busy, r.had = map[int]time.Time{}, map[int]bool{}
	}
	for dp, n := range by {
		if _, known := r.busy[dp]; n > 0 || !known {
			r.busy[dp], r.had[dp] = r.asked, n > 0
		}
	}
}

// loneReplicas lists the replicas without requests. The list is empty unless only the traces of these replicas are
// missing and another replica has written all of its traces. While the window is open, a replica counts only if it has
// also been idle for replicaIdle.
func (w *watch) loneReplicas(ctx context.Context) (idle []int) {
	m := w.m
	if m.info.DP < 2 || m.info.DPAttention || m.w.NumSteps == 0 || !w.someDone() {
		return nil
	}
	w.replicas.look(ctx, m)
	for _, f := range w.missing() {
		at, known := w.replicas.busy[f.Rank.DP]
		if !known || w.replicas.had[f.Rank.DP] && !m.recording() || m.recording() && time.Since(at) < m.o.loneliness {
			return nil
		}
		if !slices.Contains(idle, f.Rank.DP) {
			idle = append(idle, f.Rank.DP)
		}
	}
	if len(idle) >= m.info.DP || w.growing() {
		return nil
	}
	return idle
}

// closeLone ends the window because the idle replicas have no requests.
func (w *watch) closeLone(ctx context.Context, idle []int) error {
	var names []string
	for _, dp := range idle {
		names = append(names, fmt.Sprintf("DP%02d", dp))
	}
	w.note("%s had no request while other replicas ran their steps: the window was closed", strings.Join(names, ", "))
	w.lone, w.settles = idle, true
	w.m.o.Log(fmt.Sprintf("%s: %s has no request: closing the window", w.m.URL, strings.Join(names, ", ")))
	_, err := w.m.stop(ctx)
	w.changed = time.Now()
	return err
}

// idleRanks moves the ranks of idle replicas from r.Missing to r.IdleRanks.
func (w *watch) idleRanks(r *ServerResult) {
	for _, f := range w.missing() {
		if slices.Contains(w.lone, f.Rank.DP) {
			name := label(f)
			r.Missing = slices.DeleteFunc(r.Missing, func(s string) bool { return s == name })
			r.addIdle(f.Rank)
		}
	}
}

// withoutSteps adds a note about replicas whose traces have neither a step nor a kernel, if the traces of other
// replicas have some.
func (m *member) withoutSteps(r *ServerResult, files []check.File) {
	if m.info.DP < 2 || m.info.DPAttention {
		return
	}
	made := map[int]bool{}
	var ranks []trace.Rank
	for _, f := range files {
		name, _ := trace.ParseFileName(filepath.Base(f.Path))
		ranks = append(ranks, name.Rank)
		made[name.Rank.DP] = made[name.Rank.DP] || len(f.Steps) > 0 || f.Category["kernel"] > 0
	}
	for _, rank := range ranks {
		if !made[rank.DP] && len(made) > 1 {
			r.addIdle(rank)
		}
	}
}

func (r *ServerResult) addIdle(rank trace.Rank) {
	if name := rank.String(); !slices.Contains(r.IdleRanks, name) {
		r.IdleRanks = append(r.IdleRanks, name)
	}
}
