package kvtransfer

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// TestLayouts moves prompts between workers with equal and with different layouts.
func TestLayouts(t *testing.T) {
	for _, c := range []struct {
		name     string
		from, to *store
	}{
		{"one rank each", newStore(1, 1, 1, 1), newStore(1, 1, 1, 2)},
		{"TP2 each", newStore(1, 1, 2, 1), newStore(1, 1, 2, 2)},
		{"TP2 to one", newStore(1, 1, 2, 1), newStore(1, 1, 1, 2)},
		{"one to TP4", newStore(1, 1, 1, 1), newStore(1, 1, 4, 2)},
		{"TP8 to TP2, heads replicated", newStore(1, 1, 8, 1), newStore(1, 1, 2, 2)},
		{"TP2 to TP8, heads replicated", newStore(1, 1, 2, 1), newStore(1, 1, 8, 2)},
		{"PP2 to TP2", newStore(1, 2, 1, 1), newStore(1, 1, 2, 2)},
		{"PP2 TP2 to PP4", newStore(1, 2, 2, 1), newStore(1, 4, 1, 2)},
		{"DP3 to one", newStore(3, 1, 1, 1), newStore(1, 1, 1, 2)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, c.from, c.to, Options{Key: "secret"}, nil)
			for room := range uint64(6) {
				s.whole(room, 1+int(room)*3)
			}
		})
	}
}

// TestManyRooms moves rooms side by side over the same links; either side may give up some of them at any time. Each
// ends exactly once on both sides, and the memory of a finished room is not touched any more.
func TestManyRooms(t *testing.T) {
	s := newSite(t, newStore(1, 1, 2, 1), newStore(1, 2, 1, 2), Options{}, nil)
	var wg sync.WaitGroup
	for room := range uint64(60) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(room, 9))
			n := 1 + rng.IntN(12)
			b := s.room(room, n)
			quit := rng.IntN(4)
			if quit == 0 {
				time.AfterFunc(time.Duration(rng.IntN(3000))*time.Microsecond, func() { b.out.Abort(errors.New("given up")) })
			}
			if quit == 1 {
				time.AfterFunc(time.Duration(rng.IntN(3000))*time.Microsecond, func() { b.in.Abort(errors.New("given up")) })
			}
			select {
			case <-b.opened:
				s.send(b, 0, 0, n)
				b.out.Finish(nil)
			case err := <-b.sent:
				b.sent <- err
			}
			sent, got := wait(t, "source", b.sent), wait(t, "sink", b.got)
			if quit > 1 && (sent != nil || got != nil) {
				t.Errorf("room %d: %v, %v", room, sent, got)
			}
		})
	}
	wg.Wait()
	s.src.mu.Lock()
	defer s.src.mu.Unlock()
	for key, m := range s.src.meetings {
		if m.refused == nil { // state kept for the other side after an early abandonment
			t.Errorf("room %d is left", key.room)
		}
	}
	s.snk.mu.Lock()
	defer s.snk.mu.Unlock()
	if n := len(s.snk.rooms); n != 0 {
		t.Errorf("the sink has %d rooms left", n)
	}
}
