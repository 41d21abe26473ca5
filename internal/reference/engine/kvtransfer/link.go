package kvtransfer

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// errClosed is the error of a link whose Source or Sink has been closed.
var errClosed = errors.New("the worker is shutting down")

// job is a queued write: a message or blocks. Blocks are dropped if their room has ended.
type job struct {
	message []byte
	blocks  *blocksJob
}

// blocksJob is a set of blocks of one layer that became ready together.
type blocksJob struct {
	out    *Outgoing
	layer  int
	blocks []int32 // numbers of the blocks in memory
	first  int     // index of blocks[0] among the request's blocks
}

// link is the part of a connection that sources and sinks have in common. One goroutine writes and another goroutine
// reads. Any goroutine may queue jobs.
type link struct {
	conn    net.Conn
	silence time.Duration

	mu    sync.Mutex
	queue []job
	err   error // reason why the link ended

	wake chan struct{} // signals the waiting goroutine; buffers one signal
	dead chan struct{} // closed when err is set

	heard time.Time // when the reader last extended the deadline; owned by the reader
}

// nearBuffer limits the bytes in flight between two processes of one machine. The system's default is many times as
// large, so the bytes in flight would not fit in the CPU caches. Between machines the default is kept, because a large
// limit is needed to use the full bandwidth.
const nearBuffer = 3 << 20

// near limits the bytes in flight if both ends of the connection are on one machine.
func near(c net.Conn) {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	from, ok1 := c.LocalAddr().(*net.TCPAddr)
	to, ok2 := c.RemoteAddr().(*net.TCPAddr)
	if ok1 && ok2 && from.IP.Equal(to.IP) {
		_, _ = t.SetReadBuffer(nearBuffer), t.SetWriteBuffer(nearBuffer) // ignore errors, which only slow transfers
	}
}

func newLink(c net.Conn, o *Options) *link {
	near(c)
	return &link{conn: c, silence: o.Silence, wake: make(chan struct{}, 1), dead: make(chan struct{})}
}

// put queues a job. On a dead link it does nothing.
func (l *link) put(j job) {
	l.mu.Lock()
	if l.err == nil {
		l.queue = append(l.queue, j)
	}
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *link) tell(k kind, room uint64, payload []byte) {
	l.put(job{message: message(k, room, payload)})
}

// fail ends the link. The first reason is kept.
func (l *link) fail(err error) {
	l.mu.Lock()
	first := l.err == nil
	if first {
		l.err = err
		l.queue = nil
		close(l.dead)
	}
	l.mu.Unlock()
	if first {
		l.conn.Close()
	}
}

// take waits for queued jobs and returns them. If nothing is queued for one tick, take returns a ping. If the link has
// ended, take returns nil.
func (l *link) take(tick <-chan time.Time) []job {
	for {
		l.mu.Lock()
		batch := l.queue
		l.queue = nil
		l.mu.Unlock()
		if batch != nil {
			return batch
		}
		select {
		case <-l.wake:
		case <-tick:
			return []job{{message: message(kindPing, 0, nil)}}
		case <-l.dead:
			return nil
		}
	}
}

// write runs the queued jobs until the link ends.
func (l *link) write(blocks func(*blocksJob) error) {
	tick := time.NewTicker(l.silence / 3)
	defer tick.Stop()
	for {
		batch := l.take(tick.C)
		if batch == nil {
			return
		}
		for _, j := range batch {
			var err error
			if j.blocks != nil {
				err = blocks(j.blocks)
			} else {
				err = l.send(net.Buffers{j.message})
			}
			if err != nil {
				l.fail(fmt.Errorf("%s no longer accepts data: %w", l.conn.RemoteAddr(), err))
				return
			}
		}
	}
}

func (l *link) send(b net.Buffers) error {
	l.conn.SetWriteDeadline(time.Now().Add(l.silence))
	_, err := b.WriteTo(l.conn)
	return err
}

// Read reads from the connection and extends its deadline, because any data shows that the peer is alive. Read does not
// extend the deadline on every call, because that would take longer than a small read.
func (l *link) Read(p []byte) (int, error) {
	if now := time.Now(); now.Sub(l.heard) > l.silence/16 {
		l.heard = now
		l.conn.SetReadDeadline(now.Add(l.silence))
	}
	return l.conn.Read(p)
}

// read passes the header of each incoming frame to each until an error ends the link. each must read the frame's
// payload.
func (l *link) read(each func(header) error) {
	buf := make([]byte, headerSize)
	for {
		h, err := readHeader(l, buf)
		if err == nil {
			err = each(h)
		}
		if err != nil {
			var slow net.Error
			if errors.As(err, &slow) && slow.Timeout() {
				err = fmt.Errorf("silent for %v", l.silence)
			}
			l.fail(fmt.Errorf("the link to %s broke: %w", l.conn.RemoteAddr(), err))
			return
		}
	}
}

// why returns the reason why the link ended.
func (l *link) why() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// use counts the users of a room's memory. When the room has ended and has no more users, it calls tell.
type use struct {
	mu     sync.Mutex
	active int
	ended  bool
	tell   func()
}

// begin reports whether the room is still open. If it returns true, the caller must call end.
func (u *use) begin() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ended {
		return false
	}
	u.active++
	return true
}

func (u *use) end() {
	u.mu.Lock()
	u.active--
	now := u.ended && u.active == 0
	u.mu.Unlock()
	if now {
		u.tell()
	}
}

// close ends the room. tell is called once: by close if the memory has no users, otherwise by the last user. close
// returns false if the room had already ended.
func (u *use) close(tell func()) bool {
	u.mu.Lock()
	if u.ended {
		u.mu.Unlock()
		return false
	}
	u.ended, u.tell = true, tell
	now := u.active == 0
	u.mu.Unlock()
	if now {
		tell()
	}
	return true
}

func (u *use) over() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.ended
}
