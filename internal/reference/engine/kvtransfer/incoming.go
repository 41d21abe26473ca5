package kvtransfer

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// Incoming is the sink's state of a room.
type Incoming struct {
	s       *Sink
	dp      int
	room    uint64
	request string
	blocks  []int32
	ended   func([]byte, error)
	use     use
	timer   *time.Timer

	mu    sync.Mutex
	links []*sinkLink
	left  int // links that have not finished
	last  []byte
	begun time.Time
	bytes int64
}

// open announces the room on all its links.
func (in *Incoming) open(links []*sinkLink) {
	dead, err := in.enter(links)
	switch {
	case dead != nil:
		in.s.forget(dead.set, dead.mates) // the link may have ended before the room was registered on it
		in.fail(dead, err)
	case err != nil:
		in.finish(err)
	}
}

// enter adds the room to the links and announces it to the source. A goroutine that ends the room at the same time
// waits until enter returns and then finds the links.
func (in *Incoming) enter(links []*sinkLink) (dead *sinkLink, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.use.over() {
		links[0].tell(kindAbort, in.room, []byte("the request has ended"))
		return nil, nil
	}
	for i, l := range links {
		l.mu.Lock()
		if l.rooms == nil {
			l.mu.Unlock()
			return l, fmt.Errorf("KV transfer failed: %w", l.why())
		}
		taken := l.rooms[in.room] != nil
		if !taken {
			l.rooms[in.room] = &arrival{in: in, next: make([]int, l.Layers.len()*l.Heads.len())}
		}
		l.mu.Unlock()
		if taken {
			return nil, fmt.Errorf("%w: room %d is taken by another request", ErrBootstrap, in.room)
		}
		in.links, in.left = links[:i+1], len(links)
		text, _ := json.Marshal(open{Links: len(links), Link: i, Blocks: len(in.blocks)}) // cannot fail
		l.tell(kindOpen, in.room, text)
	}
	return nil, nil
}

// leave removes the room from its links and from its sink.
func (in *Incoming) leave() {
	in.s.mu.Lock()
	delete(in.s.rooms, in)
	in.s.mu.Unlock()
	in.mu.Lock()
	links := in.links
	in.mu.Unlock()
	for _, l := range links {
		l.mu.Lock()
		if a := l.rooms[in.room]; a != nil && a.in == in {
			delete(l.rooms, in.room)
		}
		l.mu.Unlock()
	}
}

// Abort ends the room. It has no effect if the room has already ended.
func (in *Incoming) Abort(reason error) { in.fail(nil, reason) }

// fail ends the room and notifies the source on all links except from.
func (in *Incoming) fail(from *sinkLink, err error) {
	if !in.finish(err) {
		return
	}
	in.mu.Lock()
	links := in.links
	in.mu.Unlock()
	for _, l := range links {
		if l != from {
			l.tell(kindAbort, in.room, []byte(err.Error()))
		}
	}
}

// finish ends the room without notifying the source. It returns false if the room had already ended.
func (in *Incoming) finish(err error) bool {
	return in.use.close(func() {
		if in.timer != nil {
			in.timer.Stop()
		}
		in.leave()
		in.mu.Lock()
		last, bytes, took := in.last, in.bytes, time.Since(in.begun)
		in.mu.Unlock()
		if err != nil {
			last = nil
		} else {
			in.s.opt.Moved(bytes, took)
		}
		in.ended(last, err)
	})
}
