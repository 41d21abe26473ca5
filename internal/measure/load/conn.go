package load

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/stepscope/stepscope/bench"
)

// conn is a connection to the target.
type conn struct {
	net.Conn
	raw    syscall.RawConn // plain TCP if sockets are read directly; otherwise nil
	kernel bool            // the kernel stamps received data
	used   bool            // it has served a request
}

// dial opens a connection. It first tries the address that worked last.
func (t *target) dial(ctx context.Context, stamps bool) (*conn, error) {
	d := net.Dialer{Timeout: t.opt.ConnectTimeout}
	first := int(t.good.Load())
	var err error
	for i := range t.addrs {
		at := (first + i) % len(t.addrs)
		var c net.Conn
		if c, err = d.DialContext(ctx, "tcp", t.addrs[at]); err != nil {
			continue
		}
		t.good.Store(int32(at))
		if t.tls == nil {
			out := &conn{Conn: c}
			out.setup(c.(*net.TCPConn), stamps)
			return out, nil
		}
		secure := tls.Client(c, t.tls)
		shake, cancel := context.WithTimeout(ctx, t.opt.ConnectTimeout)
		err = secure.HandshakeContext(shake)
		cancel()
		if err != nil {
			c.Close()
			return nil, err
		}
		return &conn{Conn: secure}, nil
	}
	return nil, err
}

// idle holds idle connections, the last used first.
type idle struct {
	mu    sync.Mutex
	conns []*conn
}

func (p *idle) take() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.conns) > 0 {
		c := p.conns[len(p.conns)-1]
		p.conns = p.conns[:len(p.conns)-1]
		if c.open() {
			return c
		}
		c.Close()
	}
	return nil
}

func (p *idle) put(c *conn) {
	c.used = true
	p.mu.Lock()
	p.conns = append(p.conns, c)
	p.mu.Unlock()
}

func (p *idle) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

// lastPiece is the size of the part of a large request sent after its Sent stamp.
const lastPiece = 16 << 10

// send writes the request. Sent is the time at which its last piece is handed over. The call may return only after the
// reply has come.
func (f *flight) send(c *conn) error {
	b := f.wire
	if head := len(b) - lastPiece; head > lastPiece {
		if _, err := c.Write(b[:head]); err != nil {
			return err
		}
		b = b[head:]
	}
	now := f.run.clock.now()
	f.last.Store(now)
	f.phase.Store(waiting)
	f.rec.Sent = now
	_, err := c.Write(b)
	return err
}

// receive reads the reply to its end. It returns nil if the reply is complete.
func (f *flight) receive(c *conn) error {
	if c.raw != nil {
		return f.receiveRaw(c)
	}
	buf := make([]byte, 16<<10)
	for !f.over {
		n, err := c.Read(buf)
		if n > 0 {
			f.user = f.run.clock.now()
			f.feed(buf[:n], f.user)
		}
		if err != nil && !f.over {
			if err = f.woken(c, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// woken interprets the end of a read: nil means to continue reading.
func (f *flight) woken(c *conn, err error) error {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		if errors.Is(err, io.EOF) {
			return io.EOF
		}
		return err
	}
	// The guard sets kill before the deadline, so either kill is visible here or the deadline expires again.
	c.SetDeadline(time.Time{})
	if f.kill.Load() != alive {
		return errKilled
	}
	return nil
}

// dialFailure classifies the error of a dial.
func dialFailure(err error) bench.Failure {
	if n, ok := errors.AsType[net.Error](err); ok && n.Timeout() {
		return bench.Timeout
	}
	return bench.Refused
}
