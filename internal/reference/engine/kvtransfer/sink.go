package kvtransfer

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/base/loglimit"
)

// Sink is the decode worker's end of all transfers. Its methods are safe for concurrent use.
type Sink struct {
	w   Worker
	opt Options

	logs    loglimit.Lines // limits the log lines that peers can cause
	life    context.Context
	end     context.CancelFunc
	threads sync.WaitGroup

	mu    sync.Mutex
	known map[string]*once[Layout]     // layouts of the sources, by address
	sets  map[setOf]*once[[]*sinkLink] // the links between two data-parallel ranks
	rooms map[*Incoming]bool           // open rooms
	shut  bool
}

type setOf struct {
	addr     string
	dp, from int
}

// once is a value that one goroutine obtains while other goroutines wait for the value.
type once[T any] struct {
	done  chan struct{}
	value T
	err   error
}

// NewSink returns the sink of a worker. The caller must close it.
func NewSink(w Worker, opt Options) (*Sink, error) {
	if err := w.Layout.check(); err != nil {
		return nil, err
	}
	s := &Sink{w: w, opt: opt.withDefaults(), known: map[string]*once[Layout]{}, sets: map[setOf]*once[[]*sinkLink]{}, rooms: map[*Incoming]bool{}}
	s.life, s.end = context.WithCancel(context.Background())
	return s, nil
}

// Close ends all links and rooms.
func (s *Sink) Close() {
	s.mu.Lock()
	s.shut = true
	rooms := slices.Collect(maps.Keys(s.rooms))
	s.mu.Unlock()
	s.end()
	for _, in := range rooms {
		in.fail(nil, errClosed)
	}
	s.threads.Wait()
}

// closeWith closes c when ctx ends, unless stop is called first.
func closeWith(ctx context.Context, c net.Conn) (stop func() bool) {
	return context.AfterFunc(ctx, func() { c.Close() })
}

// get returns the map's value for key. If the value is missing, get builds it. A failed build is removed from the map,
// so that the next caller tries again.
func get[K comparable, T any](s *Sink, in map[K]*once[T], key K, build func() (T, error)) (T, error) {
	s.mu.Lock()
	o := in[key]
	if o == nil {
		o = &once[T]{done: make(chan struct{})}
		in[key] = o
		s.mu.Unlock()
		o.value, o.err = build()
		if o.err != nil {
			s.mu.Lock()
			if in[key] == o {
				delete(in, key)
			}
			s.mu.Unlock()
		}
		close(o.done)
	} else {
		s.mu.Unlock()
		<-o.done // build has its own time limit
	}
	return o.value, o.err
}

// Receive announces a room to a prefill worker and fills blocks of a data-parallel rank. ended is called once, from any
// goroutine, after the last write to the blocks. Its argument is either the argument of the source's Finish or an
// error.
func (s *Sink) Receive(dp int, addr string, room uint64, request string, blocks []int32, ended func(last []byte, err error)) *Incoming {
	in := &Incoming{s: s, dp: dp, room: room, request: request, blocks: blocks, ended: ended}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		go in.fail(nil, errClosed)
		return in
	}
	s.rooms[in] = true
	in.timer = time.AfterFunc(s.opt.Waiting, func() {
		in.fail(nil, fmt.Errorf("KV transfer failed: no complete transfer from %s within %v", addr, s.opt.Waiting))
	})
	s.threads.Go(func() {
		links, err := s.links(addr, dp, room)
		if err != nil {
			in.fail(nil, fmt.Errorf("%w: %w", ErrBootstrap, err))
			return
		}
		in.open(links)
	})
	return in
}

// Refuse notifies a prefill worker that no request of this worker waits for a room, so that the prefill worker stops
// waiting.
func (s *Sink) Refuse(dp int, addr string, room uint64, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return
	}
	s.threads.Go(func() {
		if links, err := s.links(addr, dp, room); err == nil {
			links[0].tell(kindAbort, room, []byte(reason))
		}
	})
}

// links returns the links that a room needs.
func (s *Sink) links(addr string, dp int, room uint64) ([]*sinkLink, error) {
	from, err := get(s, s.known, addr, func() (Layout, error) {
		c, w, err := s.dial(addr)
		if err == nil {
			c.Close()
		}
		return w.Layout, err
	})
	if err != nil {
		return nil, err
	}
	key := setOf{addr, dp, int(room % uint64(from.DP))}
	return get(s, s.sets, key, func() ([]*sinkLink, error) {
		links, err := s.connect(key, &from)
		if err != nil {
			s.mu.Lock()
			delete(s.known, addr) // a different worker may now have the address
			s.mu.Unlock()
		}
		return links, err
	})
}

// connect creates the links between two data-parallel ranks, either all of them or none.
func (s *Sink) connect(key setOf, from *Layout) ([]*sinkLink, error) {
	list, err := pairs(from, &s.w.Layout)
	if err != nil {
		return nil, err
	}
	links := make([]*sinkLink, len(list))
	for i, p := range list {
		if links[i], err = s.link(key, p); err != nil {
			for _, l := range links[:i] {
				l.fail(err)
			}
			return nil, err
		}
	}
	for _, l := range links {
		l.mates = links
		s.threads.Go(l.run)
	}
	return links, nil
}

// forget drops the links and the layout of the address, so that the next room connects again. A different worker may
// have the address by then.
func (s *Sink) forget(key setOf, links []*sinkLink) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.sets[key]
	if o == nil {
		return
	}
	select {
	case <-o.done:
		if len(o.value) > 0 && o.value[0] == links[0] {
			delete(s.sets, key)
			delete(s.known, key.addr)
		}
	default: // still connecting
	}
}
