package comm

import (
	"context"
	"fmt"
)

// member is one rank's end of a hub.
type member struct {
	hub    *hub
	rank   int
	closed bool
}

func (m *member) Group() *Group { return &m.hub.group }
func (m *member) Rank() int     { return m.rank }
func (m *member) Size() int     { return len(m.hub.calls) }
func (m *member) Ended() int64  { return m.hub.complete.Load() }

func (m *member) AllReduce(ctx context.Context, buf []float32, r Reduction) error {
	return m.hub.meet(ctx, m.rank, call{kind: allReduce, fdst: buf, reduction: r})
}

func (m *member) ReduceScatter(ctx context.Context, dst, src []float32, r Reduction) error {
	if len(src) != m.Size()*len(dst) {
		return m.misfit("reduce-scatter", len(src), m.Size()*len(dst))
	}
	return m.hub.meet(ctx, m.rank, call{kind: reduceScatter, fdst: dst, fsrc: src, reduction: r})
}

func (m *member) AllGather(ctx context.Context, dst, src []byte) error {
	if len(dst) != m.Size()*len(src) {
		return m.misfit("all-gather", len(dst), m.Size()*len(src))
	}
	return m.hub.meet(ctx, m.rank, call{kind: allGather, dst: dst, src: src})
}

func (m *member) AllToAll(ctx context.Context, dst []byte, dstCounts []int, src []byte, srcCounts []int, unit int) error {
	if len(dstCounts) != m.Size() || len(srcCounts) != m.Size() {
		return m.misfit("all-to-all counts", len(srcCounts), m.Size())
	}
	sum := 0
	for _, c := range srcCounts {
		if c < 0 {
			return m.misfit("all-to-all count", c, 0)
		}
		sum += c
	}
	if unit <= 0 || sum*unit > len(src) {
		return m.misfit("all-to-all input", len(src), sum*unit)
	}
	return m.hub.meet(ctx, m.rank, call{kind: allToAll, dst: dst, dstCounts: dstCounts, src: src, srcCounts: srcCounts, unit: unit})
}

func (m *member) Broadcast(ctx context.Context, buf []byte, root int) error {
	if root < 0 || root >= m.Size() {
		return m.misfit("broadcast root", root, m.Size())
	}
	return m.hub.meet(ctx, m.rank, call{kind: broadcast, dst: buf, root: root})
}

func (m *member) Barrier(ctx context.Context) error {
	return m.hub.meet(ctx, m.rank, call{kind: barrier})
}

func (m *member) Abort(cause error) { m.hub.abort(cause) }

func (m *member) Close() error {
	h := m.hub
	h.mu.Lock()
	if m.closed {
		h.mu.Unlock()
		return nil
	}
	m.closed = true
	h.leave(m.rank)
	h.mu.Unlock()
	h.wake()
	if h.far != nil {
		h.far.part(m.rank)
	}
	return nil
}

// leave counts a member that has left; h.mu is held.
func (h *hub) leave(rank int) {
	h.left++
	// Peers that wait, or come later, would wait for ever.
	if h.left < len(h.calls) || h.arrived > 0 {
		_ = h.fail(fmt.Errorf("rank %d has left", h.group.Ranks[rank]))
	}
}

// misfit aborts the group, since the peers wait for a call that will not come.
func (m *member) misfit(what string, got, want int) error {
	m.hub.abort(fmt.Errorf("rank %d: %s of length %d where %d is needed", m.hub.group.Ranks[m.rank], what, got, want))
	return m.hub.failure()
}
