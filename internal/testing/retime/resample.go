package retime

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Resample makes a healthy window from a capture. It draws the host times, device times and transfer times of each
// rank's steps at random from the times measured on all ranks. Differences between ranks are then due only to chance.
//
// The times of a step are taken from a similar step of any rank. The similar step has the same events in the same
// order, so slow steps are as slow as recorded. If not all ranks have such a step, each part of the step is drawn
// separately, from parts at the same position in steps of the same kind.
//
// Traces do not show communication between hosts. If nothing else synchronises the hosts from step to step, they drift
// apart more than on the real machine.
func (m *Model) Resample(random *rand.Rand) {
	m.resampleHosts(random)
	m.resampleDevices(random)
	m.resampleMeets(random)
}

// like groups the samples from which times are drawn, by similarity.
type like[T any] struct {
	of    map[string][]T
	ranks map[string][]int
}

func newLike[T any]() like[T] { return like[T]{map[string][]T{}, map[string][]int{}} }

func (l like[T]) add(key string, rank int, x T) {
	l.of[key] = append(l.of[key], x)
	if !slices.Contains(l.ranks[key], rank) {
		l.ranks[key] = append(l.ranks[key], rank)
	}
}

// everywhere reports whether all ranks have samples for key.
func (l like[T]) everywhere(key string, ranks int) bool { return len(l.ranks[key]) == ranks }

func (l like[T]) draw(key string, random *rand.Rand) T {
	return l.of[key][random.IntN(len(l.of[key]))]
}

// stepLike identifies the kind of a step. It distinguishes the first step in a sequence of steps of one kind, because
// the first step has more work on all ranks.
func (m *Model) stepLike(step int) string {
	if step < 0 {
		return "outside "
	}
	return fmt.Sprintf("%v %v ", m.Kinds[step], step == 0 || m.Kinds[step-1] != m.Kinds[step])
}

// resampleHosts draws the host times, from the start of each step to the start of the next step.
func (m *Model) resampleHosts(random *rand.Rand) {
	type need struct{ gap, late, lag int64 }
	blocks, single := newLike[[]need](), newLike[need]()
	var parts [][]*Moment
	var keys []string
	for _, threads := range m.threads {
		for _, track := range sorted(threads) {
			var part []*Moment
			for _, p := range threads[track] {
				if p.prev != nil && p.prev.Name == StepBegins {
					parts, part = append(parts, part), nil
				}
				part = append(part, p)
			}
			parts = append(parts, part)
		}
	}
	places := make([][]string, len(parts)) // for each moment: name and position in the step
	for i, part := range parts {
		part = slices.DeleteFunc(part, func(p *Moment) bool { return p.prev == nil })
		var key strings.Builder
		needs := make([]need, len(part))
		count := map[string]int{}
		for k, p := range part {
			name := m.stepLike(part[0].prev.Step) + p.prev.Name + " " + p.Name
			key.WriteString(name + "\n")
			count[name]++
			places[i] = append(places[i], fmt.Sprint(name, count[name]))
			needs[k] = need{p.Gap, p.late, p.lag}
			single.add(places[i][k], p.Rank, needs[k])
		}
		parts[i], keys = part, append(keys, key.String())
		if len(part) > 0 {
			blocks.add(key.String(), part[0].Rank, needs)
		}
	}
	for i, part := range parts {
		whole := blocks.everywhere(keys[i], len(m.ranks))
		var from []need
		if whole {
			from = blocks.draw(keys[i], random)
		}
		for k, p := range part {
			n := need{p.Gap, p.late, p.lag}
			if whole {
				n = from[k]
			} else if single.everywhere(places[i][k], len(m.ranks)) {
				n = single.draw(places[i][k], random)
			}
			p.Gap, p.late, p.lag = n.gap, n.late, n.lag
		}
	}
}

// resampleDevices draws the durations of ops, and the delays of ops after the moments for which they wait.
func (m *Model) resampleDevices(random *rand.Rand) {
	type took struct{ dur, late, gap, wait, lag int64 }
	of := func(o *Op) took { return took{o.Dur, o.Late, o.gap, o.wait, o.lag} }
	steps, single := newLike[[]took](), newLike[took]()
	parts := map[[2]int][]*Op{}
	for _, o := range m.Ops {
		parts[[2]int{o.Rank, o.Step}] = append(parts[[2]int{o.Rank, o.Step}], o)
	}
	kind := func(o *Op) string {
		return fmt.Sprintf("%s %s %v %v %v %v", m.stepLike(o.Step), o.Name, o.trace.Grid, o.InGraph, o.Meet != nil, o.prev != nil && o.prev.call == o.call)
	}
	keyOf := func(part []*Op) string {
		var key strings.Builder
		for _, o := range part {
			key.WriteString(kind(o) + "\n")
		}
		return key.String()
	}
	// Visit the parts in a fixed order, so that the seed determines the window.
	each := func(visit func(rank int, part []*Op)) {
		for rank := range m.ranks {
			for step := -1; step < m.Steps; step++ {
				visit(rank, parts[[2]int{rank, step}])
			}
		}
	}
	each(func(rank int, part []*Op) {
		all := make([]took, len(part))
		for k, o := range part {
			all[k] = of(o)
			single.add(kind(o), rank, all[k])
		}
		steps.add(keyOf(part), rank, all)
	})
	each(func(_ int, part []*Op) {
		key := keyOf(part)
		whole := steps.everywhere(key, len(m.ranks))
		var from []took
		if whole {
			from = steps.draw(key, random)
		}
		for k, o := range part {
			t := of(o)
			if whole {
				t = from[k]
			} else if single.everywhere(kind(o), len(m.ranks)) {
				t = single.draw(kind(o), random)
			}
			o.Dur, o.Late, o.gap, o.wait, o.lag = t.dur, t.late, t.gap, t.wait, t.lag
		}
	})
}

// resampleMeets draws transfer times, and the delays with which some ranks leave a collective later than others.
func (m *Model) resampleMeets(random *rand.Rand) {
	type took struct {
		transfer int64
		tails    []int64
	}
	all := newLike[took]()
	key := func(x *Meet) string {
		return fmt.Sprintf("%s %s %v %d", m.stepLike(x.Step), x.Op, x.Of[0].trace.Grid, len(x.Of))
	}
	for _, x := range m.Meets {
		t := took{transfer: x.Transfer}
		for _, o := range x.Of {
			t.tails = append(t.tails, o.tail)
		}
		all.add(key(x), 0, t)
	}
	for _, x := range m.Meets {
		t := all.draw(key(x), random)
		x.Transfer = t.transfer
		order := random.Perm(len(x.Of))
		for k, o := range x.Of {
			o.tail = t.tails[order[k]]
		}
	}
}
