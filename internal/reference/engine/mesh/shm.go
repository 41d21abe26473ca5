package mesh

import (
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// Nodes of one host have their fast lane in memory that both map: a ring of bytes
// for each direction. Who writes puts bytes behind the head, who reads takes them
// from the tail; a reader that finds nothing for a while goes to sleep and is woken
// by a word over the connection, which also carries the signs of life. So a lane
// that is busy costs no system call, and one that is idle no core.

// ringLen is the length of one direction, a power of two.
const ringLen = 4 << 20

// ringHead is what lies before the bytes. Each number has a cache line of its own.
type ringHead struct {
	head   atomic.Uint64 // bytes written so far
	_      [56]byte
	tail   atomic.Uint64 // bytes read so far
	_      [56]byte
	asleep atomic.Uint32 // the reader wants to be woken
	_      [60]byte
}

const ringSize = int(unsafe.Sizeof(ringHead{})) + ringLen

// ring is one direction.
type ring struct {
	*ringHead
	data []byte
}

// shared is the memory of a lane.
type shared struct {
	mem     []byte
	in, out ring
	mu      sync.Mutex // of writing
	buf     []byte
	bell    chan struct{} // the reader was woken
}

func rings(mem []byte, first bool) *shared {
	at := func(i int) ring {
		part := mem[i*ringSize:][:ringSize]
		head := (*ringHead)(unsafe.Pointer(unsafe.SliceData(part)))
		return ring{head, part[unsafe.Sizeof(ringHead{}):]}
	}
	s := &shared{mem: mem, in: at(0), out: at(1), bell: make(chan struct{}, 1)}
	if first {
		s.in, s.out = s.out, s.in
	}
	return s
}

// shmName is where the two ends of a lane find each other: the token is the job's.
func shmName(token string, a, b int) string {
	return fmt.Sprintf("/dev/shm/stepscope-%s-%d-%d", token, a, b)
}

// spinTime is how long somebody looks before they sleep, and fullPause how long a writer
// then leaves the reader of a full ring alone.
const (
	spinTime  = 20 * time.Microsecond
	fullPause = 50 * time.Microsecond
)

// put writes bytes, as there is room.
func (l *link) put(p []byte) error {
	r := l.shm.out
	for len(p) > 0 {
		head := r.head.Load()
		room := ringLen - int(head-r.tail.Load())
		if room < 0 || room > ringLen {
			return errRing
		}
		if room == 0 {
			if err := l.wake(); err != nil {
				return err
			}
			if !spin(func() bool { return head-r.tail.Load() < ringLen }) {
				select {
				case <-l.closed:
					return errGone
				case <-time.After(fullPause):
				}
			}
			continue
		}
		at := int(head % ringLen)
		n := copy(r.data[at:min(at+room, ringLen)], p)
		p = p[n:]
		r.head.Store(head + uint64(n))
	}
	return nil
}

// wake wakes the reader if it sleeps.
func (l *link) wake() error {
	if l.shm.out.asleep.Load() == 1 && l.shm.out.asleep.CompareAndSwap(1, 0) {
		return l.sendWord([]byte{wordBell})
	}
	return nil
}

// Read takes what is there, waiting for something.
func (l *link) Read(p []byte) (int, error) {
	r := l.shm.in
	for {
		tail := r.tail.Load()
		have := int(r.head.Load() - tail)
		if have < 0 || have > ringLen {
			return 0, errRing
		}
		if have > 0 {
			at := int(tail % ringLen)
			n := copy(p, r.data[at:min(at+have, ringLen)])
			r.tail.Store(tail + uint64(n))
			return n, nil
		}
		if spin(func() bool { return r.head.Load() != tail }) {
			continue
		}
		r.asleep.Store(1)
		if r.head.Load() != tail {
			r.asleep.Store(0)
			continue
		}
		select {
		case <-l.shm.bell:
		case <-l.closed:
			return 0, io.EOF
		}
	}
}

// spin looks until ready, or for a short while.
func spin(ready func() bool) bool {
	for until := time.Now().Add(spinTime); time.Now().Before(until); {
		if ready() {
			return true
		}
		runtime.Gosched()
	}
	return false
}

// unmap gives the memory back. The connection is closed, so nobody begins to write,
// and the caller is the reader, or there is none.
func (s *shared) unmap() {
	s.mu.Lock()
	defer s.mu.Unlock()
	unmapShared(s.mem)
}
