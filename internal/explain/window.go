package explain

import (
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
	"github.com/stepscope/stepscope/internal/explain/replicas"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/internal/explain/tables"
	"github.com/stepscope/stepscope/internal/explain/worth"
	"github.com/stepscope/stepscope/trace"
)

// Window holds the recordings of one server's ranks, prepared once for all analyses.
type Window struct {
	names   *prep.Names
	ranks   []*prep.Rank
	aligned *match.Aligned // set by Analyze
	worth   *worth.Window  // set by Analyze unless Quick
	doubt   string         // reason, from the traces' metadata, why they cannot be one capture; "": none
}

// Prepare prepares the traces of one window, one trace per rank (and stage). rules assign kernels to classes; nil: the
// built-in table.
func Prepare(traces []*trace.Trace, rules *kernel.Rules) *Window {
	return Join(prep.Traces(traces, rules))
}

// Join builds a window from ranks that were prepared separately, possibly on other hosts.
func Join(ranks []*prep.Rank) *Window {
	w := &Window{}
	w.ranks, w.doubt = once(ranks)
	w.names = prep.Join(w.ranks)
	return w
}

// doubts returns the reasons why the traces cannot be one capture.
func (w *Window) doubts(a *match.Aligned) (all []string) {
	for _, why := range []string{w.doubt, a.Apart()} {
		if why != "" {
			all = append(all, why)
		}
	}
	return all
}

// Idle returns the length of the recording of an idle server, in ns. A server is idle if it made no step and did no
// work on its devices. ok is false if the server was not idle, or if a file does not give the length of its recording.
func (w *Window) Idle() (recorded int64, ok bool) {
	for _, r := range w.ranks {
		if r.Recorded == (prep.Interval{}) || len(r.Ops) > 0 || r.Rule != trace.Uncut {
			return 0, false
		}
		recorded = max(recorded, r.Recorded.End-r.Recorded.Start)
	}
	return recorded, len(w.ranks) > 0
}

// Aligned returns the aligned ranks that Analyze compared, or nil before Analyze.
func (w *Window) Aligned() *match.Aligned { return w.aligned }

// Worth returns the replay of the window's steps. It returns nil before Analyze, and if Options.Quick was set. It is
// not safe for concurrent use.
func (w *Window) Worth() *worth.Window { return w.worth }

// WhatIf replays the window's steps with hypothetical settings. Like Analyze, it must be the last call on w.
func (w *Window) WhatIf(opt Options, settings []worth.Setting) (*result.WhatIf, error) {
	opt.Quick = true
	rep, err := w.Analyze(opt)
	if err != nil {
		return nil, err
	}
	return worth.New(w.aligned).WhatIf(rep, settings)
}

// Server holds the data of one server for PrefillDecode.
type Server = tables.Server

// Server extracts the data of this window's server that PrefillDecode needs. The result does not keep the traces in
// memory. loads are samples of the server's queues, as reported by the server during the window; empty: unknown. Server
// must be called before Analyze.
func (w *Window) Server(name string, loads []trace.Load) *Server {
	return tables.NewServer(name, loads, w.ranks, w.names)
}

// Replica compares the ranks of the named replica with all other ranks. The other ranks must share no collective with
// the replica. Replica returns nil if the window does not allow the comparison. is reports whether a trace belongs to
// the replica.
func (w *Window) Replica(name string, is func(*trace.Source) bool) *result.Replica {
	return replicas.Compare(w.ranks, w.names, name, is)
}
