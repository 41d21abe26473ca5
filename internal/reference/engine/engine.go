// Package engine serves an LLM on the software GPU: requests of tokens in, streams
// of tokens out, and profiling windows over all ranks.
//
// An [Engine] has one scheduler (package sched) for each data-parallel rank, and
// each has a [Group]: the tensor and pipeline parallel ranks that run its batches
// ([NewRanks] makes a real one). Requests are spread over the data-parallel ranks
// when they come in. Profiling follows section 1 of SGLang's contract: windows are
// counted in forward steps, every rank writes a file of its own, and writing them
// goes on beside serving.
//
// Lengths are tokens, latencies time.Duration.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine/sched"
)

// Group is the ranks that run the batches of one scheduler.
type Group interface {
	sched.Model
	// Ranks lists them; the list does not change.
	Ranks() []Rank
	Close() error
}

// Balance says which data-parallel rank gets a request.
type Balance string

// The ways to choose (--load-balance-method).
const (
	RoundRobin    Balance = "round_robin"
	ShortestQueue Balance = "shortest_queue" // fewest requests
	TotalTokens   Balance = "total_tokens"   // fewest tokens held and waiting
)

// Options of an engine.
type Options struct {
	// Sched configures each scheduler; Blocks and Vocab are needed. Hooks and
	// Report are the engine's own.
	Sched      sched.Options
	ContextLen int     // most tokens of one sequence
	EOS        []int32 // end a sequence
	Balance    Balance // default RoundRobin
	Sizes      Sizes   // of the parallel layout
	Seed       uint64  // for requests that bring none; 0: random

	// OnStep is told of each step of each data-parallel rank, by the goroutine that
	// schedules it: it must not block.
	OnStep func(dp int, st api.Step)
	// Log takes lines about profiling, without time. Any goroutine calls it.
	Log func(line string)
	// CUDAProfiler starts and stops the profiler of an outer tool, for windows
	// with that activity.
	CUDAProfiler func(on bool)
	// ProfileIdle closes a window of so many steps that stands open after the
	// traffic stopped; default 60 s.
	ProfileIdle time.Duration
}

// Engine is a running LLM server without its HTTP. All methods may be called
// from many goroutines.
type Engine struct {
	opt   Options
	ranks []*dpRank
	turn  atomic.Uint64 // round robin
	seed  uint64
	seeds atomic.Uint64 // given out

	life     sync.RWMutex // held for reading while something is started, for writing by Close
	draining atomic.Bool
	loops    sync.WaitGroup // of the schedulers
	pumps    sync.WaitGroup // of the streams
	dead     chan struct{}  // closed when streams must not wait for their readers
	close    sync.Once
	closeErr error

	session atomic.Pointer[session] // the profiling window that is armed or open
	closed  atomic.Pointer[session] // the one before, whose files may still be written
	writing sync.Mutex              // one trace file at a time: serving needs the cores
	exports sync.WaitGroup

	transfers *transfers // nil: the engine works alone
}

// dpRank is one data-parallel rank.
type dpRank struct {
	*sched.Scheduler
	group  Group
	window *window // of its scheduler's goroutine
}

// New starts an engine on the groups, one for each data-parallel rank. Close it.
func New(groups []Group, opt Options) *Engine {
	if opt.ProfileIdle <= 0 {
		opt.ProfileIdle = time.Minute
	}
	if opt.Log == nil {
		opt.Log = func(string) {}
	}
	e := &Engine{opt: opt, dead: make(chan struct{}), seed: opt.Seed}
	e.seed = cmp.Or(e.seed, rand.Uint64())
	for i, g := range groups {
		r := &dpRank{group: g}
		so := opt.Sched
		so.Hooks = r
		so.Report = nil
		if opt.OnStep != nil {
			so.Report = func(st api.Step) { opt.OnStep(i, st) }
		}
		r.Scheduler = sched.New(g, so)
		e.ranks = append(e.ranks, r)
		e.loops.Go(r.Run)
	}
	return e
}

// Stats returns the state of each data-parallel rank.
func (e *Engine) Stats() []api.Stats {
	out := make([]api.Stats, len(e.ranks))
	for i, r := range e.ranks {
		out[i] = r.Stats()
		out[i].DPRank = i
	}
	return out
}

// index is the number of a data-parallel rank.
func (e *Engine) index(r *dpRank) int { return slices.Index(e.ranks, r) }

// Capacity is the number of tokens that the KV cache of each data-parallel rank
// holds.
func (e *Engine) Capacity() int { return e.ranks[0].Capacity() }

// Healthy returns nil while requests can be served, else the reason.
func (e *Engine) Healthy() error {
	if e.draining.Load() {
		return api.ErrUnavailable
	}
	for i, r := range e.ranks {
		if err := r.group.Err(); err != nil {
			return fmt.Errorf("data-parallel rank %d: %w", i, err)
		}
	}
	return nil
}

// FlushCache empties the prefix caches. It waits until no request is queued or
// running, or ctx ends; then it returns api.ErrNotIdle and some ranks may be flushed.
func (e *Engine) FlushCache(ctx context.Context) error {
	for _, r := range e.ranks {
		for !r.Flush() {
			if r.Idle(ctx) != nil {
				return api.ErrNotIdle
			}
			if e.draining.Load() {
				return api.ErrUnavailable
			}
		}
	}
	return nil
}

// Drain refuses new requests and waits for those under way, or until ctx ends.
func (e *Engine) Drain(ctx context.Context) error {
	e.draining.Store(true)
	for _, r := range e.ranks {
		if err := r.Idle(ctx); err != nil {
			return err
		}
	}
	return nil
}

// closeGrace is how long Close waits for readers of streams to take what is left.
const closeGrace = 2 * time.Second

// Close aborts what runs, writes what a profiling window has so far, and stops
// everything the engine started.
func (e *Engine) Close() error {
	e.close.Do(func() {
		e.life.Lock()
		e.draining.Store(true)
		e.life.Unlock()
		if s := e.session.Load(); s != nil {
			s.end()
		}
		for _, r := range e.ranks {
			r.Stop()
		}
		e.loops.Wait()
		e.transfers.close()
		late := time.AfterFunc(closeGrace, func() { close(e.dead) })
		e.pumps.Wait()
		late.Stop()
		e.exports.Wait()
		for _, r := range e.ranks {
			e.closeErr = errors.Join(e.closeErr, r.group.Close())
		}
	})
	return e.closeErr
}
