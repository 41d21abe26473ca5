package httpguard

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestHalfClosed: a client that closes its sending side after the request gets its answer; one that has disconnected
// ends the request.
func TestHalfClosed(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &Front{Log: slog.New(slog.DiscardHandler), BodyTimeout: time.Minute, MaxBodyBytes: 1 << 20}
	f.Refuse = func(w http.ResponseWriter, _ *http.Request, status int, message string) {
		WriteText(w, status, message)
	}
	asks, answers, left := make(chan string), make(chan bool), make(chan string)
	handler := func(w http.ResponseWriter, r *http.Request) {
		body, err := f.Body(w, r)
		if err != nil {
			f.Refuse(w, r, 400, "no body")
			return
		}
		if r.URL.Path == "/stream" {
			io.WriteString(w, "first ")
			http.NewResponseController(w).Flush()
		}
		asks <- r.URL.Path
		select {
		case <-answers:
			WriteText(w, 200, "to "+string(body))
		case <-r.Context().Done():
			left <- r.URL.Path
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error)
	mux := f.Mux([]Route{At("GET POST", "/wait /stream", Open, handler)}, func(*http.Request) string { return "" })
	go func() { over <- f.Serve(ctx, ln, f.Guard(mux), func(*http.Server) {}) }()

	const post = " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"
	const get = " HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for _, c := range []struct {
		name, sent string
		requests   int
		want       string
	}{
		{"a body", "POST /wait" + post, 1, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK"},
		{"none", "GET /wait" + get, 1, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK"},
		{"an old client", "GET /wait HTTP/1.0\r\nHost: localhost\r\n\r\n", 1, "HTTP/1.0 200 OK"},
		{"a stream", "POST /stream" + post, 1, "HTTP/1.1 200 OK"},
		{"two requests", "POST /stream" + post + "GET /wait" + get, 2, "HTTP/1.1 200 OK"},
		{"half a body", strings.TrimSuffix("POST /wait"+post, "}"), 0, "HTTP/1.1 400 Bad Request"},
		{"half a header", "GET /wait HTTP/1.1\r\nHost:", 0, ""},
	} {
		client := dial(t, ln, c.sent)
		client.CloseWrite()
		var part [1]byte
		for i := range c.requests {
			<-asks
			if i == 0 && strings.Contains(c.want, " 100 ") { // present before the answer
				if _, err := io.ReadFull(client, part[:]); err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
			} else {
				time.Sleep(20 * time.Millisecond) // time in which the end would have been noticed
			}
			select {
			case answers <- true:
			case path := <-left:
				t.Errorf("%s: %s was treated as disconnected", c.name, path)
			}
		}
		text, err := io.ReadAll(client)
		got := strings.Trim(string(part[:]), "\x00") + string(text)
		if !strings.Contains(c.want, " 100 ") { // may be present
			got = strings.TrimPrefix(got, "HTTP/1.1 100 Continue\r\n\r\n")
		}
		if err != nil || !strings.HasPrefix(got, c.want) || c.want == "" && got != "" && !strings.HasPrefix(got, "HTTP/1.1 400") {
			t.Errorf("%s: got %q, %v", c.name, got, err)
		}
		if n := strings.Count(got, "to "); n != c.requests {
			t.Errorf("%s: %d answers in %q", c.name, n, got)
		}
		client.Close()
	}

	client := dial(t, ln, "POST /wait"+post)
	<-asks
	client.Close()
	select {
	case <-left:
	case <-time.After(20 * time.Second):
		t.Error("the disconnect was not noticed")
	}
	cancel()
	if err := <-over; err != nil {
		t.Error(err)
	}
}

func dial(t *testing.T, ln net.Listener, text string) *net.TCPConn {
	t.Helper()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	client.SetDeadline(time.Now().Add(30 * time.Second))
	io.WriteString(client, text)
	return client.(*net.TCPConn)
}
