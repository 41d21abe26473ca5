package client

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestHostile: whatever a server sends endlessly, or fails to send, a call ends in time and reports the reason.
func TestHostile(t *testing.T) {
	for _, v := range []*time.Duration{&getLimit, &stallLimit, &errorLimit} {
		old := *v
		*v = 200 * time.Millisecond
		t.Cleanup(func() { *v = old })
	}
	get := func(s *Server) error { var into any; return s.Get(t.Context(), "/", &into) }
	post := func(s *Server) error { var into any; return s.Post(t.Context(), "/", nil, &into) }
	stream := func(s *Server) error {
		return s.Stream(t.Context(), "/", nil, func([]byte, time.Time) error { return nil })
	}
	for _, c := range []struct {
		name        string
		text, piece string // the reply, and its endless continuation; "": silence
		call        func(*Server) error
		want        string
	}{
		{"no reply", "", "", get, "context deadline exceeded"},
		{"headers without end", "HTTP/1.1 200 OK\r\n", "X: y\r\n", post, "server response headers exceeded 1048576 bytes"},
		{"a body without end", "HTTP/1.1 200 OK\r\n\r\n", strings.Repeat(" ", 1<<16), get, "the reply is longer than 16 MiB"},
		{"a body that stops", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{", "", post, "the reply broke off: no data for 200ms"},
		{"a refusal's body that stops", "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 10\r\n\r\nboom", "", post, "500 Internal Server Error: boom"},
		{"a refusal's body without end", "HTTP/1.1 500 Internal Server Error\r\n\r\nboom\n", " ", post, "500 Internal Server Error: boom"},
		{"a stream of comments", "HTTP/1.1 200 OK\r\n\r\n", ": alive\n\n", stream, "the stream broke off: no data for 200ms"},
		{"chunks that are none", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "", post, "invalid byte in chunk length"},
		{"a packed reply that nobody asked for", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b", "", get, "unexpected reply"},
		{"100 Continue without end", "", "HTTP/1.1 100 Continue\r\n\r\n", get, "exceeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				conn.Read(make([]byte, 1<<12))
				_, err = io.WriteString(conn, c.text)
				for err == nil && c.piece != "" {
					_, err = io.WriteString(conn, c.piece)
				}
				io.Copy(io.Discard, conn)
			}()
			if err := c.call(&Server{URL: "http://" + l.Addr().String()}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}

	around := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusTemporaryRedirect) }))
	defer around.Close()
	if err := get(&Server{URL: around.URL}); err == nil || !strings.Contains(err.Error(), "which is not followed") {
		t.Errorf("redirects: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (&Server{URL: around.URL}).Get(ctx, "/", nil); err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("interrupted: %v", err)
	}
}
