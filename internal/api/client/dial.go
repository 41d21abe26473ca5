package client

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
)

// dial opens a connection on which nothing is read before the request is written. A server of another protocol, such as
// SSH, may send its banner first. net/http would log the banner and return an error without it.
func dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &writeFirst{Conn: c, open: make(chan struct{})}, nil
}

// ErrEnded is wrapped by the error of a dial whose server has ended for good.
var ErrEnded = errors.New("the server has ended")

// Over returns a client whose connections dial opens, without a proxy. Its requests name the server localhost, because
// servers that listen on loopback refuse other names.
func Over(dial func(ctx context.Context, network, addr string) (net.Conn, error)) *http.Client {
	transport := plain.Transport.(*http.Transport).Clone()
	transport.Proxy, transport.DialContext = nil, dial
	return &http.Client{Timeout: replyLimit, Transport: atLocalhost{transport}}
}

// atLocalhost sends requests with the host name localhost.
type atLocalhost struct{ http.RoundTripper }

func (a atLocalhost) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Host = net.JoinHostPort("localhost", cmp.Or(r.URL.Port(), "80"))
	return a.RoundTripper.RoundTrip(r)
}

// writeFirst is a connection whose reads wait for the first write or for Close.
type writeFirst struct {
	net.Conn
	open chan struct{}
	once sync.Once
}

func (c *writeFirst) begin() { c.once.Do(func() { close(c.open) }) }

func (c *writeFirst) Read(p []byte) (int, error) {
	<-c.open
	return c.Conn.Read(p)
}

func (c *writeFirst) Write(p []byte) (int, error) {
	c.begin()
	return c.Conn.Write(p)
}

func (c *writeFirst) Close() error {
	c.begin()
	return c.Conn.Close()
}
