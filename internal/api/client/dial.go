package client

import (
	"context"
	"net"
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
