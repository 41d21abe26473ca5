// Command kvtransfer measures how fast keys and values move from a prefill to a decode
// worker over loopback, as a part of what a plain TCP copy of as many bytes reaches.
// Both run by turns in one process; the memory is that of KV caches.
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/engine/kvtransfer"
)

var (
	layers = flag.Int("layers", 8, "layers")
	heads  = flag.Int("heads", 8, "KV heads")
	page   = flag.Int("page", 64*64*4, "bytes of the keys of one head in a block")
	blocks = flag.Int("blocks", 32, "blocks of the prompt, of 64 tokens")
	rounds = flag.Int("rounds", 40, "transfers of each kind")
	goal   = flag.Float64("goal", 0.5, "part of the plain copy's speed")
)

func main() {
	flag.Parse()
	ratio, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kvtransfer:", err)
		os.Exit(2)
	}
	if ratio < *goal {
		fmt.Printf("below the goal of %.2f\n", *goal)
		os.Exit(1)
	}
}

// memory is the KV cache of one rank.
type memory struct{ k, v []byte }

func newMemory() *memory {
	n := *layers * *heads * *blocks * *page
	m := &memory{make([]byte, n), make([]byte, n)}
	for i := range m.k { // pages that were never written are all the same page
		m.k[i], m.v[i] = byte(i*7), byte(i*13)
	}
	return m
}

func (m *memory) pages(layer, head int, block int32, n int) ([]byte, []byte) {
	at := ((layer**heads+head)**blocks + int(block)) * *page
	return m.k[at : at+n**page], m.v[at : at+n**page]
}

func (m *memory) worker() kvtransfer.Worker {
	return kvtransfer.Worker{
		Layout: kvtransfer.Layout{Model: "bench", Layers: *layers, Heads: *heads, Page: *page, DP: 1, Ranks: []kvtransfer.Place{
			{Layers: kvtransfer.Span{Hi: *layers}, Heads: kvtransfer.Span{Hi: *heads}},
		}},
		Ranks: [][]kvtransfer.Rank{{{Pages: m.pages}}},
	}
}

func run() (float64, error) {
	from, to := newMemory(), newMemory()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer ln.Close()
	src, err := kvtransfer.NewSource(from.worker(), kvtransfer.Options{})
	if err != nil {
		return 0, err
	}
	defer src.Close()
	go src.Serve(ln)
	snk, err := kvtransfer.NewSink(to.worker(), kvtransfer.Options{})
	if err != nil {
		return 0, err
	}
	defer snk.Close()
	plain, err := newCopier(from, to)
	if err != nil {
		return 0, err
	}
	defer plain.close()

	bytes := float64(len(from.k) + len(from.v))
	var ratios, speeds, copies []float64
	for i := range *rounds + 3 {
		moved, err := transfer(src, snk, ln.Addr().String(), uint64(i))
		if err != nil {
			return 0, err
		}
		copied, err := plain.copy()
		if err != nil {
			return 0, err
		}
		if i >= 3 { // caches and buffers are warm
			ratios = append(ratios, copied.Seconds()/moved.Seconds())
			speeds = append(speeds, bytes/1e9/moved.Seconds())
			copies = append(copies, bytes/1e9/copied.Seconds())
		}
	}
	ratio := median(ratios)
	fmt.Printf("%.0f MB a transfer: %.2f GB/s, a plain TCP copy %.2f GB/s (medians of %d); ratio %.2f, quartiles %.2f to %.2f\n",
		bytes/1e6, median(speeds), median(copies), *rounds, ratio, ratios[len(ratios)/4], ratios[3*len(ratios)/4])
	return ratio, nil
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// transfer moves everything once, layer by layer, from when the decode worker's
// memory is known until the prefill worker has the acknowledgement.
func transfer(src *kvtransfer.Source, snk *kvtransfer.Sink, addr string, room uint64) (time.Duration, error) {
	ids := make([]int32, *blocks)
	for i := range ids {
		ids[i] = int32(i)
	}
	opened, ended := make(chan struct{}), make(chan error, 2)
	out := src.Expect(0, room, "", *blocks, kvtransfer.Events{Opened: func() { close(opened) }, Ended: func(err error) { ended <- err }})
	snk.Receive(0, addr, room, "", ids, func(_ []byte, err error) { ended <- err })
	select {
	case <-opened:
	case err := <-ended:
		return 0, err
	}
	start := time.Now()
	for l := range *layers {
		out.Send(0, l, ids, 0)
	}
	out.Finish(nil)
	err := <-ended
	if err == nil {
		err = <-ended
	}
	return time.Since(start), err
}

// copier is a plain TCP connection that carries the same memory.
type copier struct {
	in, out  net.Conn
	from, to *memory
}

func newCopier(from, to *memory) (*copier, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer ln.Close()
	out, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		return nil, err
	}
	in, err := ln.Accept()
	if err != nil {
		out.Close()
		return nil, err
	}
	return &copier{in, out, from, to}, nil
}

func (c *copier) close() { c.in.Close(); c.out.Close() }

// copy sends everything in large pieces and waits for a byte of thanks.
func (c *copier) copy() (time.Duration, error) {
	start := time.Now()
	failed := make(chan error, 1)
	go func() {
		for _, m := range [][]byte{c.from.k, c.from.v} {
			for len(m) > 0 {
				n := min(len(m), 1<<20)
				if _, err := c.out.Write(m[:n]); err != nil {
					failed <- err
					return
				}
				m = m[n:]
			}
		}
		failed <- nil
	}()
	for _, m := range [][]byte{c.to.k, c.to.v} {
		for len(m) > 0 {
			n := min(len(m), 1<<20)
			if _, err := io.ReadFull(c.in, m[:n]); err != nil {
				return 0, err
			}
			m = m[n:]
		}
	}
	if _, err := c.in.Write([]byte{1}); err != nil {
		return 0, err
	}
	if _, err := io.ReadFull(c.out, make([]byte, 1)); err != nil {
		return 0, err
	}
	return time.Since(start), <-failed
}
