package httpguard

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"
)

// halfway is a listener whose connections outlive the end of what the client sends. net/http takes that end for the
// client's leaving and drops its request, but some clients end what they send as soon as the request is sent, and
// wait for the answer.
type halfway struct{ net.Listener }

func (l halfway) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		return &conn{TCPConn: tcp, again: make(chan struct{})}, nil
	}
	return c, err
}

// conn is one of its connections.
type conn struct {
	*net.TCPConn

	mu      sync.Mutex
	interim bool          // the client of the present request knows replies before the reply
	replied bool          // the reply to it has begun
	again   chan struct{} // closed and replaced when the deadline of reads is set
}

type connKey struct{}

// withConn lets the handlers of a connection find it.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// asked notes a request, before its reply begins.
func asked(r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(*conn); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.interim = r.ProtoAtLeast(1, 1)
	}
}

// answered is told of the state of each connection; an idle one's reply is out.
func answered(nc net.Conn, state http.ConnState) {
	if c, ok := nc.(*conn); ok && state == http.StateIdle {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.interim, c.replied = false, false
	}
}

func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.replied = true
	c.mu.Unlock()
	return c.TCPConn.Write(p)
}

// SetReadDeadline also ends the wait of a Read after the client's end: net/http sets a deadline in the past to get its
// reader back.
func (c *conn) SetReadDeadline(t time.Time) error {
	err := c.TCPConn.SetReadDeadline(t)
	if !t.IsZero() && !t.After(time.Now()) {
		c.mu.Lock()
		defer c.mu.Unlock()
		close(c.again)
		c.again = make(chan struct{})
	}
	return err
}

// Read hides the end of what the client sends while its request is served. Then net/http reads one byte ahead, and at
// no other time: the end of a header or a body that is not whole stays one.
func (c *conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	again := c.again
	c.mu.Unlock()
	n, err := c.TCPConn.Read(p)
	if err == io.EOF && n == 0 && len(p) == 1 {
		err = c.gone(again)
	}
	return n, err
}

// gone waits until the client has really left, which is the error, or nobody waits for that any more. A closed
// connection looks like one that is closed halfway until something is sent, to which the former's host answers with a
// reset. So an interim reply is sent, unless the reply has begun, which does the same.
func (c *conn) gone(again chan struct{}) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		reset := 0
		if err := raw.Control(func(fd uintptr) {
			reset, _ = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ERROR)
		}); err != nil {
			return err
		}
		if reset != 0 {
			return syscall.Errno(reset)
		}
		c.probe(raw)
		t := time.NewTimer(pause)
		select {
		case <-again:
			t.Stop()
			return os.ErrDeadlineExceeded
		case <-t.C:
		}
	}
}

// probe sends the interim reply, once.
func (c *conn) probe(raw syscall.RawConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.interim || c.replied {
		return
	}
	c.interim = false
	// One try: a full buffer waits for the client to read, and then it is there.
	raw.Write(func(fd uintptr) bool {
		syscall.Write(int(fd), []byte("HTTP/1.1 100 Continue\r\n\r\n"))
		return true
	})
}
