package cli

import (
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// valve is a wire to a bootstrap port that loses all that comes after so many bytes,
// and breaks when an end does. open cuts the wires that lost something and loses no more.
func valve(t *testing.T, port string, after int64) (at string, shut <-chan struct{}, open func()) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	stopped, once := make(chan struct{}), sync.Once{}
	var passed atomic.Int64
	var mu sync.Mutex
	var lossy []net.Conn
	opened := false
	wire := func(in net.Conn) {
		defer in.Close()
		out, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err != nil {
			return
		}
		mu.Lock()
		loses := !opened
		if loses {
			lossy = append(lossy, in, out)
		}
		mu.Unlock()
		go func() { io.Copy(out, in); out.Close() }()
		buf := make([]byte, 4096)
		for {
			n, err := out.Read(buf)
			if passed.Add(int64(n)) > after && loses {
				once.Do(func() { close(stopped) })
				n = 0
			}
			if _, werr := in.Write(buf[:n]); err != nil || werr != nil {
				return
			}
		}
	}
	go func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			go wire(in)
		}
	}()
	_, at, _ = net.SplitHostPort(ln.Addr().String())
	return at, stopped, func() {
		mu.Lock()
		defer mu.Unlock()
		opened = true
		for _, c := range lossy {
			c.Close()
		}
		lossy = nil
	}
}

// TestDisaggKilled kills workers in the middle of things: what they were needed for
// ends with an error, what they were not goes on, nothing is left behind, and a
// worker that comes back works.
func TestDisaggKilled(t *testing.T) {
	t.Parallel()
	prefill := func() *worker {
		return startWorker(t, "--disaggregation-mode", "prefill", "--disaggregation-bootstrap-port", "0", "--tp-size", "2")
	}
	decode := func() *worker { return startWorker(t, "--disaggregation-mode", "decode", "--tp-size", "2") }
	p, d := prefill(), decode()         // one of these is killed,
	goodP, goodD := prefill(), decode() // these never

	long := `"text":"` + strings.Repeat("word ", 150) + `","sampling_params":{"temperature":0,"max_new_tokens":500,"ignore_eos":true},"stream":true`
	type result struct {
		status int
		text   string
	}
	// others runs requests between two workers until done is closed.
	others := func(p, d *worker, done <-chan struct{}) (ended <-chan int) {
		out := make(chan int, 1)
		go func() {
			n := 0
			defer func() { out <- n }()
			for {
				select {
				case <-done:
					return
				default:
				}
				if status, text := pair(p, d, p.port, short, nil); status != 200 || !strings.Contains(text, `"completion_tokens":16`) {
					t.Errorf("another request: %d %s", status, text)
					return
				}
				n++
			}
		}()
		return out
	}
	for _, c := range []struct {
		name     string
		victim   *worker
		p, d     *worker // of the request in question
		otherP   *worker // of requests that must go on
		otherD   *worker
		transfer bool   // killed while keys and values are under way; else in mid-stream
		want     string // in the reply; "": the stream just breaks
	}{
		{"prefill in mid-transfer", p, p, d, goodP, d, true, "KV transfer failed"},
		{"prefill in mid-stream", p, p, d, goodP, d, false, `"completion_tokens":500`},
		{"decode in mid-transfer", d, p, d, p, goodD, true, ""},
		{"decode in mid-stream", d, p, d, p, goodD, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			port, shut := c.p.port, make(<-chan struct{})
			if c.transfer {
				port, shut, _ = valve(t, c.p.port, 100_000)
			}
			done := make(chan struct{})
			others := others(c.otherP, c.otherD, done)
			streams := make(chan struct{})
			ended := make(chan result, 1)
			go func() {
				status, text := pair(c.p, c.d, port, long, func() { close(streams) })
				ended <- result{status, text}
			}()
			select {
			case <-shut:
			case <-streams:
				if c.transfer {
					t.Error("the transfer was not held up")
				}
			case r := <-ended:
				t.Fatalf("ended before: %+v", r)
			case <-time.After(30 * time.Second):
				t.Fatal("never began")
			}
			began := time.Now()
			c.victim.kill()
			select {
			case r := <-ended:
				if c.want == "" && strings.Contains(r.text, "[DONE]") || !strings.Contains(r.text, c.want) {
					t.Errorf("%d %.300s … %.300s, want %q", r.status, r.text, r.text[max(0, len(r.text)-300):], c.want)
				}
			case <-time.After(30 * time.Second):
				t.Fatal("the request hangs")
			}
			t.Logf("ended %v after the kill", time.Since(began).Round(time.Millisecond))
			close(done)
			if n := <-others; n == 0 {
				t.Error("no other request went on")
			}
			for _, w := range []*worker{p, d, goodP, goodD} {
				if w != c.victim {
					w.free()
				}
			}
			c.victim.again()
			works(t, p, d)
		})
	}
}
