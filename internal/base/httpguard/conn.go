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

// halfway is a listener whose connections survive a half-close by the client. net/http takes a half-close for a
// disconnect and cancels the request. But some clients close their sending side after the request and then wait for the
// answer.
type halfway struct{ net.Listener }

func (l halfway) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		return &conn{TCPConn: tcp, again: make(chan struct{})}, nil
	}
	return c, err
}

// conn is a connection of a halfway listener.
type conn struct {
	*net.TCPConn

	mu      sync.Mutex
	interim bool          // whether the client that sent the current request accepts interim replies
	replied bool          // whether the reply to the current request has begun
	again   chan struct{} // closed and replaced when a read deadline in the past is set
}

type connKey struct{}

// withConn makes the connection available to the handlers of its requests.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// asked records a request before its reply begins.
func asked(r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(*conn); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.interim = r.ProtoAtLeast(1, 1)
	}
}

// answered is the ConnState hook. When a connection becomes idle, its reply has been sent.
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

// SetReadDeadline also ends a Read that waits after a half-close if the deadline is in the past. net/http sets such a
// deadline to stop its background reader.
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

// Read hides a half-close while a request is served. It recognises this state because only then does net/http read a
// single byte ahead. So an EOF within a header or body is still reported.
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

// gone is called after a half-close. It waits until the reader is stopped or until the client has closed the connection
// completely; in the second case it returns the resulting error. A completely closed connection looks like a
// half-closed one until something is sent on it; the other end then answers with a reset. So gone sends an interim
// reply. If the reply has already begun, no interim reply is needed.
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

// probe sends the interim reply once.
func (c *conn) probe(raw syscall.RawConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.interim || c.replied {
		return
	}
	c.interim = false
	// Try to write only once. If the buffer is full, data is already on its way to the client.
	raw.Write(func(fd uintptr) bool {
		syscall.Write(int(fd), []byte("HTTP/1.1 100 Continue\r\n\r\n"))
		return true
	})
}
