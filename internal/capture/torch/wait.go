package torch

import (
	"context"
	"errors"
	"fmt"
	"github.com/stepscope/stepscope/internal/api/servers"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stepscope/stepscope/internal/base/pause"
	"github.com/stepscope/stepscope/internal/base/progress"
	"github.com/stepscope/stepscope/internal/capture/collect"
	"github.com/stepscope/stepscope/trace"
)

const (
	maxWait   = 2 * time.Second  // maximum interval between listings of the files
	lookAt    = time.Second      // interval between queries of a server's work
	afterIdle = 10 * time.Second // a server whose window has ended writes nothing after this time
	settled   = 2 * time.Second  // time without a change, if the number of files is unknown
	badLists  = 5                // number of consecutive failures after which the error no longer counts as temporary
)

// watch waits for the files of one server and fetches each file as soon as the file is complete.
type watch struct {
	m        *member
	src      collect.Source
	dir      string // local destination; "": only list the files
	expected []trace.FileName
	seen     map[string]*seen
	changed  time.Time
	failed   int // number of consecutive failed listings
	idle     bool
	notes    []string
	idled    bool // no step ran within the time limit
	settles  bool // the files of the other stage or of idle replicas will not arrive
	replicas replicas
	lone     []int // replicas that were idle while other replicas ran steps
}

// seen is a file of the server.
type seen struct {
	size    int64
	looks   int // number of listings with this size
	done    bool
	partial error // why the file is incomplete at this size
	failed  int   // number of consecutive failed fetches
	strays  bool  // the file holds no step of the stage in its name
}

func (w *watch) note(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
}

// wait returns when all files have arrived or when no more files will arrive. When wait returns without an error, the
// window is closed.
func (w *watch) wait(ctx context.Context) error {
	began := time.Now()
	w.changed = began
	pulse, looked, hinted := w.m.pulse(), time.Time{}, false
	known, slow := true, progress.Paces{First: slowTraces}
	for between := w.m.o.firstWait; ; between = min(between*3/2, maxWait) {
		changed, err := w.look(ctx)
		if err != nil {
			return err
		}
		w.brought()
		if changed {
			w.changed, between, slow = time.Now(), w.m.o.firstWait, progress.Paces{First: slowTraces}
		}
		if w.complete() {
			if w.m.recording() { // the files exist, so the window has closed by itself
				w.m.record(false)
			}
			return nil
		}
		if !w.m.recording() {
			w.m.doing(doingWait)
		}
		over, err := w.decide(ctx, began, pulse)
		if over || err != nil {
			return err
		}
		if len(w.seen) == 0 && w.m.recording() && time.Since(looked) >= min(lookAt, w.m.o.Idle) {
			_, known = pulse.look(ctx)
			looked = time.Now()
			w.m.countNow(ctx)
			if !hinted && !pulse.moved && time.Since(began) >= w.m.o.Idle {
				hinted = true
				w.m.o.Log(w.hint(known))
			}
		}
		if quiet := time.Since(w.changed); slow.Due(quiet) && (pulse.moved || !known || len(w.seen) > 0) {
			w.m.o.Log(w.waits(quiet))
		}
		if !pause.For(ctx, between) {
			return context.Cause(ctx)
		}
	}
}

// slowTraces is the time without a new file after which a message is logged.
const slowTraces = 10 * time.Second

// waits returns a message about the files that are still missing.
func (w *watch) waits(quiet time.Duration) string {
	var left []string
	for _, f := range w.missing() {
		left = append(left, label(f))
	}
	what := "the traces"
	if n := len(left); n > 4 {
		what = fmt.Sprintf("the traces of %s and %d more", strings.Join(left[:3], ", "), n-3)
	} else if n > 0 {
		what = "the traces of " + strings.Join(left, ", ")
	}
	if !w.m.recording() {
		return fmt.Sprintf("%s: the window is over; waiting for %s, nothing received for %v", w.m.URL, what, quiet.Round(time.Second))
	}
	return fmt.Sprintf("%s: waiting for %s: it is still running their steps or writing them, nothing received for %v", w.m.URL, what, quiet.Round(time.Second))
}

// hint suggests a remedy for a server that seems to have no work.
func (w *watch) hint(known bool) string {
	how := "send load to it, or give --probe to send tiny requests"
	switch {
	case w.m.front != "":
		how = "send load to its router, or give --probe to send tiny requests there"
	case w.m.Role != "":
		how = "send load through its router"
	}
	if !known {
		return fmt.Sprintf("%s: no file yet, and it does not report whether it has work: if it has none, %s", w.m.URL, how)
	}
	return fmt.Sprintf("%s: is running no forward step, so there is nothing to record: %s", w.m.URL, how)
}

