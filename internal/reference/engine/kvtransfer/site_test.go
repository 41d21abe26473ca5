package kvtransfer

import (
	"bytes"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	testLayers = 4
	testHeads  = 4
	testPage   = 96
	testBlocks = 40 // in memory
)

// store is the memory of a worker: by data-parallel rank, then rank.
type store struct {
	w   Worker
	mem [][]map[[2]int][]byte // (layer, head): keys of all blocks, then values
}

// newStore divides layers and heads into the given numbers of parts; the ranks are all their pairs.
func newStore(dp, layerParts, headParts int, seed uint64) *store {
	rng := rand.New(rand.NewPCG(seed, 1))
	s := &store{}
	l := &s.w.Layout
	*l = Layout{Model: "toy", Layers: testLayers, Heads: testHeads, Page: testPage, DP: dp}
	for p := range layerParts {
		for t := range headParts {
			heads := Span{testHeads * t / headParts, testHeads * (t + 1) / headParts}
			if headParts > testHeads { // replicated
				h := t * testHeads / headParts
				heads = Span{h, h + 1}
			}
			l.Ranks = append(l.Ranks, Place{Span{testLayers * p / layerParts, testLayers * (p + 1) / layerParts}, heads})
		}
	}
	for range dp {
		var ranks []Rank
		var mems []map[[2]int][]byte
		for _, place := range l.Ranks {
			m := map[[2]int][]byte{}
			for a := place.Layers.Lo; a < place.Layers.Hi; a++ {
				for h := place.Heads.Lo; h < place.Heads.Hi; h++ {
					b := make([]byte, 2*testBlocks*testPage)
					for i := range b {
						b[i] = byte(rng.Uint32())
					}
					m[[2]int{a, h}] = b
				}
			}
			mems = append(mems, m)
			ranks = append(ranks, Rank{Pages: func(layer, head int, block int32, n int) ([]byte, []byte) {
				b := m[[2]int{layer, head}]
				at := int(block) * testPage
				return b[at : at+n*testPage], b[testBlocks*testPage+at:][:n*testPage]
			}})
		}
		s.w.Ranks, s.mem = append(s.w.Ranks, ranks), append(s.mem, mems)
	}
	return s
}

// at returns the keys and values of a block, from the first rank that has them.
func (s *store) at(dp, layer, head int, block int32) []byte {
	for r, p := range s.w.Layout.Ranks {
		if p.Layers.has(Span{layer, layer + 1}) && p.Heads.has(Span{head, head + 1}) {
			k, v := s.w.Ranks[dp][r].Pages(layer, head, block, 1)
			return append(bytes.Clone(k), v...)
		}
	}
	panic("nobody has it")
}

// site is both sides, with a wire between them that a test may tamper with.
type site struct {
	t        *testing.T
	from, to *store
	src      *Source
	snk      *Sink
	addr     string
	moved    atomic.Int64
}

func newSite(t *testing.T, from, to *store, opt Options, wire func(addr string) string) *site {
	t.Helper()
	s := &site{t: t, from: from, to: to}
	if opt.Silence == 0 {
		opt.Silence = 5 * time.Second
	}
	opt.Log = func(line string) { t.Log(line) }
	opt.Moved = func(n int64, _ time.Duration) { s.moved.Add(n) }
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if s.src, err = NewSource(from.w, opt); err != nil {
		t.Fatal(err)
	}
	if s.snk, err = NewSink(to.w, opt); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.src.Serve(ln) })
	t.Cleanup(func() {
		s.snk.Close()
		ln.Close()
		s.src.Close()
		wg.Wait()
	})
	s.addr = ln.Addr().String()
	if wire != nil {
		s.addr = wire(s.addr)
	}
	return s
}

// both is a room with its two ends.
type both struct {
	out       *Outgoing
	in        *Incoming
	opened    chan struct{}
	sent, got chan error
	last      []byte
}

// fromBlocks and toBlocks are the positions of a prompt of n blocks on each side.
func fromBlocks(n int) (out []int32) {
	for i := range n {
		out = append(out, int32((i*3+1)%testBlocks)) // scattered
	}
	return out
}

func toBlocks(n int) (out []int32) {
	for i := range n {
		out = append(out, int32(2+i))
	}
	return out
}

func (s *site) expect(room uint64, n int) *both {
	b := &both{opened: make(chan struct{}), sent: make(chan error, 2), got: make(chan error, 2)}
	b.out = s.src.Expect(int(room)%s.from.w.Layout.DP, room, "rid", n, Events{Opened: func() { close(b.opened) }, Ended: func(err error) { b.sent <- err }})
	return b
}

func (s *site) receive(b *both, room uint64, n int) {
	b.in = s.snk.Receive(0, s.addr, room, "rid", toBlocks(n), func(last []byte, err error) { b.last = last; b.got <- err })
}

func (s *site) room(room uint64, n int) *both {
	b := s.expect(room, n)
	s.receive(b, room, n)
	return b
}

// send moves the first blocks of all layers from one position on, as ranks do.
func (s *site) send(b *both, dp, first, n int) {
	for r, p := range s.from.w.Layout.Ranks {
		for l := p.Layers.Lo; l < p.Layers.Hi; l++ {
			b.out.Send(r, l, fromBlocks(first + n)[first:], first)
		}
	}
}

func wait(t *testing.T, what string, c <-chan error) error {
	t.Helper()
	select {
	case err := <-c:
		return err
	case <-time.After(20 * time.Second):
		t.Fatalf("%s did not end", what)
		return nil
	}
}

func (b *both) open(t *testing.T) {
	t.Helper()
	select {
	case <-b.opened:
	case err := <-b.got:
		t.Fatalf("not opened: %v", err)
	case <-time.After(20 * time.Second):
		t.Fatal("not opened")
	}
}

// ends waits for both ends and checks that they end alike: with an error that contains this text, or with none for "".
func (b *both) ends(t *testing.T, sent, got string) {
	t.Helper()
	for _, c := range []struct {
		what, want string
		c          chan error
	}{{"the source's end", sent, b.sent}, {"the sink's end", got, b.got}} {
		err := wait(t, c.what, c.c)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
		select {
		case err := <-c.c:
			t.Errorf("%s ended twice: %v", c.what, err)
		default:
		}
	}
}

// whole moves one room and compares all bytes.
func (s *site) whole(room uint64, n int) {
	s.t.Helper()
	dp := int(room) % s.from.w.Layout.DP
	b := s.room(room, n)
	b.open(s.t)
	s.send(b, dp, 0, n/2) // a chunk of the prompt
	s.send(b, dp, n/2, n-n/2)
	b.out.Finish([]byte("first token"))
	b.ends(s.t, "", "")
	if string(b.last) != "first token" {
		s.t.Errorf("last %q", b.last)
	}
	for l := range testLayers {
		for h := range testHeads {
			for i := range n {
				for r, p := range s.to.w.Layout.Ranks {
					if !p.Layers.has(Span{l, l + 1}) || !p.Heads.has(Span{h, h + 1}) {
						continue
					}
					k, v := s.to.w.Ranks[0][r].Pages(l, h, toBlocks(n)[i], 1)
					if !bytes.Equal(append(bytes.Clone(k), v...), s.from.at(dp, l, h, fromBlocks(n)[i])) {
						s.t.Fatalf("layer %d, head %d, block %d of rank %d differs", l, h, i, r)
					}
				}
			}
		}
	}
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for range 2000 {
		if ok() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("does not come true")
}
