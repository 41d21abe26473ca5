package torch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/api/servers"
	"github.com/stepscope/stepscope/internal/capture/collect"
	"github.com/stepscope/stepscope/internal/tracefile/merge"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// Result holds the collected files of a session.
type Result struct {
	ID      string         `json:"id"`
	Dir     string         `json:"dir"` // local directory of the files
	Servers []ServerResult `json:"servers"`
}

// ServerResult holds the files of one server. Paths are local.
type ServerResult struct {
	URL     string   `json:"url"`
	Role    string   `json:"role,omitempty"`
	Name    string   `json:"name"`
	Kind    Kind     `json:"kind"`
	Info    Info     `json:"info"`
	From    string   `json:"from"` // directory on the server
	Dir     string   `json:"dir"`
	Traces  []string `json:"traces"`           // traces of ranks
	Other   []string `json:"other"`            // memory snapshots, traces of front ends, the server's own merged trace
	Merged  string   `json:"merged,omitempty"` // merged trace of all ranks
	Missing []string `json:"missing"`          // ranks and stages without a complete trace
	Broken  []string `json:"broken"`           // incomplete files, with the reason
	Notes   []string `json:"notes"`
	// Problem is the reason why there is no file. It is also set for workers of a router that were down.
	Problem string `json:"problem,omitempty"`
	Idle    bool   `json:"idle,omitempty"` // no step ran within the time limit
	// IdleRanks are the ranks of data-parallel replicas that had no requests while other replicas ran steps.
	IdleRanks []string `json:"idle_ranks,omitempty"`
	Steps     *Steps   `json:"steps,omitempty"` // nil: no number of steps was requested
	// Loads holds the queue samples of a prefill or decode server during the window.
	Loads []trace.Load `json:"loads,omitempty"`
	// Reference holds decode step times that were measured without the profiler; nil: unknown.
	Reference *trace.Reference `json:"reference,omitempty"`

	contexts trace.Contexts

	gpus bool // there are samples of GPUs
	args bool // the server's arguments are kept
	conf bool // the configuration of the model is kept
	err  error
}

// Incomplete reports whether anything is missing, broken, or without enough steps.
func (r *Result) Incomplete() bool {
	return slices.ContainsFunc(r.Servers, func(s ServerResult) bool {
		return s.Problem != "" || s.Idle || s.Steps != nil && s.Steps.Few || len(s.Missing) > 0 || len(s.Broken) > 0
	})
}

