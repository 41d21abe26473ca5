package kvtransfer

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestOneSide covers rooms that only one side names, or on which the sides disagree.
func TestOneSide(t *testing.T) {
	one := func() (*store, *store) { return newStore(1, 1, 1, 1), newStore(1, 1, 1, 2) }
	short := Options{Bootstrap: 300 * time.Millisecond}
	for _, c := range []struct {
		name string
		opt  Options
		do   func(t *testing.T, s *site) *both
		sent string
		got  string
	}{
		{"nobody receives", short, func(t *testing.T, s *site) *both {
			b := s.expect(7, 3)
			b.got <- nil
			return b
		}, "room 7 was not announced by both sides within 300ms", ""},
		{"nobody sends", short, func(t *testing.T, s *site) *both {
			b := &both{sent: make(chan error, 2), got: make(chan error, 2)}
			s.receive(b, 7, 3)
			b.sent <- nil
			return b
		}, "", "room 7 was not announced by both sides within 300ms"},
		{"never finished", Options{Waiting: 300 * time.Millisecond}, func(t *testing.T, s *site) *both { return s.room(7, 3) },
			"no complete transfer from", "within 300ms"},
		{"refused by the source before", Options{}, func(t *testing.T, s *site) *both {
			s.src.Refuse(0, 7, errors.New("queue full"))
			b := &both{sent: make(chan error, 2), got: make(chan error, 2)}
			s.receive(b, 7, 3)
			b.sent <- nil
			return b
		}, "", "queue full"},
		{"refused by the source after", Options{}, func(t *testing.T, s *site) *both {
			b := &both{sent: make(chan error, 2), got: make(chan error, 2)}
			s.receive(b, 7, 3)
			eventually(t, func() bool { s.src.mu.Lock(); defer s.src.mu.Unlock(); return len(s.src.meetings) == 1 })
			s.src.Refuse(0, 7, errors.New("queue full"))
			b.sent <- nil
			return b
		}, "", "queue full"},
		{"refused by the sink", Options{}, func(t *testing.T, s *site) *both {
			b := s.expect(7, 3)
			s.snk.Refuse(0, s.addr, 7, "no memory")
			b.got <- nil
			return b
		}, "no memory", ""},
		{"the prompts differ", Options{}, func(t *testing.T, s *site) *both {
			b := s.expect(7, 3)
			s.receive(b, 7, 4)
			return b
		}, "3 blocks here and 4 at the other", "3 blocks here and 4 at the other"},
		{"fewer blocks arrived than announced", Options{}, func(t *testing.T, s *site) *both {
			b := s.room(7, 3)
			b.open(t)
			s.send(b, 0, 0, 2)
			b.out.Finish(nil)
			return b
		}, "2 of 3 blocks arrived", "2 of 3 blocks arrived"},
		{"closed", Options{}, func(t *testing.T, s *site) *both {
			b := s.room(7, 3)
			b.open(t)
			s.src.Close()
			return b
		}, "shutting down", "broke"},
	} {
		t.Run(c.name, func(t *testing.T) {
			from, to := one()
			s := newSite(t, from, to, c.opt, nil)
			c.do(t, s).ends(t, c.sent, c.got)
			if s.src.closed {
				return
			}
			s.src.Refuse(0, 7, nil) // whatever is left of the room
			s.whole(8, 5)
		})
	}
}

