package load

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/measure/workload"
)

// TestFaults checks, with broken servers, that every request ends with a reason that can be counted and a line for
// people.
func TestFaults(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
	data := func(events ...string) string { return head + "data: " + strings.Join(events, "\n\ndata: ") + "\n\n" }
	hang := func(text string) func(int, net.Conn) {
		return func(_ int, c net.Conn) {
			io.WriteString(c, text)
			io.Copy(io.Discard, c) // until the client gives up
		}
	}
	flood := func(text, piece string) func(int, net.Conn) {
		return func(_ int, c net.Conn) {
			_, err := io.WriteString(c, text)
			for err == nil {
				_, err = io.WriteString(c, piece)
			}
		}
	}
	soon := Options{HeaderTimeout: 150 * time.Millisecond, EventTimeout: 150 * time.Millisecond}
	for _, c := range []struct {
		name   string
		talk   func(int, net.Conn)
		opt    Options
		want   bench.Failure
		error  string
		chunks int
	}{
		{"500", says("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 4\r\n\r\nboom"), Options{}, "http_500", "500 Internal Server Error: boom", 0},
		{"500 until the close", says("HTTP/1.1 500 Internal Server Error\r\n\r\nboom\nand more"), Options{}, "http_500", "500 Internal Server Error: boom and more", 0},
		{"401 with an error object", says("HTTP/1.1 401 Unauthorized\r\n\r\n" + `{"error":{"message":"no \"key\" given"}}`), Options{}, "http_401", `401 Unauthorized: no "key" given`, 0},
		{"400 with OpenAI's error", says("HTTP/1.1 400 Bad Request\r\n\r\n" + `{"object":"error","message":"too big"}`), Options{}, "http_400", "400 Bad Request: too big", 0},
		{"nothing", func(int, net.Conn) {}, Options{}, bench.Reset, "the server closed the connection without a reply", 0},
		{"half a header", says("HTTP/1.1 200 OK\r\nContent-Ty"), Options{}, bench.Reset, "the server closed the connection without a reply", 0},
		{"not HTTP", says("SSH-2.0-OpenSSH_9.6\r\n"), Options{}, bench.Malformed, `the reply is not HTTP/1.1: it begins "SSH-2.0-OpenSSH_9.6\r\n"`, 0},
		{"an invalid status", says("HTTP/1.1 OK\r\n\r\n"), Options{}, bench.Malformed, `the reply is not HTTP/1.1: its first line is "HTTP/1.1 OK"`, 0},
		{"an endless header", says("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 70<<10)), Options{}, bench.Malformed, "the reply is not HTTP/1.1: its header is longer than 65536 bytes", 0},
		{"an invalid length", says("HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\n"), Options{}, bench.Malformed, `the reply is not HTTP/1.1: Content-Length is "-3"`, 0},
		{"a chunk without a size", says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), Options{}, bench.Malformed, "the size of a body chunk is not a hexadecimal number", 0},
		{"slow headers", hang(""), soon, bench.Timeout, "no reply within 150ms", 0},
		{"silent within the stream", hang(data(chatEvent("a", ""))), soon, bench.Timeout, "no data for 150ms in the middle of the reply", 1},
		{"too slow overall", hang(data(chatEvent("a", ""))), Options{Timeout: 150 * time.Millisecond}, bench.Timeout, "not finished within 150ms", 1},
		{"endless comments", flood(data(chatEvent("a", "")), ": alive\n\n"), soon, bench.Timeout, "no data for 150ms in the middle of the reply", 1},
		{"endless empty events", flood(data(chatEvent("a", "")), "data:\n\n"), soon, bench.Timeout, "no data for 150ms in the middle of the reply", 1},
		{"comments after [DONE]", flood(data(chatEvent("a", "stop"), "[DONE]"), ": alive\n\n"), Options{}, "", "", 1},
		{"endless events", flood(data(chatEvent("a", "")), "data: {}\n\n"), Options{Timeout: 150 * time.Millisecond}, bench.Timeout, "not finished within 150ms", 1},
		{"endless 100 Continue", flood("", "HTTP/1.1 100 Continue\r\n\r\n"), soon, bench.Timeout, "no reply within 150ms", 0},
		{"an endless error body", flood("HTTP/1.1 500 Internal Server Error\r\n\r\nboom", " \n"), Options{}, "http_500", "500 Internal Server Error: boom", 0},
		{"endless trailers", flood("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "X: y\r\n"), soon, bench.Timeout, "no data for 150ms in the middle of the reply", 0},
		{"an endless chunk extension", flood("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", "x"), soon, bench.Timeout, "no data for 150ms in the middle of the reply", 0},
		{"a redirect to itself", says("HTTP/1.1 307 Temporary Redirect\r\nLocation: /v1/chat/completions\r\nContent-Length: 0\r\n\r\n"), Options{}, "http_307", "the server answers with a redirect (307 Temporary Redirect) to /v1/chat/completions, which is not followed", 0},
		{"an unrequested compressed reply", says("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b"), Options{}, bench.Malformed, "the reply is neither an event stream nor a JSON object:", 0},
		{"closes within the stream", says(strings.TrimSuffix(stream(chatEvent("a", ""), chatEvent("b", "")), "0\r\n\r\n")), Options{}, bench.Cut, "the connection ended in the middle of the stream", 2},
		{"half an event", says(head + "data: " + chatEvent("a", "") + "\n\ndata: {\"choices\":[{\"ind"), Options{}, bench.Cut, "the stream ended inside an event", 1},
		{"[DONE] early", says(data(chatEvent("a", ""), "[DONE]")), Options{}, bench.Cut, "the stream ended without a finish reason after 1 events", 1},
		{"only [DONE]", says(data("[DONE]")), Options{}, bench.Empty, "the stream had no token", 0},
		{"an empty stream", says(stream()), Options{}, bench.Empty, "the stream had no token", 0},
		{"a stream with only a role", says(stream(`{"choices":[{"delta":{"role":"assistant","content":""},"finish_reason":"stop"}]}`, "[DONE]")), Options{}, bench.Empty, "the stream had no token", 0},
		{"an empty body", says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), Options{}, bench.Malformed, "the reply is neither an event stream nor a JSON object:", 0},
		{"HTML", says("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>"), Options{}, bench.Malformed, "the reply is neither an event stream nor a JSON object: <html>", 0},
		{"an event that is not JSON", says(stream("hello", "[DONE]")), Options{}, bench.Malformed, "an event is not valid JSON: hello", 0},
		{"an error event", says(stream(chatEvent("a", ""), `{"error":{"message":"out of memory","code":500}}`, "[DONE]")), Options{}, bench.ServerError, "out of memory", 1},
		{"OpenAI's error event", says(stream(`{"object":"error","message":"bad","code":400}`)), Options{}, bench.ServerError, "bad", 0},
		{"an abort", says(stream(`{"text":"a","meta_info":{"completion_tokens":1,"finish_reason":{"type":"abort","message":"queue full"}}}`, "[DONE]")), Options{Backend: "sglang"}, bench.ServerError, "aborted: queue full", 1},
		{"an endless event", says(head + "data: " + strings.Repeat("x", 3000)), Options{MaxEvent: 2000}, bench.Malformed, "an event exceeds the size limit", 0},
		{"an endless reply", says("HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 3000)), Options{MaxEvent: 2000}, bench.Malformed, "the reply exceeds the size limit", 0},
		{"no embedding", says(plain("application/json", `{"data":[]}`)), Options{Backend: "vllm-embedding"}, bench.Empty, "the reply has no embedding", 0},
		{"no image", says(plain("application/json", `{"data":[]}`)), Options{Backend: Images}, bench.Empty, "the reply has no image", 0},
		{"a late reply", says(plain("application/json", `{"data":[{}]}`)), Options{Backend: Images, Timeout: 1}, bench.Timeout, "not finished within 1ns", 0},
		{"a truncated body", says("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"text\":"), Options{}, bench.Cut, "the connection ended in the middle of the reply", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			url, _ := scripted(t, c.talk)
			for _, user := range []bool{false, true} {
				opt := c.opt
				opt.UserStamps = user
				r := one(t, url, opt)
				if r.Failure != c.want || !strings.HasPrefix(r.Error, c.error) || len(r.Chunks) != c.chunks {
					t.Errorf("got %q, %q, %d chunks; want %q, %q, %d", r.Failure, r.Error, len(r.Chunks), c.want, c.error, c.chunks)
				}
				if r.Done < r.Sent || r.Sent < r.Connected || r.Connected < r.Scheduled {
					t.Errorf("times are out of order: %+v", r)
				}
			}
		})
	}
}

func TestNoConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	l.Close()
	if r := one(t, url, Options{}); r.Failure != bench.Refused || r.Sent != bench.Never || r.Done == bench.Never {
		t.Errorf("got %+v", r)
	}
}

// TestReset checks data followed by a reset, which the poller reports only once.
func TestReset(t *testing.T) {
	url, _ := scripted(t, func(_ int, c net.Conn) {
		io.WriteString(c, strings.TrimSuffix(stream(chatEvent("a", "")), "0\r\n\r\n"))
		c.(*net.TCPConn).SetLinger(0)
	})
	if r := one(t, url, Options{EventTimeout: time.Hour}); r.Failure != bench.Cut && r.Failure != bench.Reset {
		t.Errorf("got %q %q", r.Failure, r.Error)
	}
}

// TestIdleConnectionGone checks that requests are sent again on a new connection if the server closes one between two
// requests, or instead of answering the second.
func TestIdleConnectionGone(t *testing.T) {
	whole := stream(chatEvent("a", "stop"), "[DONE]")
	url, seen := scripted(t, func(n int, c net.Conn) {
		io.WriteString(c, whole)
		if n == 0 {
			c.Read(make([]byte, 1)) // the second request begins and gets nothing
		}
	})
	res, err := Run(t.Context(), []workload.Request{{Prompt: "a", OutputLen: 1}, {Prompt: "b", OutputLen: 1}},
		Options{Backend: "sglang-oai-chat", BaseURL: url, Stream: true, MaxConcurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range res.Records {
		if !r.OK() {
			t.Errorf("%s: %s", r.Failure, r.Error)
		}
	}
	if n := len(seen()); n != 2 {
		t.Errorf("the server read %d complete requests, want 2", n)
	}
}

// TestReuse counts connections.
func TestReuse(t *testing.T) {
	for _, c := range []struct {
		name string
		opt  Options
		want int
	}{
		{"again", Options{}, 1},
		{"new each time", Options{NewConnPerRequest: true}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			conns := 0
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", chatEvent("a", "stop"))
			}))
			s.Config.ConnState = func(_ net.Conn, st http.ConnState) {
				if st == http.StateNew {
					conns++
				}
			}
			s.Start()
			defer s.Close()
			opt := c.opt
			opt.Backend, opt.BaseURL, opt.Stream, opt.MaxConcurrency = "vllm-chat", s.URL, true, 1
			res, err := Run(t.Context(), make([]workload.Request, 3), opt)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range res.Records {
				if !r.OK() {
					t.Errorf("%s: %s", r.Failure, r.Error)
				}
			}
			if s.Close(); conns != c.want {
				t.Errorf("%d connections, want %d", conns, c.want)
			}
		})
	}
}

