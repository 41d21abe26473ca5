package worth

import (
	"slices"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/replay"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// Changed returns the worth of other times of ops in steps of one kind. time returns the new time of an op, in ns, and
// false if it stays as it is; an op with a time of 0 vanishes. rank is the index of a rank in the window. If a reference
// shows the cost of recording, the worth is that without this cost. Last is the gain if the hosts took no time.
func (w *Window) Changed(rep *result.Report, kind trace.StepKind, time func(rank, op int) (ns int64, ok bool)) result.Worth {
	if !w.Replay.Known || len(w.Domains) == 0 {
		return result.Worth{}
	}
	lean := kind.String() == rep.Recording.Kind && !slices.ContainsFunc(w.Domains, func(d *Domain) bool { return d.lean == nil })
	n := 0
	for _, d := range w.Domains {
		n = max(n, len(d.Base))
	}
	count, was, base, now, bound := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	for _, d := range w.Domains {
		of, from, other := d.Recorded, d.Base, replay.Change(nil)
		if lean {
			of, from, other = d.lean.base, d.lean.base, d.lean.change
		}
		change := d.Graph.Set(func(rank, op int) (int64, bool) { return time(d.Ranks[rank].Index, op) })
		if len(change) == 0 {
			continue
		}
		times := func(x replay.Change) []int64 { return d.Graph.Times(d.Graph.Run(d.Graph.Both(x, change))) }
		after, device := times(other), times(d.bounds[result.RemoveHost]())
		for s := range from {
			if w.KindOf[s] == kind && from[s] > 0 {
				count[s], was[s], base[s], now[s] = count[s]+1, was[s]+of[s], base[s]+from[s], now[s]+after[s]
				bound[s] += d.hostless()[s] - device[s]
			}
		}
	}
	var steps []int
	for s, k := range count {
		if k > 0 {
			was[s], base[s], now[s] = was[s]/k, base[s]/k, now[s]/k
			steps = append(steps, s)
		}
	}
	if len(steps) == 0 {
		return result.Worth{}
	}
	x := w.gain(rep, was, base, steps, kind, now)
	x.NoLoss()
	x.Unrecorded = lean
	var last []int64
	for _, s := range steps {
		last = append(last, bound[s]/count[s])
	}
	centre, _, _ := metric.PseudoMedian(last, level)
	x.Last = max(int64(centre), 0)
	return x
}
