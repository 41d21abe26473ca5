package mesh

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// Channel carries the frames of one user of the mesh. It implements comm.Line.
type Channel struct {
	m    *Mesh
	id   uint32
	lane Lane

	handler atomic.Pointer[func(int, []byte)]
	mu      sync.Mutex
	early   []early // frames received before Receive
	lost    func(error)
}

type early struct {
	node  int
	frame []byte
}

// Channel returns the channel with number id, which is at least 1. All nodes must use the same number for the same
// purpose.
func (m *Mesh) Channel(id uint32, lane Lane) *Channel { return m.channel(id, lane) }

func (m *Mesh) channel(id uint32, lane Lane) *Channel {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.channels[id]
	if c == nil {
		c = &Channel{m: m, id: id, lane: lane}
		m.channels[id] = c
	}
	return c
}

// Send sends the concatenated parts to a node as one frame. It may wait for buffer space in the connection, but not
// until the receiver has handled the frame.
func (c *Channel) Send(node int, parts ...[]byte) error {
	if err := c.m.Err(); err != nil {
		return err
	}
	l := c.m.links[c.lane][node]
	if l == nil {
		return errGone
	}
	return l.send(c.id, parts...)
}

// Receive sets the handler of frames and the function lost, which is called when an error ends the mesh. The handler
// receives the frames of each node in order. It owns a frame until it passes the frame to Free. It must not wait for
// other frames of the same node.
func (c *Channel) Receive(frame func(node int, frame []byte), lost func(error)) {
	c.mu.Lock()
	for _, e := range c.early {
		frame(e.node, e.frame)
	}
	c.early = nil
	c.lost = lost
	c.handler.Store(&frame)
	c.mu.Unlock()
	if err := c.m.Err(); err != nil {
		lost(err)
	}
}

func (c *Channel) take(node int, frame []byte) {
	f := c.handler.Load()
	if f == nil {
		c.mu.Lock()
		if f = c.handler.Load(); f == nil {
			c.early = append(c.early, early{node, frame})
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
	}
	(*f)(node, frame)
}

func (c *Channel) end(err error) {
	c.mu.Lock()
	lost := c.lost
	c.mu.Unlock()
	if lost != nil {
		lost(err)
	}
}

// Free lets the channel reuse the memory of a frame.
func (c *Channel) Free(frame []byte) { c.m.frames.put(frame) }

// frames keeps the memory of frames for reuse, because each step needs frames of the same sizes.
type frames struct {
	mu    sync.Mutex
	free  [][]byte
	bytes int // total size of the frames in free
}

// Limits on the kept frames: their number, and their bytes in total. The limit in bytes is needed because a long
// prompt, for example, needs frames of hundreds of megabytes that no later step needs.
const (
	spareFrames = 64
	spareBytes  = 128 << 20
)

// get returns n bytes of memory, aligned to 8 bytes.
func (f *frames) get(n int) []byte {
	f.mu.Lock()
	for i, b := range f.free {
		if cap(b) >= n && cap(b) <= 4*n+4096 {
			last := len(f.free) - 1
			f.free[i], f.free[last] = f.free[last], nil
			f.free = f.free[:last]
			f.bytes -= cap(b)
			f.mu.Unlock()
			return b[:n]
		}
	}
	f.mu.Unlock()
	words := make([]uint64, n/8+1)
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 8*len(words))[:n]
}

func (f *frames) put(b []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.free) < spareFrames && f.bytes+cap(b) <= spareBytes {
		f.free = append(f.free, b)
		f.bytes += cap(b)
	}
}
