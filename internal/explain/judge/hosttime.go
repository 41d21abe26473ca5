package judge

import (
	"cmp"
	"slices"

	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
)

// divideIdle splits the idle time that a late host caused between work and
// host, by what the hosts of the late rank and of its usual reference needed
// from launch to launch in this step: for ops that only the late rank has, and
// for those that both have.
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
	h := lateness{extra: map[int32]extra{}}
	a, b := approach{keys: mine}, approach{keys: theirs}
	a.against(&b, &h)
	// Here busy is host time: what `against` calls device is the same launches
	// taking longer on the host.
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

// hostTime is what the host spent on the launches of a step, per kernel key,
// from the end of one launch to the end of the next, waits for the device
// left out.
func hostTime(r *match.Rank, stepNo int) []approachKey {
	n := int32(stepNo - r.First)
	lo, _ := slices.BinarySearchFunc(r.Calls, n, func(c prep.Call, n int32) int {
		if c.Step < 0 { // between steps: by time
			return cmp.Compare(c.Start, stepStart(r, n))
		}
		return cmp.Compare(c.Step, n)
	})
	var a approach
	for i := lo; i < len(r.Calls) && r.Calls[i].Step <= n; i++ {
		c := &r.Calls[i]
		if c.Step != n || c.Op < 0 {
			continue
		}
		k := a.at(&r.Ops[c.Op])
		k.count++
		k.busy += c.Host
	}
	return a.keys
}

func stepStart(r *match.Rank, n int32) int64 {
	if n < 0 || int(n) >= len(r.Steps) {
		return 1<<63 - 1
	}
	return r.Steps[n].Start
}
