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
}

// Prepare takes the traces of one window, one trace per rank (and stage). rules are
// kernel classes; nil: the built-in table.
func Prepare(traces []*trace.Trace, rules *kernel.Rules) *Window {
	if rules == nil {
		rules = kernel.Default()
	}
	w := &Window{names: newNames(rules)}
	for i, t := range traces {
		w.ranks = append(w.ranks, prepare(i, t, w.names))
	}
	return w
}

// Idle tells how long a server was recorded that did nothing meanwhile, ns: no step, and
// nothing on its devices. ok is false if it did something, or a file does not say how
// long it was recorded.
func (w *Window) Idle() (recorded int64, ok bool) {
	for _, r := range w.ranks {
		s := r.recorded()
		if s == nil || len(r.ops) > 0 || r.rule != trace.Uncut {
			return 0, false
		}
		recorded = max(recorded, s.Dur)
	}
	return recorded, len(w.ranks) > 0
}
