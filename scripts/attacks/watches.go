package main

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// load sends requests until stop is called. Errors of requests are ignored, because the server may be restarting.
func load(url string, clients int, pause time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for ctx.Err() == nil {
				limited, done := context.WithTimeout(ctx, 20*time.Second)
				_, _, err := post(limited, url+"/generate", `{"text":"a b c","sampling_params":{"max_new_tokens":48,"ignore_eos":true}}`)
				done()
				if err != nil {
					time.Sleep(50 * time.Millisecond)
				}
				time.Sleep(pause)
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

// stored returns the size of the traces of all runs below root.
func stored(root string) (bytes int64) {
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.Contains(path, string(filepath.Separator)+"traces"+string(filepath.Separator)) {
			if info, err := d.Info(); err == nil {
				bytes += info.Size()
			}
		}
		return nil
	})
	return bytes
}

// watching are the arguments of a watch whose rule always holds.
func watching(url, root, disk string) []string {
	return []string{"watch", "--url", url, "--for", "12s", "--itl", "1us", "--hold", "1s", "--cooldown", "2s", "--num-steps", "5", "--timeout", "8s", "--max-disk", disk, "--run-dir", root}
}

// watches runs two watches on one server at the same time. Then it restarts the server during captures. Captures stay
// within --max-disk, and each watch ends.
func watches(a *attack) error {
	for _, c := range []struct {
		what    string
		disk    [2]string
		most    [2]int64
		restart bool
	}{
		{"two watches", [2]string{"1GB", "40kB"}, [2]int64{1e9, 40e3}, false},
		{"a restart", [2]string{"1GB", "200kB"}, [2]int64{1e9, 200e3}, true},
	} {
		if *short && c.restart {
			continue
		}
		if err := a.watchTwice(c.what, c.disk, c.most, c.restart); err != nil {
			return err
		}
	}
	return nil
}

func (a *attack) watchTwice(what string, disk [2]string, most [2]int64, restart bool) error {
	dir, done, err := a.temp()
	if err != nil {
		return err
	}
	defer done()
	port := strconv.Itoa(freePort())
	args := []string{"serve", "--model-path", "builtin:llama-tiny", "--port", port, "--max-total-tokens", "8192", "--enable-metrics"}
	s, err := serving(dir, args...)
	if err != nil {
		return err
	}
	defer func() { s.stop(a) }()
	defer load(s.url, 4, 0)()
	var all sync.WaitGroup
	roots := [2]string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	for i := range disk {
		all.Go(func() {
			a.try()
			r, err := run(50*time.Second, dir, watching(s.url, roots[i], disk[i])...)
			switch {
			case err != nil:
				a.fail("%s, --max-disk %s: %v", what, disk[i], err)
			case r.interrupted > 0:
				a.fail("%s, --max-disk %s: --for 12s did not end it", what, disk[i])
			case stored(roots[i]) > most[i]:
				a.fail("%s, --max-disk %s: %d bytes are stored: %s", what, disk[i], stored(roots[i]), tail(r.errs))
			}
		})
	}
	if restart {
		for range 2 {
			time.Sleep(wide(4 * time.Second))
			s.cmd.Process.Signal(syscall.SIGKILL)
			s.cmd.Wait()
			next, err := serving(dir, args...)
			if err != nil {
				all.Wait()
				return err
			}
			s.cmd = next.cmd
		}
	}
	all.Wait()
	if !restart && !*short && stored(roots[0]) == 0 && stored(roots[1]) == 0 { // the short form may end before a rule fires
		a.fail("%s: nothing was captured", what)
	}
	return nil
}

// proxy passes connections to a server and breaks some of them.
type proxy struct {
	url  string
	ln   net.Listener
	mu   sync.Mutex
	mode string // "": pass
}

func (p *proxy) set(mode string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = mode
}

// newProxy listens in front of an address.
func newProxy(to string) (*proxy, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{url: "http://" + ln.Addr().String(), ln: ln}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			mode := p.mode
			p.mu.Unlock()
			go p.pass(c, to, mode)
		}
	}()
	return p, nil
}

// pass copies a connection in both directions.
func (p *proxy) pass(c net.Conn, to, mode string) {
	defer c.Close()
	if mode == "refuse" {
		c.(*net.TCPConn).SetLinger(0)
		return
	}
	up, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer up.Close()
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := c.Read(buf)
			if err != nil || n > 0 && write(up, buf[:n]) != nil {
				up.Close()
				return
			}
		}
	}()
	buf := make([]byte, 200)
	for sent := 0; ; {
		n, err := up.Read(buf)
		if err != nil {
			return
		}
		switch mode {
		case "cut":
			n = min(n, 300-sent)
		case "garbage":
			copy(buf[n/2:n], noise(n-n/2))
		case "slow":
			time.Sleep(20 * time.Millisecond)
		case "stall":
			time.Sleep(2 * time.Second)
		}
		if n <= 0 || write(c, buf[:n]) != nil {
			return
		}
		sent += n
	}
}

