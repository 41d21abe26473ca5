package judge

import (
	"cmp"
	"math"
	"slices"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/explain/match"
	"github.com/stepscope/stepscope/internal/explain/prep"
)

// approach is the activity of a rank, by kernel key, from leaving one collective to arriving at the next.
type approach struct {
	keys  []approachKey
	later map[int32]int // index in keys of those after the first fewKeys
	total int64
	// earliest holds, for each op of the walk, the earliest time at which the launch of this op or of any later op
	// returned.
	earliest []int64
}

type approachKey struct {
	key, name         int32
	count             int64
	busy, host, queue int64 // ns
	starved           int64 // idle because a software device had no core
	untold            int64 // idle before an op with an unrecorded launch
	lost              bool  // at least one launch was not recorded
}

// idle returns the time before ops of the key in which the device did nothing.
func (k *approachKey) idle() int64 { return k.host + k.queue + k.starved + k.untold }

// walk sums up the ops of a rank between the collectives from and to, including the idle time before to. If from is
// negative, it begins with the first op of the trace.
func (a *approach) walk(r *match.Rank, from, to int32) {
	a.keys, a.later, a.total = a.keys[:0], nil, 0
	start := int32(0)
	cursor := int64(0)
	if from >= 0 {
		cursor = r.Ops[from].End
		// Ops on other streams may have begun during the collective.
		start = from + 1
	}
	a.launches(r, start, to)
	for i := start; i <= to; i++ {
		o := &r.Ops[i]
		if i != to && o.Comm() {
			cursor = max(cursor, o.End)
			continue
		}
		if from < 0 && i == start {
			cursor = o.Start
		}
		k := a.at(o)
		k.lost = k.lost || o.Call < 0
		if o.Start > cursor {
			idle := o.Start - cursor
			var host int64
			if o.Call >= 0 {
				// If another op that was launched earlier has not begun yet, the device was not free.
				host = min(idle, max(0, a.earliest[i-start]-cursor))
			}
			starved := min(idle-host, prep.Overlap(r.NoCore, cursor, o.Start))
			k.host += host
			k.starved += starved
			if o.Call >= 0 {
				k.queue += idle - host - starved
			} else {
				k.untold += idle - starved
			}
		}
		if i == to {
			break
		}
		k.count++
		k.busy += max(0, o.End-max(o.Start, cursor))
		cursor = max(cursor, o.End)
	}
	for i := range a.keys {
		a.total += a.keys[i].busy + a.keys[i].idle()
	}
}

// launches sets earliest. Ops that wait for other work are launched after that work, so the order of launches is the
// order in which a free device begins the ops.
func (a *approach) launches(r *match.Rank, start, to int32) {
	n := int(to - start + 1)
	a.earliest = slices.Grow(a.earliest[:0], n)[:n]
	first := int64(math.MaxInt64)
	for i := to; i >= start; i-- {
		if c := r.Ops[i].Call; c >= 0 {
			first = min(first, r.Calls[c].End)
		}
		a.earliest[i-start] = first
	}
}

// fewKeys is the number of keys up to which a search in a list is faster than a map.
const fewKeys = 32

// at returns the sums of an op's key.
func (a *approach) at(o *prep.Op) *approachKey {
	for i := range a.keys[:min(len(a.keys), fewKeys)] {
		if a.keys[i].key == o.Key {
			return &a.keys[i]
		}
	}
	n := len(a.keys)
	if i, ok := a.later[o.Key]; ok {
		return &a.keys[i]
	}
	a.keys = append(a.keys, approachKey{key: o.Key, name: o.Name})
	if n >= fewKeys {
		if a.later == nil {
			a.later = map[int32]int{}
		}
		a.later[o.Key] = n
	}
	return &a.keys[n]
}

