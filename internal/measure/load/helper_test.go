package load

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/measure/workload"
)

// scripted is a server with one behaviour per connection: talk gets the connection after the request was read. It
// returns the requests.
func scripted(t *testing.T, talk func(n int, c net.Conn)) (url string, seen func() []string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var requests []string
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				r, err := http.ReadRequest(bufio.NewReader(c))
				if err != nil {
					return
				}
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				requests = append(requests, string(body))
				mu.Unlock()
				talk(n, c)
			})
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return "http://" + l.Addr().String(), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return requests
	}
}

// says returns a talk that writes text and closes.
func says(text string) func(int, net.Conn) {
	return func(_ int, c net.Conn) { io.WriteString(c, text) }
}

// stream returns a complete chunked reply of events.
func stream(events ...string) string {
	var b strings.Builder
	b.WriteString("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n")
	for _, e := range events {
		fmt.Fprintf(&b, "%x\r\ndata: %s\n\n\r\n", len(e)+8, e)
	}
	b.WriteString("0\r\n\r\n")
	return b.String()
}

// chatEvent returns a chat event with a piece of text.
func chatEvent(text, finish string) string {
	if finish != "" {
		finish = `"` + finish + `"`
	} else {
		finish = "null"
	}
	return `{"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"` + text + `"},"finish_reason":` + finish + `}],"usage":null}`
}

// one sends one request to url and returns its record.
func one(t *testing.T, url string, opt Options) bench.Record {
	t.Helper()
	if opt.Backend == "" {
		opt.Backend = "sglang-oai-chat"
	}
	opt.BaseURL, opt.Stream, opt.KeepGC = url, true, true
	res, err := Run(t.Context(), []workload.Request{{Prompt: "p", PromptLen: 1, OutputLen: 4}}, opt)
	if err != nil {
		t.Fatal(err)
	}
	return res.Records[0]
}
