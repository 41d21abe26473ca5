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
func (m *Model) Resample(random *rand.Rand) { m.ResampleFrom(m, random) }

// ResampleFrom is like Resample, but draws from the times of another model, such as the model of the capture that
// Lengthen lengthened.
func (m *Model) ResampleFrom(pool *Model, random *rand.Rand) {
	m.resampleHosts(pool, random)
	m.resampleDevices(pool, random)
	m.resampleMeets(pool, random)
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

// need holds the times between a moment of a host and the moments for which it waits.
type need struct{ gap, late, lag int64 }

// hostPart holds the moments of a thread from the start of a step to the start of the next step.
type hostPart struct {
	moments []*Moment
	places  []string // for each moment: name and position in the step
	key     string   // names of all moments
}

func (m *Model) hostParts() (parts []hostPart) {
	var lists [][]*Moment
	for _, threads := range m.threads {
		for _, track := range sorted(threads) {
			var part []*Moment
			for _, p := range threads[track] {
				if p.prev != nil && p.prev.Name == StepBegins {
					lists, part = append(lists, part), nil
				}
				part = append(part, p)
			}
			lists = append(lists, part)
		}
	}
	for _, list := range lists {
		part := hostPart{moments: slices.DeleteFunc(list, func(p *Moment) bool { return p.prev == nil })}
		var key strings.Builder
		count := map[string]int{}
		for _, p := range part.moments {
			name := m.stepLike(part.moments[0].prev.Step) + p.prev.Name + " " + p.Name
			key.WriteString(name + "\n")
			count[name]++
			part.places = append(part.places, fmt.Sprint(name, count[name]))
		}
		part.key = key.String()
		parts = append(parts, part)
	}
	return parts
}

// resampleHosts draws the host times, from the start of each step to the start of the next step.
func (m *Model) resampleHosts(pool *Model, random *rand.Rand) {
	blocks, single := newLike[[]need](), newLike[need]()
	for _, part := range pool.hostParts() {
		needs := make([]need, len(part.moments))
		for k, p := range part.moments {
			needs[k] = need{p.Gap, p.late, p.lag}
			single.add(part.places[k], p.Rank, needs[k])
		}
		if len(needs) > 0 {
			blocks.add(part.key, part.moments[0].Rank, needs)
		}
	}
	for _, part := range m.hostParts() {
		whole := blocks.everywhere(part.key, len(m.ranks))
		var from []need
		if whole {
			from = blocks.draw(part.key, random)
		}
		for k, p := range part.moments {
			n := need{p.Gap, p.late, p.lag}
			if whole {
				n = from[k]
			} else if single.everywhere(part.places[k], len(m.ranks)) {
				n = single.draw(part.places[k], random)
			}
			p.Gap, p.late, p.lag = n.gap, n.late, n.lag
		}
	}
}

// resampleDevices draws the durations of ops, and the delays of ops after the moments for which they wait.
func (m *Model) resampleDevices(pool *Model, random *rand.Rand) {
	type took struct{ dur, late, gap, wait, lag int64 }
	steps, single := newLike[[]took](), newLike[took]()
	pool.eachPart(func(rank int, part []*Op) {
		all := make([]took, len(part))
		for k, o := range part {
			all[k] = took{o.Dur, o.Late, o.gap, o.wait, o.lag}
			single.add(pool.opLike(o), rank, all[k])
		}
		steps.add(pool.partLike(part), rank, all)
	})
	m.eachPart(func(_ int, part []*Op) {
		key := m.partLike(part)
		whole := steps.everywhere(key, len(m.ranks))
		var from []took
		if whole {
			from = steps.draw(key, random)
		}
		for k, o := range part {
			t := took{o.Dur, o.Late, o.gap, o.wait, o.lag}
			if whole {
				t = from[k]
			} else if single.everywhere(m.opLike(o), len(m.ranks)) {
				t = single.draw(m.opLike(o), random)
			}
			o.Dur, o.Late, o.gap, o.wait, o.lag = t.dur, t.late, t.gap, t.wait, t.lag
		}
	})
}

// eachPart visits the ops of each rank and step in a fixed order, so that the seed determines the window.
func (m *Model) eachPart(visit func(rank int, part []*Op)) {
	parts := map[[2]int][]*Op{}
	for _, o := range m.Ops {
		parts[[2]int{o.Rank, o.Step}] = append(parts[[2]int{o.Rank, o.Step}], o)
	}
	for rank := range m.ranks {
		for step := -1; step < m.Steps; step++ {
			visit(rank, parts[[2]int{rank, step}])
		}
	}
}

func (m *Model) opLike(o *Op) string {
	return fmt.Sprintf("%s %s %v %v %v %v", m.stepLike(o.Step), o.Name, o.trace.Grid, o.InGraph, o.Meet != nil, o.prev != nil && o.prev.call == o.call)
}

func (m *Model) partLike(part []*Op) string {
	var key strings.Builder
	for _, o := range part {
		key.WriteString(m.opLike(o) + "\n")
	}
	return key.String()
}

// resampleMeets draws transfer times, and the delays with which some ranks leave a collective later than others.
func (m *Model) resampleMeets(pool *Model, random *rand.Rand) {
	type took struct {
		transfer int64
		tails    []int64
	}
	all := newLike[took]()
	key := func(m *Model, x *Meet) string {
		return fmt.Sprintf("%s %s %v %d", m.stepLike(x.Step), x.Op, x.Of[0].trace.Grid, len(x.Of))
	}
	for _, x := range pool.Meets {
		t := took{transfer: x.Transfer}
		for _, o := range x.Of {
			t.tails = append(t.tails, o.tail)
		}
		all.add(key(pool, x), 0, t)
	}
	for _, x := range m.Meets {
		if len(all.of[key(m, x)]) == 0 {
			continue
		}
		t := all.draw(key(m, x), random)
		x.Transfer = t.transfer
		order := random.Perm(len(x.Of))
		for k, o := range x.Of {
			o.tail = t.tails[order[k]]
		}
	}
}
