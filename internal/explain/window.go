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

// Window holds the recording of one server's ranks, prepared once for all analyses.
type Window struct {
	names   *prep.Names
	ranks   []*prep.Rank
	aligned *match.Aligned // set by Analyze
	worth   *worth.Window  // set by Analyze unless Quick
	doubt   string         // why the traces cannot be one capture, by their own metadata; "": no reason
}

// Prepare prepares the traces of one window, one trace per rank (and stage). rules are kernel classes; nil: the
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

// Idle returns for how long the server was recorded, in ns, if it did nothing meanwhile: no step and no work on its
// devices. ok is false if it did something, or if a file does not give the length of its recording.
func (w *Window) Idle() (recorded int64, ok bool) {
	for _, r := range w.ranks {
		if r.Recorded == (prep.Interval{}) || len(r.Ops) > 0 || r.Rule != trace.Uncut {
			return 0, false
		}
		recorded = max(recorded, r.Recorded.End-r.Recorded.Start)
	}
	return recorded, len(w.ranks) > 0
}

// Aligned returns the ranks that Analyze compared, step by step; nil before Analyze.
func (w *Window) Aligned() *match.Aligned { return w.aligned }

// Worth returns the replay of the window's steps; nil before Analyze or with Quick. It is not safe for concurrent use.
func (w *Window) Worth() *worth.Window { return w.worth }

// WhatIf replays the window's steps with settings. Like Analyze, it must be the last call on w.
func (w *Window) WhatIf(opt Options, settings []worth.Setting) (*result.WhatIf, error) {
	opt.Quick = true
	rep, err := w.Analyze(opt)
	if err != nil {
		return nil, err
	}
	return worth.New(w.aligned).WhatIf(rep, settings)
}

// Server is one server as PrefillDecode takes it.
type Server = tables.Server

// Server extracts the data that PrefillDecode needs of one server; it does not keep the traces. loads are the server's
// own samples of its queues in this time; none: unknown. Call it before Analyze.
func (w *Window) Server(name string, loads []trace.Load) *Server {
	return tables.NewServer(name, loads, w.ranks, w.names)
}

// Replica compares the ranks of the named replica with all others, which share no collective with them; nil if the
// window does not allow it. is reports whether a trace belongs to the replica.
func (w *Window) Replica(name string, is func(*trace.Source) bool) *result.Replica {
	return replicas.Compare(w.ranks, w.names, name, is)
}