// against adds to l the excess of a, the approach of the late rank, over b.
func (a *approach) against(b *approach, l *lateness) {
	sorts.By(a.keys, func(x, y approachKey) int { return cmp.Compare(x.key, y.key) })
	sorts.By(b.keys, func(x, y approachKey) int { return cmp.Compare(x.key, y.key) })
	var left, right []approachKey // remaining ops of either side after equal keys have been matched
	for i, j := 0, 0; i < len(a.keys) || j < len(b.keys); {
		switch {
		case j == len(b.keys) || i < len(a.keys) && a.keys[i].key < b.keys[j].key:
			left = append(left, a.keys[i])
			i++
		case i == len(a.keys) || b.keys[j].key < a.keys[i].key:
			right = append(right, b.keys[j])
			j++
		default:
			x, y := a.keys[i], b.keys[j]
			n := min(x.count, y.count)
			if n == x.count && n == y.count {
				l.same(x, y, false)
			} else {
				px, rx := x.part(n)
				py, ry := y.part(n)
				l.same(px, py, false)
				if rx.count > 0 {
					left = append(left, rx)
				}
				if ry.count > 0 {
					right = append(right, ry)
				}
			}
			i++
			j++
		}
	}
	// A kernel with the same name but another grid is the same op on more or less input, or in another configuration.
	byName := func(x, y approachKey) int { return cmp.Compare(x.name, y.name) }
	sorts.Stable(left, byName)
	sorts.Stable(right, byName)
	j := 0
	for _, x := range left {
		for ; j < len(right) && right[j].name <= x.name; j++ {
			y := &right[j]
			if y.name != x.name {
				continue
			}
			if n := min(x.count, y.count); n > 0 {
				px, rx := x.part(n)
				py, ry := y.part(n)
				l.same(px, py, !l.configured[x.name])
				x, *y = rx, ry
			}
			if y.count > 0 { // the next x may have the same name
				break
			}
		}
		l.more(x, 1)
	}
	for _, y := range right {
		l.more(y, -1)
	}
}

// part splits the sums of a key into the share that belongs to n ops, and the rest.
func (k approachKey) part(n int64) (p, rest approachKey) {
	if k.count == 0 || n >= k.count {
		return k, approachKey{key: k.key, name: k.name}
	}
	share := func(x int64) int64 { return int64(float64(x) * float64(n) / float64(k.count)) }
	p = approachKey{
		key: k.key, name: k.name, count: n, lost: k.lost,
		busy: share(k.busy), host: share(k.host), queue: share(k.queue), starved: share(k.starved), untold: share(k.untold),
	}
	rest = approachKey{
		key: k.key, name: k.name, count: k.count - n, lost: k.lost,
		busy: k.busy - p.busy, host: k.host - p.host, queue: k.queue - p.queue, starved: k.starved - p.starved, untold: k.untold - p.untold,
	}
	return p, rest
}

// same adds the excess of x over y, which are the sums of equal numbers of ops of one kernel. otherWork means that the
// ops differ in the amount of work.
func (l *lateness) same(x, y approachKey, otherWork bool) {
	e := l.extra[x.key]
	l.starve(x.starved - y.starved)
	if x.lost || y.lost {
		// Idle time with known causes on one side cannot be compared with idle time without known causes on the other
		// side.
		more := x.idle() - x.starved - (y.idle() - y.starved)
		l.untold += more
		e.untold += more
	} else {
		l.idle += x.host - y.host
		l.queue(x.queue - y.queue)
		e.late += x.queue - y.queue
	}
	if otherWork {
		l.excess[byWork] += x.busy - y.busy
		e.ns += x.busy - y.busy
	} else {
		l.excess[byDevice] += x.busy - y.busy
		e.slow += x.busy - y.busy
	}
	l.extra[x.key] = e
}

func (l *lateness) starve(ns int64) {
	l.starved += ns
	l.excess[byHost] += ns
}

func (l *lateness) queue(ns int64) {
	l.queued += ns
	l.excess[byDevice] += ns
}

// divideUntold divides idle time before ops with unrecorded launches between host and device. If the remaining idle
// time of the step is at least as long, divideUntold uses the ratio of the two causes in that time. Otherwise, it uses
// the ratio over all steps, provided that one of the causes clearly prevails. If neither ratio is usable, the cause
// stays unknown.
func divideUntold(late []lateness) {
	var host, queued, untold int64
	for i := range late {
		if l := &late[i]; l.cost > lateFloor {
			host, queued, untold = host+max(l.idle, 0), queued+max(l.queued, 0), untold+max(l.untold, 0)
		}
	}
	overall := 4*(host+queued) >= untold && 10*max(host, queued) >= 9*(host+queued)
	for i := range late {
		l := &late[i]
		h, q := max(l.idle, 0), max(l.queued, 0)
		if h+q < l.untold && overall {
			h, q = host, queued
		}
		if h+q == 0 || h+q < l.untold {
			l.excess[byUnknown] += l.untold
			continue
		}
		more := int64(float64(l.untold) * float64(h) / float64(h+q))
		l.idle += more
		l.queue(l.untold - more)
	}
}

// more adds ops that only one side has. sign is 1 if this is the late rank, and -1 if it is the reference.
func (l *lateness) more(x approachKey, sign int64) {
	l.idle += sign * x.host
	l.starve(sign * x.starved)
	if x.count == 0 {
		l.queue(sign * x.queue)
		l.untold += sign * x.untold
		return
	}
	ns := x.busy + x.queue + x.untold
	l.excess[byWork] += sign * ns
	e := l.extra[x.key]
	e.count += sign * x.count
	e.ns += sign * ns
	l.extra[x.key] = e
}
