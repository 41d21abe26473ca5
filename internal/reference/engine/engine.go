// Package engine serves an LLM on the software GPU. It accepts requests of tokens, returns streams of tokens, and
// records profiling windows on all ranks.
//
// An [Engine] has one scheduler (package sched) per data-parallel rank. Each scheduler has a [Group]: the tensor- and
// pipeline-parallel ranks that run its batches ([NewRanks] creates a Group that computes a real model). Incoming
// requests are distributed among the data-parallel ranks. Profiling follows section 1 of SGLang's contract: windows are
// counted in forward steps, every rank writes a separate file, and files are written while the engine continues to
// serve.
//
// Lengths are in tokens, latencies are time.Duration.
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

// Group is the set of ranks that run the batches of one scheduler.
type Group interface {
	sched.Model
	// Ranks lists the ranks. The list never changes.
	Ranks() []Rank
	Close() error
}

// Balance selects the data-parallel rank of a request.
type Balance string

// Balancing methods (--load-balance-method).
const (
	RoundRobin    Balance = "round_robin"
	ShortestQueue Balance = "shortest_queue" // fewest requests
	TotalTokens   Balance = "total_tokens"   // smallest sum of tokens in the KV cache and in waiting prompts
)

// Options configure an engine.
type Options struct {
	// Sched configures each scheduler. Blocks and Vocab are required. The engine sets Hooks and Report.
	Sched      sched.Options
	ContextLen int     // maximum tokens of a sequence
	EOS        []int32 // tokens that end a sequence
	Balance    Balance // default RoundRobin
	Sizes      Sizes   // sizes of the parallel layout
	Seed       uint64  // base of the seeds for requests without a seed; 0: random

	// OnStep is called for each step of each data-parallel rank, by the goroutine that schedules the step. It must not
	// block.
	OnStep func(dp int, st api.Step)
	// Log receives lines about profiling. The lines contain no timestamp. Any goroutine may call it.
	Log func(line string)
	// CUDAProfiler starts and stops the profiler of an external tool, for windows with the activity CUDA_PROFILER.
	CUDAProfiler func(on bool)
	// ProfileIdle is the idle time after which an open window with a step count is closed; default 60 s.
	ProfileIdle time.Duration
}

// Engine is a running LLM server without its HTTP API. All methods are safe for concurrent use.
type Engine struct {
	opt   Options
	ranks []*dpRank
	turn  atomic.Uint64 // number of requests assigned by round robin
	seed  uint64
	seeds atomic.Uint64 // number of seeds assigned

	life     sync.RWMutex // read-locked while a goroutine or request starts, write-locked by Close
	draining atomic.Bool
	loops    sync.WaitGroup // goroutines of the schedulers
	pumps    sync.WaitGroup // goroutines that pass events to the readers of streams
	dead     chan struct{}  // closed when streams must no longer wait for their readers
	close    sync.Once
	closeErr error

	session atomic.Pointer[session] // profiling window that is armed or open
	closed  atomic.Pointer[session] // previous window, whose files may still be written
	writing sync.Mutex              // lets only one trace file be written at a time, because serving needs the cores
	exports sync.WaitGroup

	transfers *transfers // nil: the engine works alone
}

// dpRank is one data-parallel rank.
type dpRank struct {
	*sched.Scheduler
	group  Group
	window *window // owned by the goroutine of the rank's scheduler
}

// New starts an engine on the groups, one per data-parallel rank. The caller must close it.
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

// Capacity is the KV cache size of each data-parallel rank, in tokens.
func (e *Engine) Capacity() int { return e.ranks[0].Capacity() }

// Healthy returns nil while the engine can serve requests. Otherwise it returns the reason as an error.
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

// FlushCache empties the prefix caches. It waits until no request is queued or running. If ctx ends first, it returns
// api.ErrNotIdle; in this case the caches of some ranks may already be empty.
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

// Drain rejects new requests and waits until the current requests finish or ctx ends.
func (e *Engine) Drain(ctx context.Context) error {
	e.draining.Store(true)
	for _, r := range e.ranks {
		if err := r.Idle(ctx); err != nil {
			return err
		}
	}
	return nil
}

// closeGrace is the maximum time for which Close waits until the readers of streams have received the remaining tokens.
const closeGrace = 2 * time.Second

// Close aborts running requests, writes the data of an open profiling window, and stops all goroutines of the engine.
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
