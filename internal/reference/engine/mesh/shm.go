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

// The fast lane between two nodes of one host is memory that both nodes map. It contains a ring of bytes for each
// direction. The writer appends bytes at the head, and the reader takes bytes from the tail. A reader that finds no
// bytes for a while goes to sleep. The next writer wakes it by sending a word over the connection, which also carries
// the pings. Therefore a busy lane needs no system calls, and an idle lane occupies no core.

// ringLen is the length of one direction in bytes, a power of two.
const ringLen = 4 << 20

// ringHead is the control data in front of the bytes of a ring. Each number has a separate cache line.
type ringHead struct {
	head   atomic.Uint64 // bytes written so far
	_      [56]byte
	tail   atomic.Uint64 // bytes read so far
	_      [56]byte
	asleep atomic.Uint32 // the reader sleeps and must be woken
	_      [60]byte
}

const ringSize = int(unsafe.Sizeof(ringHead{})) + ringLen

// ring is one direction of a lane.
type ring struct {
	*ringHead
	data []byte
}

// shared is the memory of a lane.
type shared struct {
	mem     []byte
	in, out ring
	mu      sync.Mutex // held while writing
	buf     []byte
	bell    chan struct{} // signals that the reader was woken
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

// shmName returns the name of the file through which the two nodes of a lane share memory. The token identifies the
// job.
func shmName(token string, a, b int) string {
	return fmt.Sprintf("/dev/shm/stepscope-%s-%d-%d", token, a, b)
}

// spinTime is the time for which a reader or writer polls before it sleeps. fullPause is the time for which a writer
// sleeps before it checks a full ring again.
const (
	spinTime  = 20 * time.Microsecond
	fullPause = 50 * time.Microsecond
)

// put writes bytes to the ring, waiting for free space as needed.
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

// wake wakes the reader if the reader is asleep.
func (l *link) wake() error {
	if l.shm.out.asleep.Load() == 1 && l.shm.out.asleep.CompareAndSwap(1, 0) {
		return l.sendWord([]byte{wordBell})
	}
	return nil
}

// Read reads available bytes into p. It waits if none are available.
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

// spin polls until ready, for at most spinTime, and reports whether ready returned true.
func spin(ready func() bool) bool {
	for until := time.Now().Add(spinTime); time.Now().Before(until); {
		if ready() {
			return true
		}
		runtime.Gosched()
	}
	return false
}

// unmap releases the memory. It may be called only after the connection is closed, so that no new write begins. The
// caller must be the reader, unless no reader is running.
func (s *shared) unmap() {
	s.mu.Lock()
	defer s.mu.Unlock()
	unmapShared(s.mem)
}
