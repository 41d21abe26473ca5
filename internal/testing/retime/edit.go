package retime

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Pause pauses the launching thread of a rank at the beginning of a step.
func (m *Model) Pause(rank, step int, ns int64) {
	for _, p := range m.Moments {
		if p.prev != nil && p.Rank == rank && p.prev.Name == StepBegins && p.prev.Step == step {
			p.pauses = append(p.pauses, pause{p.prev.at, ns})
			return
		}
	}
	panic("retime: no such step")
}

// Period returns the median time, over all ranks, from the start of a step to the start of the next step.
func (m *Model) Period() int64 {
	var all []int64
	for _, threads := range m.threads {
		for _, list := range threads {
			from := int64(0)
			for _, p := range list {
				if p.Name != StepBegins {
					continue
				}
				if from > 0 {
					all = append(all, p.at-from)
				}
				from = p.at
			}
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// PauseAt pauses the launching thread of a rank at a time in the rank's trace, regardless of the thread's activity at
// that time.
func (m *Model) PauseAt(rank int, at, ns int64) {
	at += offset(m.ranks[rank])
	for _, p := range m.threads[rank][m.main[rank]] {
		if p.at > at {
			p.pauses = append(p.pauses, pause{at, ns})
			return
		}
	}
	panic("retime: the thread has ended by then")
}

// Loosen uncouples the hosts: no host waits for a device or for another host any longer, so ranks meet only in
// collectives of devices. In addition, each host is delayed at the beginning of each step, at random. The delays of a
// host follow a random walk around their mean: each keeps the share memory of the previous deviation.
func (m *Model) Loosen(random *rand.Rand, mean int64, memory float64) {
	for _, p := range m.Moments {
		p.forOp, p.forHost, p.late = nil, nil, 0
	}
	for rank := range m.ranks {
		off := random.NormFloat64()
		for step := range m.Steps {
			m.Pause(rank, step, max(0, mean+int64(off*float64(mean))))
			off = memory*off + math.Sqrt(1-memory*memory)*random.NormFloat64()
		}
	}
}

// Stretch scales the durations of the chosen ops. It skips collectives of several ranks.
func (m *Model) Stretch(factor float64, choose func(o *Op) bool) {
	for _, o := range m.Ops {
		if o.Meet == nil && choose(o) {
			o.Dur = int64(float64(o.Dur) * factor)
		}
	}
}

// Add repeats an op directly after itself, from the same launch.
func (m *Model) Add(o *Op, name string) *Op {
	c := *o
	detail := *o.trace
	detail.Comm = -1
	c.trace, c.added, c.Meet, c.Name, c.Late = &detail, true, nil, name, 0
	c.prev, c.gap, c.other = o, streamLag/2, nil
	for _, p := range m.Ops {
		if p.prev == o {
			p.prev = &c
		}
		if p.other == o {
			p.other = &c
		}
	}
	for _, p := range m.Moments {
		if p.forOp == o {
			p.forOp = &c
		}
	}
	m.Ops = append(m.Ops, &c)
	return &c
}

// Leave delays the end of a collective's op only on the rank of that op. A slow link has this effect.
func (m *Model) Leave(o *Op, ns int64) { o.tail += ns }

// Recorded returns the time range of a rank's launching thread in its trace.
func (m *Model) Recorded(rank int) (first, last int64) {
	list, off := m.threads[rank][m.main[rank]], offset(m.ranks[rank])
	return list[0].at - off, list[len(list)-1].at - off
}
