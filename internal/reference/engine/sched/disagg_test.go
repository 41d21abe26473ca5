package sched

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine/kvcache"
)

// Keep makes the fake a Keeper; it overwrites the original of the kept content.
func (f *fake) Keep(blocks []int32) func([]int32) {
	var kept [][kvcache.BlockSize]int32
	for _, b := range blocks {
		kept = append(kept, f.kv[b])
		f.spoil(b)
	}
	return func(blocks []int32) {
		for i, b := range blocks {
			f.kv[b] = kept[i]
		}
	}
}

// link connects one request of one fake to another: a Sender and a Receiver. It moves the blocks some time after
// everything is computed, and may fail at any point.
type link struct {
	from, to   *fake
	a, b       *Scheduler
	fail       int // 0: never; 1: before, 2: during, 3: after the transfer of blocks
	delay      func()
	mu         sync.Mutex
	got        []int32 // the receiver's
	opened     func()
	sent       func(error)
	received   func(api.Event, error)
	first      *api.Event
	blocks     []int32 // the sender's, in order
	over       bool
	expectOver bool
}

var errLink = errors.New("the link broke")

// step handles everything that is due. Callers hold mu.
func (l *link) step() {
	if l.opened != nil && l.got != nil && !l.expectOver {
		l.expectOver = true
		if l.fail == 1 {
			l.end(fmt.Errorf("%w: %w", ErrBootstrap, errLink))
			return
		}
		go l.opened()
	}
	if l.first == nil || l.over {
		return
	}
	if l.fail == 2 {
		l.end(errLink)
		return
	}
	first := *l.first
	go func() {
		l.delay()
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.over {
			return
		}
		if l.fail == 3 {
			l.end(errLink)
			return
		}
		l.over = true
		for i, b := range l.blocks { // both sides hold their blocks until they are notified
			l.to.kv[l.got[i]] = l.from.kv[b]
		}
		l.received(first, nil)
		l.sent(nil)
	}()
}

// end notifies the sides that have arrived. Callers hold mu.
func (l *link) end(err error) {
	l.over = true
	sent, received := l.sent, l.received
	l.sent, l.received = nil, nil
	go func() {
		l.delay()
		if sent != nil {
			sent(err)
		}
		if received != nil {
			received(api.Event{}, err)
		}
	}()
}

type senderEnd struct{ *link }

func (l senderEnd) Expect(opened func(), ended func(error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opened, l.sent = opened, ended
	if l.over {
		l.end(errLink)
		return
	}
	l.step()
}

func (l senderEnd) Finish(first api.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.first = &first
	l.step()
}

func (l senderEnd) Abort(reason error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.end(reason)
	}
}

type receiverEnd struct{ *link }

func (l receiverEnd) Receive(blocks []int32, ended func(api.Event, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got, l.received = blocks, ended
	if l.over {
		l.end(errLink)
		return
	}
	l.step()
}

func (l receiverEnd) Abort(reason error) { senderEnd(l).Abort(reason) }

// TestTwoServers submits random requests to a prefill and a decode scheduler, fails some and aborts some, and compares
// every request with its result alone. Caches are so small that sequences are evicted and retracted.
func TestTwoServers(t *testing.T) {
	retracted := int64(0)
	rounds := 40
	if testing.Short() {
		rounds = 10
	}
	for seed := range uint64(rounds) {
		rng := rand.New(rand.NewPCG(seed, 5))
		pre := Options{
			DisableRadix: rng.IntN(3) == 0, ChunkedPrefill: []int{0, 30, 64, 100, 2048}[rng.IntN(5)], MaxRunning: 1 + rng.IntN(20),
		}
		dec := Options{DisableRadix: true, MaxRunning: 1 + rng.IntN(20), Conservativeness: []float64{1, 0.01}[rng.IntN(2)]}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			from, to := newFake(t, 8+rng.IntN(12)), newFake(t, 8+rng.IntN(12))
			from.hold = func(s Step) { // as a real model reports to its senders
				for _, send := range s.Sends() {
					l := send.To.(senderEnd)
					l.mu.Lock()
					if send.First != len(l.blocks) {
						t.Errorf("blocks from %d on after %d", send.First, len(l.blocks))
					}
					l.blocks = append(l.blocks, send.Blocks...)
					l.mu.Unlock()
				}
			}
			a, b := start(t, from, pre), start(t, to, dec)
			t.Cleanup(func() { // before they stop: requests that left early are still in transit
				for _, s := range []*Scheduler{a, b} {
					for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
						if st := s.Stats(); st.UsedTokens+st.Bootstrap+st.Inflight+st.Prealloc+st.Transfer+st.SetAside == 0 && s.Idle(t.Context()) == nil {
							break
						}
						if time.Now().After(end) {
							t.Errorf("never idle: %+v", s.Stats())
							return
						}
					}
				}
			})
			var wg sync.WaitGroup
			for range 40 {
				r := randomRequest(rng, min(a.Capacity(), b.Capacity()))
				pause := time.Duration(rng.IntN(300)) * time.Microsecond
				k := &link{from: from, to: to, a: a, b: b, delay: func() { time.Sleep(pause) }}
				if rng.IntN(6) == 0 {
					k.fail = 1 + rng.IntN(3)
				}
				la, ha := submitHalf(t, a, Request{Request: r, Send: senderEnd{k}})
				lb, hb := submitHalf(t, b, Request{Request: r, Recv: receiverEnd{k}})
				leaves := rng.IntN(8) == 0
				if leaves {
					h := []*Handle{ha, hb}[rng.IntN(2)]
					time.AfterFunc(time.Duration(rng.IntN(2000))*time.Microsecond, func() { h.Abort(api.Finish{Type: api.FinishAbort}) })
				}
				wg.Go(func() {
					tokens, last := lb.wait()
					early, lastA := la.wait()
					if last.Finish.Type == api.FinishAbort {
						if !leaves && k.fail == 0 {
							t.Errorf("aborted: %+v; %+v", last.Finish, lastA.Finish)
						}
						return
					}
					if err := judge(&r, lb.events, tokens, last, false); err != nil {
						t.Error(err)
					}
					if lastA.Finish.Type != api.FinishAbort && !slices.Equal(early, tokens[:min(1, len(tokens))]) {
						t.Errorf("the prefill side says %v, the decode side %v", early, tokens)
					}
				})
				if rng.IntN(3) == 0 {
					time.Sleep(time.Duration(rng.IntN(500)) * time.Microsecond)
				}
			}
			wg.Wait()
			retracted += b.Stats().RetractedRequests
			for _, name := range to.steps {
				if name[:len("step[D")] != "step[D" {
					t.Errorf("the decode side did %s", name)
				}
			}
			for _, name := range from.steps {
				if name[:len("step[E")] != "step[E" {
					t.Errorf("the prefill side did %s", name)
				}
			}
		})
	}
	if retracted == 0 {
		t.Error("nothing was retracted")
	}
}
