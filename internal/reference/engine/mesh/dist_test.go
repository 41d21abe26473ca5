package mesh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// meet joins n nodes, each with modified options, and returns their meshes and errors.
func meet(t *testing.T, n int, change func(node int, o *Options)) ([]*Mesh, []error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	meshes, errs := make([]*Mesh, n), make([]error, n)
	var wg sync.WaitGroup
	for node := range n {
		o := Options{
			Node: node, Nodes: n, Addr: addr, Host: fmt.Sprint("host", node), Timeout: 20 * time.Second,
			Terms: map[string]string{"--tp-size": fmt.Sprint(n)},
		}
		for i := range n {
			o.Names = append(o.Names, fmt.Sprint("rank ", i))
		}
		if change != nil {
			change(node, &o)
		}
		wg.Go(func() { meshes[node], errs[node] = Join(context.Background(), o) })
	}
	wg.Wait()
	t.Cleanup(func() { leave(meshes, "") })
	return meshes, errs
}

func leave(meshes []*Mesh, reason string) {
	var wg sync.WaitGroup
	for _, m := range meshes {
		if m != nil {
			wg.Go(func() { m.Leave(reason) })
		}
	}
	wg.Wait()
}

func joined(t *testing.T, n int, change func(int, *Options)) []*Mesh {
	t.Helper()
	meshes, errs := meet(t, n, change)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return meshes
}

// TestFrames checks that frames between all nodes arrive whole and in order, small or large, even those sent before
// anyone listens.
func TestFrames(t *testing.T) {
	t.Run("shared memory", func(t *testing.T) { exchange(t, false) })
	t.Run("TCP", func(t *testing.T) { exchange(t, true) })
}

func exchange(t *testing.T, noShared bool) {
	const n, each = 4, 50
	meshes := joined(t, n, func(_ int, o *Options) { o.NoShared = noShared })
	if shm := meshes[0].links[Fast][1].shm; (shm == nil) != (noShared || hostID() == "") {
		t.Errorf("memory is shared: %v", shm != nil)
	}
	size := func(k int) int { return k * k * k * 10 } // up to 1.2 MB, together more than a ring holds
	var senders sync.WaitGroup
	for from, m := range meshes {
		for to := range n {
			if to == from {
				continue
			}
			senders.Go(func() {
				for k := range each {
					if err := m.Channel(7, Fast).Send(to, []byte{byte(from)}, bytes.Repeat([]byte{byte(k)}, size(k))); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	for to, m := range meshes {
		ch := m.Channel(7, Fast)
		var mu sync.Mutex
		next, left := map[int]int{}, (n-1)*each
		done := make(chan struct{})
		ch.Receive(func(node int, frame []byte) {
			mu.Lock()
			defer mu.Unlock()
			k := next[node]
			next[node]++
			if want := append([]byte{byte(node)}, bytes.Repeat([]byte{byte(k)}, size(k))...); !bytes.Equal(frame, want) {
				t.Errorf("node %d got the wrong frame %d from %d", to, k, node)
			}
			ch.Free(frame)
			if left--; left == 0 {
				close(done)
			}
		}, func(error) {})
		<-done
	}
	senders.Wait()
	for node, m := range meshes {
		if err := m.Err(); err != nil || m.Host(2) != "host2" {
			t.Errorf("node %d: %v, host %q", node, err, m.Host(2))
		}
	}
}

// TestRefused checks that all nodes report the same mismatch when they do not belong together.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(node int, o *Options)
		want   string // contained in the error of every node
	}{
		{"terms", func(node int, o *Options) {
			if node == 1 {
				o.Terms = map[string]string{"--tp-size": "4"}
			}
		}, "node 1 at host1 cannot join: --tp-size 4, node 0 has 3"},
		{"number of nodes", func(node int, o *Options) {
			if node == 2 {
				o.Nodes, o.Names = 5, append(o.Names, "rank 3", "rank 4")
			}
		}, "node 2 at host2 cannot join: --nnodes 5, node 0 has 3"},
		{"rank taken", func(node int, o *Options) {
			if node == 2 {
				o.Node = 1
			}
		}, "--node-rank 1 is taken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, errs := meet(t, 3, func(node int, o *Options) {
				o.Timeout = time.Second
				c.change(node, o)
			})
			for node, err := range errs {
				// A node that had not connected yet finds nobody.
				if err == nil || !strings.Contains(err.Error(), c.want) && !strings.Contains(err.Error(), "node 0") {
					t.Errorf("node %d: %v; want %q", node, err, c.want)
				}
			}
			if errs[0] == nil || !strings.Contains(errs[0].Error(), c.want) {
				t.Errorf("node 0: %v; want %q", errs[0], c.want)
			}
		})
	}
}