// TestTLS checks that TLS uses the times of the reads, with a note.
func TestTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", chatEvent("a", "stop"))
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	pool := s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	res, err := Run(t.Context(), make([]workload.Request, 2), Options{Backend: "vllm-chat", BaseURL: s.URL, Stream: true, MaxConcurrency: 1, TLS: &tls.Config{RootCAs: pool}})
	if err != nil {
		t.Fatal(err)
	}
	if r := res.Records[1]; !r.OK() || res.Stamps != bench.UserStamps {
		t.Errorf("got %s stamps, %s %s", res.Stamps, r.Failure, r.Error)
	}
	if r := one(t, s.URL, Options{}); r.Failure != bench.Refused || !strings.Contains(r.Error, "certificate") {
		t.Errorf("an unknown certificate: got %q %q", r.Failure, r.Error)
	}
}

// TestInterrupt checks that an interrupt returns the measurements so far, ends the running requests, marks the unsent
// ones, and leaves no goroutine.
func TestInterrupt(t *testing.T) {
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	live := &Live{}
	url, _ := scripted(t, func(n int, c net.Conn) {
		if n == 0 {
			io.WriteString(c, stream(chatEvent("a", "stop"), "[DONE]"))
			return
		}
		io.WriteString(c, strings.TrimSuffix(stream(chatEvent("a", "")), "0\r\n\r\n"))
		for live.Chunks.Load() < 2 {
			time.Sleep(time.Millisecond)
		}
		cancel()
		io.Copy(io.Discard, c)
	})
	res, err := Run(ctx, make([]workload.Request, 3), Options{
		Backend: "vllm-chat", BaseURL: url, Stream: true, NewConnPerRequest: true, Live: live,
		Schedule: []time.Duration{0, 500 * time.Millisecond, time.Hour},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := res.Records
	if !r[0].OK() {
		t.Errorf("the first: %s %s", r[0].Failure, r[0].Error)
	}
	if r[1].Failure != bench.Interrupted || len(r[1].Chunks) != 1 || r[1].First == bench.Never {
		t.Errorf("in flight: %+v", r[1])
	}
	if r[2].Failure != bench.NotSent || r[2].Sent != bench.Never || r[2].Released != bench.Never {
		t.Errorf("never sent: %+v", r[2])
	}
	if live.Done.Load() != 1 || live.Failed.Load() != 1 || live.Running() != 0 || live.Chunks.Load() != 2 {
		t.Errorf("live: %d done, %d failed, %d running, %d chunks", live.Done.Load(), live.Failed.Load(), live.Running(), live.Chunks.Load())
	}
	for range 100 {
		if runtime.NumGoroutine() <= before+3 { // the scripted server's
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	buf := make([]byte, 1<<16)
	t.Errorf("goroutines left:\n%s", buf[:runtime.Stack(buf, true)])
}
