package kvtransfer

import (
	"flag"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/reference/engine/device/comm"
	"github.com/stepscope/stepscope/internal/reference/engine/tensor"
)

var (
	benchLayers = flag.Int("layers", 8, "BenchmarkTransfer: layers")
	benchHeads  = flag.Int("heads", 8, "BenchmarkTransfer: KV heads")
	benchPage   = flag.Int("page", 64*64*4, "BenchmarkTransfer: bytes of the keys of one head in a block")
	benchBlocks = flag.Int("blocks", 32, "BenchmarkTransfer: blocks of the prompt, of 64 tokens")
	benchGoal   = flag.Float64("goal", 0.8, "BenchmarkTransfer: part of the plain copy's speed")
)

// BenchmarkTransfer moves keys and values from a prefill to a decode worker over loopback, alternating with a plain TCP
// copy of the same number of bytes. Both run in one process; the memory has the layout of the model's KV caches. It
// fails below the goal.
func BenchmarkTransfer(b *testing.B) {
	from, to := newBenchMemory(), newBenchMemory()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	benchCheck(b, err)
	defer ln.Close()
	src, err := NewSource(from.worker(), Options{})
	benchCheck(b, err)
	defer src.Close()
	go src.Serve(ln)
	snk, err := NewSink(to.worker(), Options{})
	benchCheck(b, err)
	defer snk.Close()
	out, in := benchPipe(b)

	bytes := float64(len(from.k) + len(from.v))
	var ratios, moved, copied []float64
	for i := 0; b.Loop(); i++ {
		m, c := benchMove(b, src, snk, ln.Addr().String(), uint64(i)), benchCopy(b, out, in, from, to)
		if i >= 3 { // caches and buffers are warm
			ratios, moved, copied = append(ratios, c/m), append(moved, bytes/m/1e9), append(copied, bytes/c/1e9)
		}
	}
	if len(ratios) == 0 {
		return
	}
	ratio := metric.Median(ratios)
	b.ReportMetric(bytes/1e6, "MB")
	b.ReportMetric(metric.Median(moved), "GB/s")
	b.ReportMetric(metric.Median(copied), "plain-GB/s")
	b.ReportMetric(ratio, "ratio")
	if len(ratios) > 10 && ratio < *benchGoal {
		b.Errorf("ratio %.2f is below the goal of %.2f", ratio, *benchGoal)
	}
}

func benchCheck(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// benchMemory is the KV cache of one rank.
type benchMemory struct{ k, v []byte }

func newBenchMemory() *benchMemory {
	n := *benchLayers * *benchHeads * *benchBlocks * *benchPage
	m := &benchMemory{comm.Bytes(tensor.Zeros(n / 4)), comm.Bytes(tensor.Zeros(n / 4))}
	for i := range m.k { // pages that were never written all map to one page
		m.k[i], m.v[i] = byte(i*7), byte(i*13)
	}
	return m
}

func (m *benchMemory) pages(layer, head int, block int32, n int) ([]byte, []byte) {
	at := ((layer**benchHeads+head)**benchBlocks + int(block)) * *benchPage
	return m.k[at : at+n**benchPage], m.v[at : at+n**benchPage]
}

func (m *benchMemory) worker() Worker {
	return Worker{
		Layout: Layout{Model: "bench", Layers: *benchLayers, Heads: *benchHeads, Page: *benchPage, DP: 1, Ranks: []Place{
			{Layers: Span{Hi: *benchLayers}, Heads: Span{Hi: *benchHeads}},
		}},
		Ranks: [][]Rank{{{Pages: m.pages}}},
	}
}

// benchMove moves everything once, layer by layer. It returns the seconds from when the decode worker's memory is known
// until the prefill worker has the acknowledgement.
func benchMove(b *testing.B, src *Source, snk *Sink, addr string, room uint64) float64 {
	ids := make([]int32, *benchBlocks)
	for i := range ids {
		ids[i] = int32(i)
	}
	opened, ended := make(chan struct{}), make(chan error, 2)
	out := src.Expect(0, room, "", *benchBlocks, Events{Opened: func() { close(opened) }, Ended: func(err error) { ended <- err }})
	snk.Receive(0, addr, room, "", ids, func(_ []byte, err error) { ended <- err })
	select {
	case <-opened:
	case err := <-ended:
		b.Fatal(err)
	}
	start := time.Now()
	for l := range *benchLayers {
		out.Send(0, l, ids, 0)
	}
	out.Finish(nil)
	benchCheck(b, <-ended)
	benchCheck(b, <-ended)
	return time.Since(start).Seconds()
}

func benchPipe(b *testing.B) (out, in net.Conn) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	benchCheck(b, err)
	defer ln.Close()
	out, err = net.Dial("tcp", ln.Addr().String())
	benchCheck(b, err)
	in, err = ln.Accept()
	benchCheck(b, err)
	b.Cleanup(func() { out.Close(); in.Close() })
	return out, in
}

// benchCopy sends everything in large pieces and waits for a one-byte acknowledgement. It returns the seconds.
func benchCopy(b *testing.B, out, in net.Conn, from, to *benchMemory) float64 {
	pieces := func(m *benchMemory, use func([]byte) error) error {
		for _, half := range [][]byte{m.k, m.v} {
			for len(half) > 0 {
				n := min(len(half), 1<<20)
				if err := use(half[:n]); err != nil {
					return err
				}
				half = half[n:]
			}
		}
		return nil
	}
	start := time.Now()
	sent := make(chan error, 1)
	go func() { sent <- pieces(from, func(p []byte) error { _, err := out.Write(p); return err }) }()
	benchCheck(b, pieces(to, func(p []byte) error { _, err := io.ReadFull(in, p); return err }))
	_, err := in.Write([]byte{1})
	benchCheck(b, err)
	_, err = io.ReadFull(out, make([]byte, 1))
	benchCheck(b, err)
	benchCheck(b, <-sent)
	return time.Since(start).Seconds()
}
