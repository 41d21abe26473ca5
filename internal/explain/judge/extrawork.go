package judge

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
)

// ownExcess is the excess of a rank's compute in a step over the compute of a typical peer.
type ownExcess struct {
	share float64         // excess due to other or larger kernels, as a share of the peer's compute
	slow  map[int32]int64 // excess of the same kernels, ns, by kernel key
	peer  map[int32]int64 // time of the peer's kernels, ns, by key
	told  bool            // kernels are reliably assigned to steps; see Domain.stepsKnown
	other float64         // excess of generated kernels in a slower configuration, as a share of the peer's compute
	grown float64         // factor by which contexts may lengthen attention; 0: unknown
}

// stepsKnown reports whether most launches of all ranks were recorded. An op without a launch counts to the step in
// which it runs, which may be a different step than on the rank's peers.
func (d *Domain) stepsKnown() bool {
	return !slices.ContainsFunc(d.Ranks, func(r *match.Rank) bool { return 2*r.Unlaunched > len(r.Ops) })
}

// byWork returns the ranks with work of their own in step n, the rank with the least work first. If most ranks are
// late, only early ranks count.
func (d *Domain) byWork(n int) []int {
	var ranks []int
	for i := range d.Ranks {
		if early := d.early[n]; d.work[i][n] != nil && (early == nil || slices.Contains(early, int32(i))) {
			ranks = append(ranks, i)
		}
	}
	sorts.Stable(ranks, func(i, j int) int { return cmp.Compare(d.work[i][n].total, d.work[j][n].total) })
	return ranks
}

// extraWork compares a rank's own work in step n with the work of the peer that has the median amount; peers is
// byWork(n). It compares only whole kernels over whole steps, so that late hosts and overlap with communication can
// neither hide nor feign a difference.
func (d *Domain) extraWork(names *prep.Names, peers []int, i, n int) (e ownExcess) {
	mine := d.work[i][n]
	own := slices.Index(peers, i)
	middle := (len(peers) - 1) / 2
	if own >= 0 {
		if middle = (len(peers) - 2) / 2; middle >= own {
			middle++
		}
	}
	if mine == nil || len(peers) == 0 || len(peers) == 1 && own == 0 {
		return e
	}
	of := peers[middle]
	ref := d.work[of][n]
	if ref.total == 0 {
		return e
	}
	l := lateness{extra: map[int32]extra{}, configured: d.late[i][n].configured}
	a, b := approach{keys: slices.Clone(mine.keys)}, approach{keys: slices.Clone(ref.keys)}
	a.against(&b, &l)
	e = ownExcess{share: float64(l.excess[byWork]) / float64(ref.total), slow: map[int32]int64{}, peer: map[int32]int64{}, told: d.stepsKnown()}
	e.grown = grown(infoOf(d.Ranks[i], n), infoOf(d.Ranks[of], n))
	for key, x := range l.extra {
		e.slow[key] = x.slow
		if l.configured[names.Keys[key].Name] {
			e.other += float64(x.slow) / float64(ref.total)
		}
	}
	for _, k := range ref.keys {
		e.peer[k.key] = k.busy
	}
	return e
}

// workBySteps sums a rank's own work by step and kernel. It leaves out steps with lost work.
func workBySteps(r *match.Rank, steps int) []*approach {
	out := make([]*approach, steps)
	for i := range r.Ops {
		o := &r.Ops[i]
		if o.Comm() || o.Step < 0 || r.Steps[o.Step].Unmeasured() {
			continue
		}
		n := int(o.Step) + r.First
		if out[n] == nil {
			out[n] = &approach{}
		}
		k := out[n].at(o)
		k.count++
		k.busy += o.End - o.Start
		out[n].total += o.End - o.Start
	}
	return out
}

// divideIdle divides the idle time due to a late host between work and host. For this, divideIdle compares the late
// rank with its most frequent reference rank: it compares their host times from launch to launch in the step. The
// excess of launches that only the late rank has counts as work; the excess of launches that both ranks have counts as
// host.
func (d *Domain) divideIdle(r int32, stepNo int, l *lateness) {
	if l.idle <= 0 || len(l.refs) == 0 {
		l.excess[byHost] += l.idle
		return
	}
	ref, most := int32(-1), 0
	for q, n := range l.refs {
		if n > most || n == most && q < ref {
			ref, most = q, n
		}
	}
	mine, theirs := hostTime(d.Ranks[r], stepNo), hostTime(d.Ranks[ref], stepNo)
	h := lateness{extra: map[int32]extra{}, configured: l.configured}
	a, b := approach{keys: mine}, approach{keys: theirs}
	a.against(&b, &h)
	// In these approaches, busy is host time. The excess that against assigns to the device therefore means that the
	// same launches took longer on the host.
	l.host = map[int32]int64{}
	for key, e := range h.extra {
		l.host[key] = e.slow
	}
	work, same := max(h.excess[byWork], 0), max(h.excess[byDevice], 0)
	if work+same == 0 {
		l.excess[byHost] += l.idle
		return
	}
	share := float64(work) / float64(work+same)
	l.excess[byWork] += int64(share * float64(l.idle))
	l.excess[byHost] += l.idle - int64(share*float64(l.idle))
}

// hostTime returns the host time of a step's launches by kernel key. The host time of a launch is the time since the
// end of the previous launch, less waits for the device.
func hostTime(r *match.Rank, stepNo int) []approachKey {
	n := stepNo - r.First
	if n < 0 || n >= len(r.Steps) {
		return nil
	}
	lo, _ := slices.BinarySearchFunc(r.Calls, r.Steps[n].Start, func(c prep.Call, at int64) int { return cmp.Compare(c.Start, at) })
	var a approach
	for i := lo; i < len(r.Calls) && r.Calls[i].Start < r.Steps[n].End; i++ {
		if c := &r.Calls[i]; c.Op >= 0 {
			k := a.at(&r.Ops[c.Op])
			k.count++
			k.busy += c.Host
		}
	}
	return a.keys
}