// TestPeers dials peers that are no prefill worker, or the wrong one.
func TestPeers(t *testing.T) {
	listen := func(t *testing.T, do func(net.Conn)) string {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ln.Close() })
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				t.Cleanup(func() { c.Close() })
				go do(c)
			}
		}()
		return ln.Addr().String()
	}
	other := newStore(1, 1, 1, 1)
	other.w.Layout.Model = "another"
	for _, c := range []struct {
		name string
		addr func(t *testing.T) string
		want string
	}{
		{"nobody listens", func(t *testing.T) string { return "127.0.0.1:1" }, "cannot be reached"},
		{"accepts and says nothing", func(t *testing.T) string { return listen(t, func(net.Conn) {}) }, "it sent nothing for 300ms"},
		{"speaks HTTP", func(t *testing.T) string {
			return listen(t, func(c net.Conn) { io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n") })
		}, "invalid frame header"},
		{"another model", func(t *testing.T) string { return newSite(t, other, other, Options{}, nil).addr }, `a different model: "another"`},
		{"another key", func(t *testing.T) string {
			return newSite(t, newStore(1, 1, 1, 1), other, Options{Key: "other"}, nil).addr
		}, "a different API key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, newStore(1, 1, 1, 1), newStore(1, 1, 1, 2), Options{Handshake: 300 * time.Millisecond}, nil)
			s.addr = c.addr(t)
			var wg sync.WaitGroup
			began := time.Now()
			for room := range uint64(5) { // side by side: none waits for another's timeout
				wg.Go(func() {
					b := &both{got: make(chan error, 2)}
					s.receive(b, room, 2)
					if err := wait(t, "the room", b.got); err == nil || !strings.Contains(err.Error(), c.want) {
						t.Errorf("%v, want %q", err, c.want)
					}
				})
			}
			wg.Wait()
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// tamper is a wire that passes bytes on, and modifies those of the source as a test requests.
func tamper(t *testing.T, pass func(at int, p []byte) (ok bool)) func(string) string {
	return func(addr string) string {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ln.Close() })
		go func() {
			for {
				in, err := ln.Accept()
				if err != nil {
					return
				}
				out, err := net.Dial("tcp", addr)
				if err != nil {
					in.Close()
					return
				}
				go func() { io.Copy(out, in); out.Close() }()
				go func() {
					defer in.Close()
					buf := make([]byte, 1024)
					for at := 0; ; {
						n, err := out.Read(buf)
						if n > 0 {
							if !pass(at, buf[:n]) {
								out.Close()
								return
							}
							if _, err := in.Write(buf[:n]); err != nil {
								return
							}
							at += n
						}
						if err != nil {
							return
						}
					}
				}()
			}
		}()
		return ln.Addr().String()
	}
}

// TestBrokenWire breaks a link in the middle of a room's blocks; later traffic uses a new link or the same one.
func TestBrokenWire(t *testing.T) {
	var broken atomic.Bool
	const into = 6000 // bytes from the start: among the blocks
	once := func(do func(p []byte) bool) func(int, []byte) bool {
		return func(at int, p []byte) bool {
			if at > into && broken.CompareAndSwap(false, true) {
				return do(p)
			}
			return true
		}
	}
	for _, c := range []struct {
		name string
		pass func(int, []byte) bool
		opt  Options
		sent string
		got  string
	}{
		{"a bit is turned in a payload", once(func(p []byte) bool { p[len(p)/2] ^= 4; return true }), Options{}, "", ""},
		{"the connection closes", once(func([]byte) bool { return false }), Options{}, "EOF", "EOF"},
		{"nothing more arrives", once(func([]byte) bool { time.Sleep(3 * time.Second); return false }), Options{Silence: 400 * time.Millisecond}, "", "silent for 400ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			broken.Store(false)
			s := newSite(t, newStore(1, 1, 1, 1), newStore(1, 1, 1, 2), c.opt, tamper(t, c.pass))
			b := s.room(1, 20)
			b.open(t)
			s.send(b, 0, 0, 20)
			b.out.Finish(nil)
			sent, got := wait(t, "source", b.sent), wait(t, "sink", b.got)
			if sent == nil || got == nil || !strings.Contains(got.Error(), c.got) {
				t.Errorf("source: %v; sink: %v", sent, got)
			}
			if !broken.Load() {
				t.Fatal("nothing was broken")
			}
			s.whole(2, 9)
		})
	}
}

// A peer that stops reading fills its socket: the source gives up the link.
func TestStuckSink(t *testing.T) {
	big := newStore(1, 1, 1, 1)
	page := make([]byte, 8<<20)
	big.w.Layout.Page = 8 << 20
	big.w.Ranks[0][0].Pages = func(_, _ int, _ int32, n int) ([]byte, []byte) { return page, page }
	s := newSite(t, big, newStore(1, 1, 1, 2), Options{Silence: 500 * time.Millisecond}, nil)
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var w welcome
	if err := hear(c, kindWelcome, &w); err != nil {
		t.Fatal(err)
	}
	say(c, kindBind, bind{Place: big.w.Layout.Ranks[0], Proof: proof("", w.Nonce)})
	b := s.expect(1, 1)
	c.Write(message(kindOpen, 1, []byte(`{"links":1,"link":0,"blocks":1}`)))
	select {
	case <-b.opened:
	case <-time.After(10 * time.Second):
		t.Fatal("not opened")
	}
	go func() { // it is alive: it sends pings
		for range 100 {
			if _, err := c.Write(message(kindPing, 0, nil)); err != nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
	b.out.Send(0, 0, []int32{0}, 0)
	b.out.Finish(nil)
	if err := wait(t, "the room", b.sent); err == nil || !strings.Contains(err.Error(), "no longer accepts data") {
		t.Errorf("%v", err)
	}
}