// Collect waits until the files of all ranks are complete, copies them to dir, and merges each server's ranks. If there
// are several servers, the files of each server are put into a separate subdirectory of dir. Collect first closes a
// window that does not end by itself. The result lists missing and broken files. Collect returns an error if no server
// supplied a file, if the files exceed Options.Budget, or if ctx ends. In the last two cases, Collect first stops all
// profilers. Empty directories are removed.
func (s *Session) Collect(ctx context.Context, dir string) (*Result, error) {
	res := &Result{ID: s.ID, Dir: dir, Servers: make([]ServerResult, len(s.members))}
	for i := range s.down {
		res.Servers = append(res.Servers, s.down[i].result())
	}
	if s.w.NumSteps == 0 {
		if err := s.Stop(ctx); err != nil && ctx.Err() == nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	made, err := makeDir(dir)
	defer func() { removeEmpty(made) }()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w; give a directory for the files with -o", err), s.abort(ctx))
	}
	of := make([][]string, len(s.members)) // directories created for each server
	defer func() { removeEmpty(slices.Concat(of...)) }()
	var wg sync.WaitGroup
	for i, m := range s.members {
		wg.Go(func() {
			to := dir
			if s.several() {
				to = filepath.Join(dir, m.Name)
			}
			of[i], res.Servers[i] = m.collect(ctx, to)
			if err := res.Servers[i].err; errors.Is(err, collect.ErrBudget) {
				cancel(err) // the files of the other servers do not fit either
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		if left := s.abort(ctx); left != nil {
			return res, fmt.Errorf("%w; and %w", context.Cause(ctx), left)
		}
		return res, context.Cause(ctx)
	}
	if err := s.abort(ctx); err != nil { // stop the profilers of servers that failed
		s.o.Log(err.Error())
	}
	failed := func(r ServerResult) bool { return r.err != nil }
	if i := slices.IndexFunc(res.Servers, failed); i >= 0 && !slices.ContainsFunc(res.Servers, func(r ServerResult) bool { return !failed(r) }) {
		return res, res.Servers[i].err
	}
	return res, nil
}

// makeDir makes a directory and returns the directories that did not exist before, the deepest first.
func makeDir(dir string) (made []string, err error) {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) {
			return made, os.MkdirAll(dir, 0o777)
		}
		made = append(made, at)
	}
}

func removeEmpty(dirs []string) {
	for _, d := range dirs {
		os.Remove(d) // fails if the directory is not empty
	}
}

// collect does the work of Collect for one server. The result made lists the directories that collect created.
func (m *member) collect(ctx context.Context, dir string) (made []string, r ServerResult) {
	r = ServerResult{
		URL: m.URL, Role: m.Role, Name: m.Name, Kind: m.kind, Info: m.info, From: m.dir, Dir: dir,
		Traces: []string{}, Other: []string{}, Missing: []string{}, Broken: []string{}, Notes: []string{},
	}
	w := &watch{m: m, dir: dir, expected: m.expected(), seen: map[string]*seen{}}
	made, err := makeDir(dir)
	if err == nil {
		w.src, err = m.source()
	}
	if err == nil {
		err = m.attend(ctx, w)
		m.recheck(w.seen)
	}
	if h, ok := w.src.(interface{ Unfit() int }); ok && h.Unfit() > 0 {
		w.note("%d files of the window were left on the server, because their names are not accepted here", h.Unfit())
	}
	if err == nil {
		w.leftover(ctx)
		err = m.nothing(ctx, w)
	}
	r.Notes, r.Idle = slices.Concat(m.notes, w.notes), m.idled || w.idled
	if r.Notes == nil {
		r.Notes = []string{}
	}
	if err != nil {
		r.err, r.Problem = err, err.Error()
		return made, r
	}
	if r.Loads = m.loads; len(r.Loads) > 0 {
		m.write(dir, trace.LoadsFile, &r, func(f io.Writer) error { return json.NewEncoder(f).Encode(r.Loads) })
	}
	if r.args = m.raw != nil; r.args {
		m.write(dir, trace.ServerArgsFile, &r, func(f io.Writer) error { _, err := f.Write(m.raw); return err })
	}
	text := m.modelConfig(ctx)
	if r.conf = text != nil; r.conf {
		m.write(dir, trace.ModelFile, &r, func(f io.Writer) error { _, err := f.Write(text); return err })
	}
	m.keepContexts(ctx, &r)
	m.watchPace(ctx)
	if ref := m.reference(); ref != nil {
		r.Refer(ref)
	}
	m.sort(w, &r)
	w.idleRanks(&r)
	m.doing(doingCount)
	m.count(ctx, &r)
	if !m.o.NoMerge {
		m.doing(doingMerge)
		m.merge(ctx, &r)
	}
	m.doing(doingDone)
	return made, r
}

// write writes a file with data from the server. A failed write becomes a note.
func (m *member) write(dir, name string, r *ServerResult, text func(io.Writer) error) {
	if err := m.o.Budget.Write(filepath.Join(dir, name), text); err != nil {
		r.Notes = append(r.Notes, name+" could not be written: "+err.Error())
	}
}

// attend waits for the files. If Options.Probe is set, it sends tiny requests during the wait.
func (m *member) attend(ctx context.Context, w *watch) error {
	stop := m.sampling(ctx)
	defer stop()
	if m.o.Probe {
		if m.rest == nil {
			m.keepBusy(ctx)
		}
		defer m.rest()
	}
	return w.wait(ctx)
}

// nothing returns the error for a server that supplied no file, with a suggested remedy.
func (m *member) nothing(ctx context.Context, w *watch) error {
	if len(w.seen) > 0 || w.complete() {
		return nil
	}
	why := ""
	for _, n := range slices.Concat(m.notes, w.notes) {
		why += n + "; "
	}
	switch {
	case m.profile().Files:
		return fmt.Errorf("%s: %sthe window is over and left no file: see the server's log", m.URL, why)
	case m.profile().OwnDir:
		return fmt.Errorf("%s: %sno new trace in %s: give --output-dir, the directory that %s was started with, by its path on this host, or --fetch", m.URL, why, m.dir, m.kind)
	case m.o.Fetch == nil && !here(ctx, m.URL):
		return fmt.Errorf("%s: %sno trace in %s here: the server is on another host and does not share this directory: give --fetch 'ssh {host} cat {path}', or an --output-dir that both hosts share", m.URL, why, m.dir)
	case !w.idle:
		return fmt.Errorf("%s: %sthe window was closed and left no trace in %s: see 'Traces are saved to' in the server's log; a server in a container has its own file system, which --fetch can read", m.URL, why, m.dir)
	}
	return fmt.Errorf("%s: %sthe server says that it is not recording, but there is no trace in %s: it may lack permission to write there, or run in a container with its own file system (give --fetch); see 'Traces are saved to' in its log", m.URL, why, m.dir)
}

// sort classifies the files and lists the missing ones.
func (m *member) sort(w *watch, r *ServerResult) {
	named := len(w.have(func(f trace.FileName, name string) bool { return isTrace(f, name) && f.Rank != trace.NoRank })) > 0
	for _, name := range w.have(func(trace.FileName, string) bool { return true }) {
		f, _ := trace.ParseFileName(name)
		// vLLM's front end writes a separate trace in addition to the traces of the ranks.
		if isTrace(f, name) && (f.Rank != trace.NoRank || !named) {
			r.Traces = append(r.Traces, filepath.Join(r.Dir, name))
		} else {
			r.Other = append(r.Other, filepath.Join(r.Dir, name))
		}
	}
	for _, f := range w.missing() {
		r.Missing = append(r.Missing, label(f))
	}
	if len(r.Missing) > 0 && m.info.Nodes > 1 {
		r.Notes = append(r.Notes, fmt.Sprintf("the server has %d nodes, and each stores the traces of its ranks locally: use shared storage, or give --fetch for each", m.info.Nodes))
	}
	for name, s := range w.seen {
		if s.partial != nil {
			r.Broken = append(r.Broken, name+": "+s.partial.Error())
			if isTrace(trace.FileName{}, name) {
				r.Traces = append(r.Traces, filepath.Join(r.Dir, name))
			}
		}
	}
	slices.Sort(r.Traces)
	slices.Sort(r.Broken)
	if w.mergePending() {
		r.Notes = append(r.Notes, "the server's own merged trace has not arrived")
	}
}

// merge merges the ranks, including the ranks that SGLang's own merger omits. If the window requested merging, a
// stepscope server has already merged its ranks.
func (m *member) merge(ctx context.Context, r *ServerResult) {
	for _, path := range r.Other {
		if f, _ := trace.ParseFileName(filepath.Base(path)); f.Merged && m.profile().Merges == servers.Merges {
			r.Merged = path
			return
		}
	}
	if len(r.Traces) < 2 {
		return
	}
	sets, err := set.Find(r.Traces)
	if err == nil && len(sets) != 1 {
		err = fmt.Errorf("according to their names, they belong to %d windows", len(sets))
	}
	if err != nil {
		r.Notes = append(r.Notes, "not merged: "+err.Error())
		return
	}
	out := filepath.Join(r.Dir, set.OutputName(sets[0].ID, ".trace.json.gz"))
	if slices.Contains(r.Other, out) { // the server has written a merged trace
		out = filepath.Join(r.Dir, set.OutputName(sets[0].ID, ".all-ranks.trace.json.gz"))
	}
	began := time.Now()
	merged, err := merge.File(ctx, sets[0], out, merge.Options{ProfileID: sets[0].ID, MostBytes: m.o.Budget.Left()})
	if err == nil {
		err = m.o.Budget.Hold(out, merged.BytesOut)
	}
	if err != nil {
		r.Notes = append(r.Notes, "not merged: "+err.Error())
		return
	}
	r.Merged = out
	m.o.Log(fmt.Sprintf("%s: merged %d traces in %v", m.URL, len(r.Traces), time.Since(began).Round(time.Millisecond)))
}

// Lines summarizes the result.
func (r *ServerResult) Lines() []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if r.Problem != "" {
		add("nothing received: %s", r.Problem)
		return out
	}
	if len(r.Traces) > 0 || len(r.Other) == 0 && len(r.Missing)+len(r.Broken) > 0 {
		add("%d traces in %s", len(r.Traces), r.Dir)
	} else {
		add("no traces; the other files are in %s", r.Dir)
	}
	if len(r.Missing) > 0 {
		add("missing: %s", strings.Join(r.Missing, ", "))
	}
	for _, b := range r.Broken {
		add("broken: %s", b)
	}
	if len(r.IdleRanks) > 0 {
		add("idle: %s ran no step, because their replica had no request", strings.Join(r.IdleRanks, ", "))
	}
	if r.Steps != nil && r.Steps.line() != "" {
		add("%s", r.Steps.line())
	}
	for _, n := range r.Notes {
		add("%s", n)
	}
	if r.Merged != "" {
		add("merged: %s", r.Merged)
	}
	return out
}
