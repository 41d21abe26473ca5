package route

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
)

// BenchmarkRequest measures the time from a request of 3 kB to its first event, one after another, of a server that
// answers at once: asked directly, through a relay that only copies bytes between two connections, and through the
// router.
func BenchmarkRequest(b *testing.B) {
	more := make(chan struct{}) // the client has the first event
	server := benchServer(b, more)
	rt, err := New(Options{Workers: plain("http://" + server), retryHealth: 5 * time.Millisecond})
	if err != nil {
		b.Fatal(err)
	}
	stop := rt.Start()
	defer stop()
	hs := httptest.NewServer(rt.handler)
	defer hs.Close()
	<-rt.firstUp
	for _, side := range []struct{ name, addr string }{
		{"direct", server}, {"relay", benchRelay(b, server)}, {"router", hs.Listener.Addr().String()},
	} {
		b.Run(side.name, func(b *testing.B) {
			c, err := net.Dial("tcp", side.addr)
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			r := bufio.NewReader(c)
			until := func(end string) {
				for line := ""; line != end; {
					if line, err = r.ReadString('\n'); err != nil {
						b.Fatal(err)
					}
				}
			}
			body := `{"model":"mock","messages":[{"role":"user","content":"` + strings.Repeat(" token", 500) + `"}],"stream":true}`
			ask := fmt.Appendf(nil, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			var took []float64
			for b.Loop() {
				start := time.Now()
				if _, err := c.Write(ask); err != nil {
					b.Fatal(err)
				}
				until("\r\n") // header
				until("\n")   // event
				took = append(took, float64(time.Since(start)))
				more <- struct{}{}
				until("0\r\n")
				until("\r\n")
			}
			b.ReportMetric(metric.Median(took), "ns/first-event")
		})
	}
}

// benchListen serves each connection on a new port.
func benchListen(b *testing.B, serve func(net.Conn)) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); serve(c) }()
		}
	}()
	return ln.Addr().String()
}

// benchServer answers a request that has a body with a stream of one event, and ends it when more arrives.
func benchServer(b *testing.B, more <-chan struct{}) string {
	const event = `data: {"id":"chatcmpl-7d1f0c2e5b8a4c0e9f3a","choices":[{"index":0,"delta":{"content":" token"}}]}` + "\n\n"
	reply := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(event), event)
	return benchListen(b, func(c net.Conn) {
		for r := bufio.NewReader(c); ; {
			size := 0
			for line := ""; line != "\r\n"; {
				var err error
				if line, err = r.ReadString('\n'); err != nil {
					return
				}
				fmt.Sscanf(line, "Content-Length: %d", &size)
			}
			if _, err := r.Discard(size); err != nil {
				return
			}
			c.Write(reply)
			if size > 0 {
				<-more
			}
			c.Write([]byte("0\r\n\r\n"))
		}
	})
}

// benchRelay copies each connection to one of its own.
func benchRelay(b *testing.B, to string) string {
	return benchListen(b, func(c net.Conn) {
		s, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		defer s.Close()
		go io.Copy(struct{ io.Writer }{s}, struct{ io.Reader }{c})
		io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{s})
	})
}
