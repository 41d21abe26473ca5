package kvtransfer

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// errClosed is the error of links whose side is closed.
var errClosed = errors.New("the worker is shutting down")

// job is a queued write: a message, or blocks, which are dropped if their room has ended.
type job struct {
	message []byte
	blocks  *blocksJob
}

// blocksJob is a set of blocks of one layer that became ready together.
type blocksJob struct {
	out    *Outgoing
	layer  int
	blocks []int32 // in memory
	first  int     // index of blocks[0] in the request
}

// link is one connection, without the parts specific to a side. One goroutine writes and one reads; any may queue.
type link struct {
	conn    net.Conn
	silence time.Duration

	mu    sync.Mutex
	queue []job
	err   error // reason for its end

	wake chan struct{} // 1 deep
	dead chan struct{} // closed with err

	heard time.Time // owned by the reader: when it last moved the deadline
}

// nearBuffer limits the bytes in flight between two processes of one machine. By default the system would let them grow
// to many times that, beyond the size of caches; between machines a large buffer is needed to fill the wire.
const nearBuffer = 3 << 20

// near limits the bytes in flight within a machine.
func near(c net.Conn) {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	from, ok1 := c.LocalAddr().(*net.TCPAddr)
	to, ok2 := c.RemoteAddr().(*net.TCPAddr)
	if ok1 && ok2 && from.IP.Equal(to.IP) {
		_, _ = t.SetReadBuffer(nearBuffer), t.SetWriteBuffer(nearBuffer) // best effort: without it transfers are slower
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

// take returns the queued jobs, or a ping if nothing was queued for a tick, or nil if the link has ended.
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

// Read reads from the connection and extends its deadline: any data shows that the other side is alive. Extending it at
// each read would cost more than small reads do.
func (l *link) Read(p []byte) (int, error) {
	if now := time.Now(); now.Sub(l.heard) > l.silence/16 {
		l.heard = now
		l.conn.SetReadDeadline(now.Add(l.silence))
	}
	return l.conn.Read(p)
}

// read passes each incoming frame to each, which reads the payload, until an error ends the link.
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

// why returns the reason for the end.
func (l *link) why() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// use counts the users of a room's memory and calls tell when the room has ended and has no users.
type use struct {
	mu     sync.Mutex
	active int
	ended  bool
	tell   func()
}

// begin reports whether the room is still open. If so, end must follow.
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

// close ends the room. tell is called once, now or by the last user. close reports false if the room had already ended.
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
