package comm_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/stepscope/stepscope/internal/reference/engine/device/comm"
)

// pipes stands in for the connections between the processes of one group: frames of each pair arrive in order, and
// memory is not shared.
type pipes struct {
	wg    sync.WaitGroup
	boxes [][]chan []byte // [to][from]
	heard []chan func(int, []byte)
}

func newPipes(t *testing.T, n int) *pipes {
	p := &pipes{}
	over := make(chan struct{})
	for to := range n {
		p.heard = append(p.heard, make(chan func(int, []byte), n))
		p.boxes = append(p.boxes, nil)
		for from := range n {
			box := make(chan []byte, 1<<16)
			p.boxes[to] = append(p.boxes[to], box)
			heard := p.heard[to]
			p.wg.Go(func() {
				f := <-heard
				for {
					select {
					case frame := <-box:
						f(from, frame)
					case <-over:
						return
					}
				}
			})
		}
	}
	t.Cleanup(func() {
		close(over)
		p.wg.Wait()
	})
	return p
}

// end is one process's end of the pipes.
type end struct {
	p    *pipes
	here int
}

func (e end) Send(to int, parts ...[]byte) error {
	n := 0
	for _, part := range parts {
		n += len(part)
	}
	words := make([]uint64, n/8+1) // so that a frame starts at a multiple of 8
	frame := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 8*len(words))[:0]
	for _, part := range parts {
		frame = append(frame, part...)
	}
	e.p.boxes[to][e.here] <- frame
	return nil
}

func (e end) Receive(frame func(int, []byte), _ func(error)) {
	for range cap(e.p.heard[e.here]) {
		e.p.heard[e.here] <- frame
	}
}

// Free overwrites the frame, so that a reader that still needs it fails.
func (e end) Free(frame []byte) {
	for i := range frame {
		frame[i] = 0xee
	}
}

// TestFar spreads the members of a group over processes in several ways.
func TestFar(t *testing.T) {
	for name, process := range map[string]func(member, n int) int{
		"each alone":      func(member, n int) int { return member },
		"halves":          func(member, n int) int { return 2 * member / n },
		"in turn":         func(member, n int) int { return member % 3 },
		"process 1 alone": func(member, n int) int { return 1 },
	} {
		for how, opt := range map[string]comm.Options{"spinning": {}, "sleeping": {Spin: -1}} {
			t.Run(name+"/"+how, func(t *testing.T) {
				suite(t, func(t *testing.T, ranks []int) []*comm.Comm {
					at := make([]int, len(ranks))
					for i := range at {
						at[i] = process(i, len(at))
					}
					p := newPipes(t, slices.Max(at)+1)
					out := make([]*comm.Comm, len(ranks))
					for here := range slices.Max(at) + 1 {
						opt.Far = &comm.Far{Here: here, At: at, Line: end{p, here}}
						for i, c := range comm.NewGroup("0", "test", ranks, opt) {
							if (c != nil) != (at[i] == here) {
								t.Fatalf("process %d has member %d of process %d", here, i, at[i])
							}
							if c != nil {
								out[i] = c
							}
						}
					}
					return out
				})
			})
		}
	}
}

// FuzzFrame checks that outside input can end the group but do nothing else.
func FuzzFrame(f *testing.F) {
	f.Add([]byte{1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128, 63, 0, 0, 0, 0})
	f.Add([]byte{2, 0, 1, 0, 0, 0, 0, 0, 7, 7, 7, 7})
	f.Add([]byte{3, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{5, 0, 1, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, frame []byte) {
		l := &lone{}
		g := comm.NewGroup("0", "fuzz", []int{0, 1}, comm.Options{Far: &comm.Far{At: []int{0, 1}, Line: l}})
		l.frame(1, frame)
		l.lost(fmt.Errorf("lost"))
		if err := g[0].AllReduce(t.Context(), make([]float32, 1)); err == nil {
			t.Error("a group continues without its peer")
		}
		g[0].Close()
	})
}

// lone is a line whose other end is the test.
type lone struct {
	frame func(int, []byte)
	lost  func(error)
}

func (l *lone) Send(int, ...[]byte) error { return nil }
func (l *lone) Receive(frame func(int, []byte), lost func(error)) {
	l.frame, l.lost = frame, lost
}
func (l *lone) Free([]byte) {}
