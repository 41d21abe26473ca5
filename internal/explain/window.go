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

// Window is what the ranks of one server recorded, prepared once for all that is asked
// of it.
type Window struct {
	names   *prep.Names
	ranks   []*prep.Rank
	aligned *match.Aligned // once it is analysed
	worth   *worth.Window  // and its steps were run again
	doubt   string         // why the traces cannot be one capture, if they say so themselves
}

// Prepare takes the traces of one window, one trace per rank (and stage). rules are
// kernel classes; nil: the built-in table.
func Prepare(traces []*trace.Trace, rules *kernel.Rules) *Window {
	return Join(prep.Traces(traces, rules))
}

// Join takes the ranks of one window, prepared one by one wherever their traces are.
func Join(ranks []*prep.Rank) *Window {
	w := &Window{}
	w.ranks, w.doubt = once(ranks)
	w.names = prep.Join(w.ranks)
	return w
}

// doubts are reasons for which the traces cannot be one capture.
func (w *Window) doubts(a *match.Aligned) (all []string) {
	for _, why := range []string{w.doubt, a.Apart()} {
		if why != "" {
			all = append(all, why)
		}
	}
	return all
}

// Idle tells how long a server was recorded that did nothing meanwhile, ns: no step, and
// nothing on its devices. ok is false if it did something, or a file does not say how
// long it was recorded.
func (w *Window) Idle() (recorded int64, ok bool) {
	for _, r := range w.ranks {
		if r.Recorded == (prep.Interval{}) || len(r.Ops) > 0 || r.Rule != trace.Uncut {
			return 0, false
		}
		recorded = max(recorded, r.Recorded.End-r.Recorded.Start)
	}
	return recorded, len(w.ranks) > 0
}

// Aligned is what Analyze compared: the ranks, step by step. It is there once Analyze was.
func (w *Window) Aligned() *match.Aligned { return w.aligned }

// Worth is what the window's steps are run again by. It is there once Analyze was, unless Quick; one may ask it at a time.
func (w *Window) Worth() *worth.Window { return w.worth }

// WhatIf runs the window's steps again with settings. Like Analyze it is the last thing to
// ask of it.
func (w *Window) WhatIf(opt Options, settings []worth.Setting) (*result.WhatIf, error) {
	opt.Quick = true
	rep, err := w.Analyze(opt)
	if err != nil {
		return nil, err
	}
	return worth.New(w.aligned).WhatIf(rep, settings)
}

// Server is what PrefillDecode wants of one server.
type Server = tables.Server

// Server takes from a window what PrefillDecode wants of one of a side's servers; the
// traces are not kept. loads is what the server said of its queues meanwhile; none: not
// known. It comes before Analyze.
func (w *Window) Server(name string, loads []trace.Load) *Server {
	return tables.NewServer(name, loads, w.ranks, w.names)
}

// Replica sets the ranks of a replica against all others, which share no collective with them; nil: the
// window does not tell. name is that of the replica.
func (w *Window) Replica(name string, is func(*trace.Source) bool) *result.Replica {
	return replicas.Compare(w.ranks, w.names, name, is)
}
