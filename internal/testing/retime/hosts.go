package retime

import "github.com/stepscope/stepscope/internal/explain/match"

// addHostMeets links the ranks of host collectives. A thread that waits in a host collective continues only when the
// ranks that the thread waits for have arrived.
func (m *Model) addHostMeets(d *match.Domain) {
	for i := range d.Hosts {
		h := &d.Hosts[i]
		for _, p := range h.At {
			leaves := m.leave[d.Ranks[p.Rank].Index][p.Coll]
			if leaves == nil {
				continue
			}
			last := int64(-1 << 62)
			for _, j := range p.For {
				q := &h.At[j]
				if from := m.arrive[d.Ranks[q.Rank].Index][q.Coll]; from != nil && from.at <= leaves.at {
					leaves.forHost = append(leaves.forHost, from)
					last = max(last, from.at)
				}
			}
			leaves.hostLag = min(leaves.at-last, callTime)
		}
	}
}
