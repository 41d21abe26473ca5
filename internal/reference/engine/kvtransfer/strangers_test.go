package kvtransfer

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// TestStrangers checks that connections from strangers do not each add a line to the log.
func TestStrangers(t *testing.T) {
	var lines atomic.Int32
	src, err := NewSource(newStore(1, 1, 1, 1).w, Options{Log: func(string) { lines.Add(1) }})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { src.Serve(ln) })
	for range 200 {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		c.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, c) // until it is refused
		c.Close()
	}
	ln.Close()
	src.Close()
	serving.Wait()
	if n := lines.Load(); n == 0 || n > 50 {
		t.Errorf("200 strangers made %d lines", n)
	}
}
