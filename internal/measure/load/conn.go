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
	raw    syscall.RawConn // set if the socket is read directly (plain TCP); otherwise nil
	kernel bool            // the kernel stamps received data
	used   bool            // the connection has served a request
}

// dial opens a connection. The first address that it tries is the address to which the last connection succeeded.
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

// idle holds idle connections. The most recently used connection is reused first.
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

// lastPiece is the size of the last piece of a large request. The request's Sent time is taken before this piece is
// written.
const lastPiece = 16 << 10

// send writes the request. Sent is the time at which the last piece is passed to the kernel. This time is taken before
// the last write, because the last write may return only after the reply has arrived.
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

// receive reads the reply until it ends. It returns nil if the reply is complete.
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

// woken handles the error of a read. It returns nil if reading should continue.
func (f *flight) woken(c *conn, err error) error {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		if errors.Is(err, io.EOF) {
			return io.EOF
		}
		return err
	}
	// The guard sets f.kill before it sets the deadline. If the following call removes a deadline that the guard has
	// set, f.kill is therefore already visible.
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
