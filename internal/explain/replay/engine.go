package replay

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
)

// vLLM's workers receive each step from an engine in another process, which the workers' traces do not show. On one
// worker, a thread that launches nothing waits for the tokens of a step and sends them to the engine. The engine
// schedules the next step when it has the tokens of an earlier step. If a launching thread recorded nothing for some
// time before a step, and tokens arrived in that time, the thread was waiting for the engine. In a replay, such a
// thread continues with the recorded delay after the arrival of the tokens.

// engineWait is a wait of a launching thread for the engine, before a step.
type engineWait struct {
	prep.Interval       // from the last recorded event to the start of the step, on the rank's clock
	output        int32 // index in outputs of the last output before the step
	returns       int32 // node at which the thread continues
}

// output is the arrival of sampled tokens on the host.
type output struct {
	prep.Interval       // wait of the receiving thread, on the clock of its rank
	at            int64 // end of the wait on the common clock
	node          int32 // node of the arrival; none: the op that produced the tokens is unknown
}

// engine ties the steps of a domain to earlier outputs.
type engine struct {
	rank    int // rank of the outputs
	outputs []output
	turns   [][]engineWait // waits for the engine, by rank and in time order
	own     int64          // usual time from the last recorded event of a thread to its next step if it does not wait
}

// findEngine finds the waits of a domain's ranks for the engine. It returns no outputs if no rank receives tokens on a
// separate thread.
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

// addOutputs adds a node for each output, which depends on the op for which the receiving thread waits.
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

// addTurns makes the steps of threads depend on the outputs for which the engine waits. The engine sends a step to all
// workers at once, so a worker that begins the step later than the first worker causes the extra delay itself.
func (b *builder) addTurns() {
	type turn struct{ output, step int32 }
	least := map[turn]int64{} // time from the output to the step on the first worker
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
