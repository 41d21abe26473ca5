package explain

import (
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/trace"
)

// Window is what the ranks of one server recorded, prepared once for all that is asked
// of it.
type Window struct {
	names *names
	ranks []*rank
	hosts []*host
}

// Prepare takes the traces of one window, one trace per rank (and stage). rules are
// kernel classes; nil: the built-in table.
func Prepare(traces []*trace.Trace, rules *kernel.Rules) *Window {
	if rules == nil {
		rules = kernel.Default()
	}
	w := &Window{names: newNames(rules)}
	for i, t := range traces {
		w.ranks, w.hosts = append(w.ranks, prepare(i, t, w.names)), append(w.hosts, newHost(t))
	}
	label(w.ranks)
	return w
}

// Idle tells how long a server was recorded that did nothing meanwhile, ns: no step, and
// nothing on its devices. ok is false if it did something, or a file does not say how
// long it was recorded.
func (w *Window) Idle() (recorded int64, ok bool) {
	for _, r := range w.ranks {
		if r.recorded == (interval{}) || len(r.ops) > 0 || r.rule != trace.Uncut {
			return 0, false
		}
		recorded = max(recorded, r.recorded.end-r.recorded.start)
	}
	return recorded, len(w.ranks) > 0
}

// Server takes from a window what PrefillDecode wants of one of a side's servers; the
// traces are not kept. loads is what the server said of its queues meanwhile; none: not
// known. It comes before Analyze.
func (w *Window) Server(name string, loads []trace.Load) *Server {
	return newServer(name, loads, w.ranks, w.names)
}
