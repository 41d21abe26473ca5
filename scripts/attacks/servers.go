package main

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// clients are the commands that query servers. In the arguments, URL is replaced by the URL of the server.
var clients = [][]string{
	{"send", "--base-url", "URL", "--max-new-tokens", "4"},
	{"send", "--base-url", "URL", "--max-new-tokens", "4", "--stream"},
	{"bench", "serving", "--base-url", "URL", "--backend", "sglang", "--dataset-name", "random-ids", "--num-prompts", "3", "--random-input", "8", "--random-output", "4", "--stall-timeout", "3s", "--request-timeout", "6s", "--ready-check-timeout-sec", "3", "--model", "m", "--tokenizer", "builtin:bytes", "--output-file", "out.jsonl"},
	{"profile", "--url", "URL", "--num-steps", "2", "--wait", "2s", "-o", "traces"},
	{"trace", "check", "URL"},
}

// replies maps names to the replies of hostile servers. Each function writes one reply to a connection.
var replies = map[string]func(c net.Conn, path string){
	"closes at once":  func(c net.Conn, _ string) {},
	"no HTTP":         func(c net.Conn, _ string) { c.Write(noise(4096)) },
	"half a head":     func(c net.Conn, _ string) { io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-") },
	"endless headers": func(c net.Conn, _ string) { io.WriteString(c, "HTTP/1.1 200 OK\r\n"); forever(c, "X-A: b\r\n") },
	"endless line": func(c net.Conn, _ string) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		forever(c, strings.Repeat("a", 1<<16))
	},
	"endless comments": func(c net.Conn, _ string) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
		forever(c, ": nothing\n\n")
	},
	"endless events": func(c net.Conn, _ string) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
		forever(c, "data: {\"text\":\"a\",\"meta_info\":{\"completion_tokens\":1}}\n\n")
	},
	"too short": func(c net.Conn, _ string) { io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{}") },
	"bad chunks": func(c net.Conn, _ string) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
	},
	"no JSON":    reply("200 OK", "nonsense"),
	"other JSON": reply("200 OK", `[[[1e999,{"text":null,"meta_info":[],"choices":{}}]]]`),
	"deep JSON":  reply("200 OK", strings.Repeat("[", 1<<20)),
	"evil text":  reply("200 OK", `{"text":"\u001b[2J\u202eevil","meta_info":{"id":"\u0007","completion_tokens":-5},"model_path":"\u001b]0;x\u0007"}`),
	"evil error": reply("500 \x1b[31mNo", "\x1b[2J\u202e"+strings.Repeat("<html>", 10000)),
	"redirects forever": func(c net.Conn, path string) {
		io.WriteString(c, "HTTP/1.1 307 x\r\nLocation: "+path+"x\r\nContent-Length: 0\r\n\r\n")
	},
	"redirects to file": func(c net.Conn, _ string) {
		io.WriteString(c, "HTTP/1.1 302 x\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n")
	},
	"a bomb": func(c net.Conn, _ string) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Type: application/json\r\n\r\n")
		z := gzip.NewWriter(c)
		zeros := make([]byte, 1<<20)
		for range 2000 {
			if _, err := z.Write(zeros); err != nil {
				return
			}
		}
		z.Close()
	},
}

func reply(status, body string) func(net.Conn, string) {
	return func(c net.Conn, _ string) {
		fmt.Fprintf(c, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", status, len(body), body)
	}
}

// forever writes until the peer stops reading.
func forever(c net.Conn, text string) {
	text = strings.Repeat(text, max(1, 1<<14/len(text)))
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); {
		c.SetWriteDeadline(time.Now().Add(5 * time.Second))
		if _, err := io.WriteString(c, text); err != nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// servers runs the client commands against hostile servers. Some servers are hostile from the beginning, and other
// servers become hostile after they have answered health probes.
func servers(a *attack) error {
	// Run the clients in parallel, because they spend most of their time waiting.
	var group errgroup.Group
	group.SetLimit(8)
	i := 0
	for _, name := range slices.Sorted(maps.Keys(replies)) {
		for _, healthy := range []bool{false, true} {
			i++
			if !*short || i%8 == 0 {
				group.Go(func() error { return a.hostileServer(name, replies[name], healthy) })
			}
		}
	}
	return group.Wait()
}

func (a *attack) hostileServer(name string, say func(net.Conn, string), healthy bool) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	go serve(l, func(c net.Conn, req *http.Request) {
		if healthy && req.Method == "GET" {
			reply("200 OK", `{"model_path":"m","tokenizer_path":"m","is_generation":true,"data":[{"id":"m"}]}`)(c, "")
			return
		}
		say(c, req.URL.Path)
	})
	dir, done, err := a.temp()
	if err != nil {
		return err
	}
	defer done()
	for _, args := range clients {
		args := append([]string(nil), args...)
		for i := range args {
			if args[i] == "URL" {
				args[i] = "http://" + l.Addr().String()
			}
		}
		a.try()
		// Even if a server keeps a command busy for hours, an interrupt by the user must end the command.
		r, err := run(6*time.Second, dir, args...)
		what := fmt.Sprintf("%s of a server that says: %s (healthy at first: %v)", strings.Join(args[:2], " "), name, healthy)
		if err != nil {
			a.fail("%s: %v", what, err)
		} else if r.interrupted > wide(35*time.Second) {
			a.fail("%s: ends %v after an interrupt", what, r.interrupted)
		} else if c := control(r.out); c != "" {
			a.fail("%s: stdout has %s", what, c)
		}
	}
	return nil
}

// serve answers one request on each connection until the listener is closed.
func serve(l net.Listener, say func(c net.Conn, req *http.Request)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			if req, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				say(c, req)
			}
		}()
	}
}
