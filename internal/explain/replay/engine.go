package replay

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
)

// vLLM's workers get each step from an engine in another process, which their traces do not show. The engine schedules
// the next step once it has the tokens of an earlier one, for which a thread of one worker that launches nothing waits
// and which it then sends. So if nothing is recorded of a launching thread before its step, and tokens arrived
// meanwhile, it waited for the engine: in a replay it continues after the arrival with the recorded delay.

// engineWait is a wait of a launching thread for the engine, before a step.
type engineWait struct {
	prep.Interval       // on the rank's clock: from the last recorded event to the start of the step
	output        int32 // in outputs: the last one before the step
	returns       int32 // the node
}

// output is the arrival of sampled tokens on the host.
type output struct {
	prep.Interval       // on the clock of its rank
	at            int64 // its end on the common clock
	node          int32 // none: the op that it waited for is unknown
}

// engine ties the steps of a domain to earlier outputs.
type engine struct {
	rank    int // rank of the outputs
	outputs []output
	turns   [][]engineWait // by rank, in order of time
	own     int64          // from the last recorded event of a thread to its next step, without a wait
}

// findEngine finds the waits for the engine of a domain; it returns no outputs if no rank receives tokens on a separate
// thread.
func findEngine(d *match.Domain) (e engine) {
	e.turns = make([][]engineWait, len(d.Ranks))
	for i, r := range d.Ranks {
		for _, x := range r.Outputs() {
			e.outputs = append(e.outputs, output{Interval: x, at: r.Wall(x.End), node: none})
		}
		if len(e.outputs) > 0 {
			e.rank = i
			break
		}
	}
	if len(e.outputs) == 0 {
		return e
	}
	var busy, all []int64
	for i, r := range d.Ranks {
		for k := 1; k < len(r.Steps); k++ {
			s := &r.Steps[k]
			if s.Quiet >= s.Start || r.Begins(k) {
				continue
			}
			all = append(all, s.Start-s.Quiet)
			from, to := r.Wall(s.Quiet), r.Wall(s.Start)
			n, _ := slices.BinarySearchFunc(e.outputs, to, func(o output, at int64) int { return cmp.Compare(o.at, at) })
			if n == 0 || e.outputs[n-1].at <= from {
				busy = append(busy, s.Start-s.Quiet)
				continue
			}
			e.turns[i] = append(e.turns[i], engineWait{Interval: prep.Interval{Start: s.Quiet, End: s.Start}, output: int32(n - 1), returns: none})
		}
	}
	switch {
	case len(busy) > 0:
		e.own = int64(metric.MedianInPlace(busy))
	case len(all) > 0:
		e.own = slices.Min(all)
	}
	return e
}

// addOutputs adds the nodes of the outputs, each after the op that its thread waits for.
func (b *builder) addOutputs(r *match.Rank, ends []int32, w *waitFor, usual *lags) {
	for i := range b.engine.outputs {
		o := &b.engine.outputs[i]
		op := w.op(ret{since: o.Start, at: o.End})
		if op == none {
			continue
		}
		n := newNode(Return, int32(b.engine.rank), o.at, 0)
		n.step = stepOf(r, r.StepAt(o.End))
		if n.await(ends[op], b.nodes[ends[op]].at, usual.of[lagReturn]) {
			b.settle(&n)
			o.node = b.add(n)
		}
	}
}

// addTurns makes threads begin steps after the outputs that the engine waits for. The engine gives a step to all
// workers at once, so any further delay of a worker is its own.
func (b *builder) addTurns() {
	type turn struct{ output, step int32 }
	least := map[turn]int64{} // from the output to the step, of the first worker
	each := func(do func(n *node, from int32, of turn)) {
		for _, list := range b.engine.turns {
			for i := range list {
				if t := &list[i]; t.returns != none {
					n := &b.nodes[t.returns]
					do(n, b.engine.outputs[t.output].node, turn{t.output, n.step})
				}
			}
		}
	}
	each(func(n *node, from int32, of turn) {
		if from != none {
			lag := n.at - b.nodes[from].at
			if least[of] == 0 || lag < least[of] {
				least[of] = lag
			}
		}
	})
	each(func(n *node, from int32, of turn) {
		if from != none {
			n.await(from, b.nodes[from].at, least[of])
		}
		b.settle(n)
	})
}
