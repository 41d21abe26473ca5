package explain

import (
	"cmp"
	"slices"
)

// divideIdle splits the idle time that a late host caused between work and
// host, by what the hosts of the late rank and of its usual reference needed
// from launch to launch in this step: for ops that only the late rank has, and
// for those that both have.
func (d *judged) divideIdle(r int32, stepNo int, l *lateness) {
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
	mine, theirs := hostTime(d.ranks[r], stepNo), hostTime(d.ranks[ref], stepNo)
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
func hostTime(r *ranked, stepNo int) []approachKey {
	n := int32(stepNo - r.first)
	lo, _ := slices.BinarySearchFunc(r.calls, n, func(c call, n int32) int {
		if c.step < 0 { // between steps: by time
			return cmp.Compare(c.start, stepStart(r, n))
		}
		return cmp.Compare(c.step, n)
	})
	var a approach
	for i := lo; i < len(r.calls) && r.calls[i].step <= n; i++ {
		c := &r.calls[i]
		if c.step != n || c.op < 0 {
			continue
		}
		k := a.at(&r.ops[c.op])
		k.count++
		k.busy += c.host
	}
	return a.keys
}

func stepStart(r *ranked, n int32) int64 {
	if n < 0 || int(n) >= len(r.steps) {
		return 1<<63 - 1
	}
	return r.steps[n].start
}