// TestAlone checks that a node that finds nobody, or a silent peer, gives up in time.
func TestAlone(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	names := []string{"rank 0", "rank 1"}
	for _, c := range []struct {
		name string
		opt  Options
		want string
	}{
		{"node 0", Options{Addr: "127.0.0.1:0"}, "node 1 (rank 1) did not join at 127.0.0.1:0 within 300ms"},
		{"node 1", Options{Node: 1, Addr: "127.0.0.1:1"}, "node 0 cannot be reached at --dist-init-addr 127.0.0.1:1 within 300ms"},
		{"a silent peer", Options{Node: 1, Addr: silent.Addr().String()}, "accepts the connection but does not answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.opt.Nodes, c.opt.Names, c.opt.Timeout = 2, names, 300*time.Millisecond
			if _, err := Join(t.Context(), c.opt); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
}

// TestStrangers checks that connections from non-nodes do not disturb the nodes.
func TestStrangers(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	said := make(chan string, 1000)
	results := make(chan error, 2)
	join := func(node int) {
		m, err := Join(t.Context(), Options{Node: node, Nodes: 2, Addr: addr, Names: []string{"a", "b"}, Timeout: 20 * time.Second, Log: func(s string) { said <- s }})
		if err == nil {
			defer m.Leave("")
		}
		results <- err
	}
	go join(0)
	for line := range said {
		if strings.Contains(line, "Waiting for 1 more node at ") {
			break
		}
	}
	for _, text := range []string{"GET / HTTP/1.1\r\n\r\n", "SSD1\xff\xff\xff\x7f", "SSD1\x02\x00\x00\x00{x", "SSD1"} {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write([]byte(text))
		c.Close()
		if line := <-said; !strings.Contains(line, "is not a node of this job") {
			t.Errorf("after %q: %s", text, line)
		}
	}
	for range 200 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
		c.Close()
	}
	go join(1)
	for range 2 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if n := len(said); n > 50 {
		t.Errorf("200 strangers at once made %d lines", n)
	}
}

// TestLost checks that a node that leaves or falls silent ends the mesh on all others, with the same reason.
func TestLost(t *testing.T) {
	for name, c := range map[string]struct {
		end   func(t *testing.T, m *Mesh)
		cause string
	}{
		"closed": {func(t *testing.T, m *Mesh) {
			m.mu.Lock()
			m.over = true // a killed process sends nothing more
			m.mu.Unlock()
			for _, list := range m.links {
				for _, l := range list {
					if l != nil {
						l.c.Close()
					}
				}
			}
		}, "its process has ended or the connection was closed"},
		"left with a reason": {func(t *testing.T, m *Mesh) { m.Leave("it was asked to stop") }, "it was asked to stop"},
		"silent": {func(t *testing.T, m *Mesh) {
			for _, list := range m.links {
				for _, l := range list {
					if l != nil {
						l.mu.Lock() // nothing more is written
						t.Cleanup(l.mu.Unlock)
					}
				}
			}
		}, "no sign of life for 500ms"},
	} {
		t.Run(name, func(t *testing.T) {
			meshes := joined(t, 3, func(_ int, o *Options) { o.Silence = 500 * time.Millisecond })
			// A full lane to a peer that stopped reading does not block the others.
			stuck := make(chan struct{})
			meshes[2].Channel(9, Fast).Receive(func(int, []byte) { <-stuck }, func(error) {})
			var full sync.WaitGroup
			full.Go(func() {
				for meshes[0].Channel(9, Fast).Send(2, make([]byte, 1<<20)) == nil {
				}
			})
			defer full.Wait()
			defer close(stuck)
			told := make(chan error, 3)
			for _, m := range meshes[:2] {
				m.Channel(9, Fast).Receive(func(int, []byte) {}, func(err error) { told <- err })
			}
			full.Go(func() { c.end(t, meshes[2]) })
			for _, m := range meshes[:2] {
				<-m.Lost()
				want := "rank 2 at host2 lost: " + c.cause
				if m.Err().Error() != want {
					t.Errorf("node %d: %v; want %s", m.Node(), m.Err(), want)
				}
				if err := <-told; err.Error() != want {
					t.Errorf("the channel received %v", err)
				}
				if err := m.Channel(9, Fast).Send(2, nil); err == nil {
					t.Error("frames are sent to a lost node")
				}
			}
		})
	}
}

// TestLeave checks that no node is lost when node 0 announces the end of the job.
func TestLeave(t *testing.T) {
	meshes := joined(t, 3, nil)
	// Files of jobs that start beside this test disappear by themselves.
	left, _ := filepath.Glob("/dev/shm/stepscope-*")
	for _, name := range left {
		for gone := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(name); err != nil {
				break
			}
			if time.Now().After(gone) {
				t.Fatalf("%s is left behind", name)
			}
		}
	}
	meshes[0].Leave("")
	for _, m := range meshes[1:] {
		<-m.Ended()
		m.Leave("")
	}
	for _, m := range meshes {
		if m.Err() != nil {
			t.Error(m.Err())
		}
	}
}

// TestOffset checks that a known clock offset is estimated to within the round trip.
func TestOffset(t *testing.T) {
	const ahead = 1234567
	start := time.Now()
	meshes := joined(t, 2, func(node int, o *Options) {
		o.Silence = 100 * time.Millisecond
		o.Now = func() int64 { return int64(time.Since(start)) + int64(node)*ahead }
	})
	for {
		o, ok := meshes[0].Offset(1)
		if !ok {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		if miss := o.NS - ahead; miss < -o.RTT/2-1 || miss > o.RTT/2+1 {
			t.Errorf("the clock is ahead by %d ± %d ns, not %d", o.NS, o.RTT/2, ahead)
		}
		break
	}
}

func TestEstimate(t *testing.T) {
	var e estimate
	e.add(1000, 5100, 5150, 1250) // 100 ns there, 50 to answer, 100 back
	if want := (Offset{NS: 4000, RTT: 200}); e.last[0] != want {
		t.Errorf("%+v, want %+v", e.last[0], want)
	}
}
