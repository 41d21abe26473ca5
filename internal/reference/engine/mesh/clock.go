package mesh

import (
	"slices"
	"sync"
)

// Offset is the time, in ns, by which another node's clock is ahead of this node's. It is computed from the exchange
// with the shortest round trip. Its error is at most half of that round trip.
type Offset struct {
	NS  int64 `json:"offset_ns"`
	RTT int64 `json:"rtt_ns"`
}

// estimate keeps the last exchanges over a connection.
type estimate struct {
	mu   sync.Mutex
	last []Offset
}

const exchanges = 64

// add adds one exchange. sent and back are times on this node's clock; there and answered are times on the other node's
// clock (RFC 5905, section 8).
func (e *estimate) add(sent, there, answered, back int64) {
	o := Offset{NS: ((there - sent) + (answered - back)) / 2, RTT: (back - sent) - (answered - there)}
	if o.RTT < 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.last) == exchanges {
		e.last = slices.Delete(e.last, 0, 1)
	}
	e.last = append(e.last, o)
}

// Offset returns the clock offset of another node. ok is false if the node has not yet answered a ping.
func (m *Mesh) Offset(node int) (_ Offset, ok bool) {
	l := m.links[Fast][node]
	if l == nil {
		return Offset{}, false
	}
	l.clock.mu.Lock()
	defer l.clock.mu.Unlock()
	if len(l.clock.last) == 0 {
		return Offset{}, false
	}
	return slices.MinFunc(l.clock.last, func(a, b Offset) int { return int(a.RTT - b.RTT) }), true
}