// decide closes a window that does not close by itself, and decides when the wait is over. Only the answer to a stop
// request shows whether the window was still open.
func (w *watch) decide(ctx context.Context, began time.Time, pulse *pulse) (over bool, err error) {
	m := w.m
	if h, ok := w.src.(interface{ Closed() bool }); ok && h.Closed() {
		m.record(false)
	}
	quiet := time.Since(w.changed)
	if !m.recording() {
		limit := m.o.Stall
		if w.idle && len(w.seen) == 0 {
			limit = min(limit, afterIdle)
		}
		if len(w.lone) == 0 {
			w.lone = w.loneReplicas(ctx)
		}
		if w.settles || len(w.lone) > 0 {
			limit = min(limit, settled)
		}
		return quiet >= limit, nil
	}
	if lone := w.loneReplicas(ctx); len(lone) > 0 {
		return false, w.closeLone(ctx, lone)
	}
	switch {
	case m.w.NumSteps > 0 && len(w.seen) == 0 && w.tooIdle(pulse):
	case !m.profile().Ends && m.w.NumSteps > 0:
		n, _ := m.countedSteps(ctx)
		if m.hasSteps {
			m.made(n - m.steps)
		}
		if m.hasSteps && n-m.steps < float64(m.w.NumSteps) && time.Since(began) < m.o.Timeout {
			return false, ctx.Err()
		}
		if !m.hasSteps {
			w.note("it reports no count of steps in /metrics: recorded for %v instead of for %d steps", vllmTime, m.w.NumSteps)
			if time.Since(began) < vllmTime {
				pause.For(ctx, vllmTime-time.Since(began))
			}
		}
	case (quiet >= min(m.o.Stall, stagePatience) || w.strayed()) && w.stageDone() != "":
		return false, w.otherStage(ctx)
	case m.w.ByStage && len(m.stages()) == 1 && w.strayed() && quiet >= min(m.o.Stall, settled):
		return false, w.lost(ctx)
	case w.someDone() && quiet >= m.o.Stall:
		w.note("some ranks had not finished their steps: the window was closed")
	case time.Since(began) >= m.o.Timeout:
		if pulse.began && !pulse.moved {
			w.idled = true
			w.note("there was no forward step in %v: send load to the server, or give --probe", m.o.Timeout)
		} else {
			w.note("the window had not closed by itself after %v", m.o.Timeout)
		}
	default:
		return false, ctx.Err()
	}
	m.o.Log(fmt.Sprintf("%s: closing the window", m.URL))
	end, err := m.stop(ctx)
	w.idle = end == wasIdle
	w.changed = time.Now()
	return false, err
}

// tooIdle reports whether the window must be closed because the server has no work. If the window must be closed,
// tooIdle adds a note with the reason.
func (w *watch) tooIdle(p *pulse) bool {
	why, too := p.tooIdle()
	if too {
		w.idled = !p.moved
		w.note("%s", why)
	}
	return too
}

// vllmTime is the length of a vLLM window whose steps cannot be counted.
const vllmTime = 2 * time.Second

// look lists the files and fetches the complete files. The result changed reports whether a file has arrived or grown.
func (w *watch) look(ctx context.Context) (changed bool, err error) {
	files, err := w.src.List(ctx)
	if err != nil {
		if w.failed++; w.failed < badLists && ctx.Err() == nil {
			return false, nil
		}
		return false, fmt.Errorf("%s: its files cannot be listed: %w", w.m.URL, err)
	}
	w.failed = 0
	for _, f := range files {
		if w.m.before[f.Name] || w.m.until != nil && !w.m.until[f.Name] || !wanted(f.Name) {
			continue
		}
		s := w.seen[f.Name]
		if s == nil {
			s = &seen{size: -2}
			w.seen[f.Name] = s
		}
		if s.done && (f.Size == s.size || f.Size < 0 || f.Done) {
			continue
		}
		if f.Size != s.size && (!f.Done || s.looks == 0) { // the size of a complete file does not change
			*s = seen{size: f.Size}
			changed = true
		}
		s.looks++
		if !f.Done && s.looks < 2 || s.partial != nil && f.Size >= 0 {
			continue
		}
		if w.dir != "" && !w.m.recording() {
			w.m.doing(doingFetch)
		}
		switch err := w.bring(ctx, f.Name); {
		case err == nil:
			s.done, s.partial, changed = true, nil, true
			if w.dir != "" {
				s.strays = w.m.w.ByStage && isTrace(trace.FileName{}, f.Name) && strays(ctx, filepath.Join(w.dir, f.Name))
				w.m.o.Log(fmt.Sprintf("%s: %s", w.m.URL, f.Name))
			}
		case errors.Is(err, collect.ErrPartial):
			s.partial = err
		case ctx.Err() != nil:
			return changed, context.Cause(ctx)
		default:
			if s.failed++; s.failed >= badLists || errors.Is(err, collect.ErrBudget) {
				return changed, fmt.Errorf("%s: %s: %w", w.m.URL, f.Name, err)
			}
		}
	}
	return changed, nil
}