func write(c net.Conn, b []byte) error {
	c.SetWriteDeadline(time.Now().Add(5 * time.Second))
	_, err := c.Write(b)
	return err
}

// faults breaks the connections between a router and its prefill and decode servers, and sends random bytes to the ports
// of the key-value transfer, while requests are running. Each request ends, and afterwards the servers work.
func faults(a *attack) error {
	dir, done, err := a.temp()
	if err != nil {
		return err
	}
	defer done()
	boot := strconv.Itoa(freePort())
	base := []string{"serve", "--model-path", "builtin:llama-tiny", "--port", "0", "--max-total-tokens", "4096", "--disaggregation-bootstrap-port", boot, "--disaggregation-mode"}
	var proxies []*proxy
	var ports []int
	for _, mode := range []string{"prefill", "decode"} {
		s, err := serving(dir, append(base, mode)...)
		if err != nil {
			return err
		}
		defer s.stop(a)
		p, err := newProxy(strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			return err
		}
		defer p.ln.Close()
		proxies = append(proxies, p)
		ports = append(ports, portsOf(s.cmd.Process.Pid)...)
	}
	router, err := serving(dir, "route", "--pd-disaggregation", "--prefill", proxies[0].url, boot, "--decode", proxies[1].url, "--port", "0")
	if err != nil {
		return err
	}
	defer router.stop(a)
	works := func(after string) {
		for until := time.Now().Add(wide(40 * time.Second)); ; time.Sleep(500 * time.Millisecond) {
			err := router.answers()
			if err == nil {
				return
			}
			if time.Now().After(until) {
				a.fail("after %s it %v", after, err)
				return
			}
		}
	}
	works("the start")
	rng := draw(12)
	for _, mode := range []string{"cut", "refuse", "garbage", "slow", "stall"} {
		proxies[rng.IntN(2)].set(mode)
		var all sync.WaitGroup
		for range some(30) {
			all.Go(func() {
				a.try()
				ctx, cancel := context.WithTimeout(context.Background(), wide(90*time.Second))
				defer cancel()
				if _, _, err := post(ctx, router.url+"/generate", `{"text":"a b c","sampling_params":{"max_new_tokens":8}}`); ctx.Err() != nil {
					a.fail("connections: %s: a request did not end: %v", mode, err)
				}
			})
		}
		for range 10 {
			if c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", ports[rng.IntN(len(ports))]), time.Second); err == nil {
				write(c, noise(1+rng.IntN(4096)))
				c.Close()
			}
		}
		all.Wait()
		for _, p := range proxies {
			p.set("")
		}
		works(mode)
	}
	return nil
}

// nodes sends random bytes to all ports of a server with two nodes. Then it kills one node: the other one ends.
func nodes(a *attack) error {
	dir, done, err := a.temp()
	if err != nil {
		return err
	}
	defer done()
	args := []string{"serve", "--model-path", "builtin:llama-tiny", "--port", "0", "--max-total-tokens", "4096", "--tp-size", "2", "--nnodes", "2",
		"--dist-init-addr", fmt.Sprintf("127.0.0.1:%d", freePort()), "--node-rank"}
	other := &server{cmd: command(dir, append(args, "1")...)}
	other.cmd.Stdout, other.cmd.Stderr = other, other
	if err := other.cmd.Start(); err != nil {
		return err
	}
	first, err := serving(dir, append(args, "0")...)
	if err != nil {
		other.cmd.Process.Kill()
		other.cmd.Wait()
		return err
	}
	ports := append(portsOf(first.cmd.Process.Pid), portsOf(other.cmd.Process.Pid)...)
	rng := draw(13)
	for range some(100) {
		a.try()
		if c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", ports[rng.IntN(len(ports))]), 5*time.Second); err == nil {
			write(c, noise(1+rng.IntN(1<<14)))
			c.Close()
		}
	}
	a.try()
	if err := first.answers(); err != nil {
		a.fail("after random bytes node 0 %v", err)
	}
	a.try()
	stop := load(first.url, 2, 0)
	other.cmd.Process.Signal(syscall.SIGKILL)
	other.cmd.Wait()
	ended := make(chan struct{})
	go func() { first.cmd.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(wide(60 * time.Second)):
		a.fail("node 0 does not end after the loss of node 1")
		first.cmd.Process.Kill()
		<-ended
	}
	stop()
	for _, word := range []string{"panic", "goroutine ", "DATA RACE"} {
		if strings.Contains(first.text(), word) {
			a.fail("the log of node 0 has %q: %s", word, tail([]byte(first.text())))
		}
	}
	return nil
}