// wanted reports whether a file is a trace or a memory snapshot.
func wanted(name string) bool {
	ending := trace.TraceSuffix(name)
	return strings.HasSuffix(name, ".pickle") || ending != "" && strings.Contains(ending, "trace")
}

// bring fetches a complete file. A file that can be read without copying is checked before it is copied.
func (w *watch) bring(ctx context.Context, name string) error {
	if w.dir == "" {
		return nil
	}
	to := filepath.Join(w.dir, name)
	if from := w.src.Here(name); from != "" {
		if err := collect.Whole(ctx, from); err != nil {
			return err
		}
		return collect.Dir(filepath.Dir(from)).Bring(ctx, name, to, w.m.o.Budget)
	}
	if err := w.src.Bring(ctx, name, to, w.m.o.Budget); err != nil {
		return err
	}
	return collect.Whole(ctx, to)
}

// leftover fetches files that will never be complete, because a partial trace is better than none. The result lists
// these files as broken.
func (w *watch) leftover(ctx context.Context) {
	for name, s := range w.seen {
		to := filepath.Join(w.dir, name)
		if s.done {
			continue
		}
		if _, err := os.Stat(to); err == nil {
			continue
		}
		if err := w.src.Bring(ctx, name, to, w.m.o.Budget); err != nil {
			w.note("%s: %v", name, err)
		}
	}
}

// have lists the complete files that satisfy keep.
func (w *watch) have(keep func(trace.FileName, string) bool) (names []string) {
	for name, s := range w.seen {
		parsed, _ := trace.ParseFileName(name)
		if s.done && keep(parsed, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func isTrace(f trace.FileName, name string) bool { return !f.Merged && trace.TraceSuffix(name) != "" }

func (w *watch) someDone() bool {
	return len(w.have(isTrace)) > 0
}

// missing lists the expected traces that have not arrived.
func (w *watch) missing() []trace.FileName {
	var have []trace.FileName
	for _, name := range w.have(isTrace) {
		parsed, _ := trace.ParseFileName(name)
		have = append(have, w.held(name, parsed))
	}
	return missing(w.expected, have)
}

// complete reports whether all expected files have arrived.
func (w *watch) complete() bool {
	m := w.m
	if !m.traced() && !slices.Contains(m.w.activities(), "MEM") {
		// With an external profiler there are no expected files. Only stepscope's servers report the end of the window.
		return !m.profile().Files || !m.recording()
	}
	if len(w.missing()) > 0 {
		return false
	}
	quiet := time.Since(w.changed)
	if slices.Contains(m.w.activities(), "MEM") {
		n := len(w.have(func(_ trace.FileName, name string) bool { return strings.HasSuffix(name, ".pickle") }))
		if want := len(m.info.ranks()) * len(m.stages()); n < want || want == 0 && (n == 0 || quiet < min(settled, m.o.Stall)) {
			return false
		}
	}
	if m.traced() && len(w.expected) == 0 && (m.recording() || !w.someDone() || w.growing() || quiet < min(settled, m.o.Stall)) {
		return false
	}
	return !w.mergePending() || quiet >= m.o.Stall
}

func (w *watch) growing() bool {
	for _, s := range w.seen {
		if !s.done {
			return true
		}
	}
	return false
}

// mergePending reports whether the merged file that the server writes is still expected. If files have a prefix, no
// merged file is expected, because SGLang's merger does not find such files.
func (w *watch) mergePending() bool {
	merges := w.m.profile().Merges
	if !w.m.w.Merge || !w.m.traced() || merges == servers.MergesNever || merges == servers.MergesUnprefixed && w.m.w.Prefix != "" {
		return false
	}
	return len(w.have(func(f trace.FileName, _ string) bool { return f.Merged })) == 0
}
