package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
	"github.com/stepscope/stepscope/internal/reference/engine/sched"
)

type options struct {
	rounds, steps, batch int
	merge, stack, mem    bool
}

// phase is the profiling activity during a step.
type phase int

const (
	beforePhase phase = iota
	recordPhase
	writePhase
	afterPhase
	phases
)

var phaseNames = [phases]string{"quiet before", "recording", "writing", "quiet after"}

// result holds the durations of the decode steps in each phase, and the durations of the exports.
type result struct {
	took    [phases][]time.Duration
	exports []time.Duration
}

// bench is an engine that decodes continuously.
type bench struct {
	o    options
	e    *engine.Engine
	done chan string // receives the engine's log line when files are written

	mu    sync.Mutex
	steps []step
	more  chan struct{} // signals that a step has ended; buffers one signal
}

// step is a decode step of the complete batch that directly followed another such step.
type step struct{ start, end time.Time }

func measure(ctx context.Context, s setup, o options) (*result, error) {
	dir, err := os.MkdirTemp("", "stepscope-export-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	b := &bench{o: o, done: make(chan string, 1), more: make(chan struct{}, 1)}
	stop, err := b.start(ctx, s)
	if err != nil {
		return nil, err
	}
	defer stop()
	b.wait(2 * o.steps) // warm up
	r := &result{}
	for round := range o.rounds {
		if err := b.round(ctx, fmt.Sprintf("%s/%d", dir, round), r); err != nil {
			return nil, err
		}
		os.RemoveAll(fmt.Sprintf("%s/%d", dir, round))
	}
	return r, nil
}

// round records a window between two quiet times. Each quiet time has about as many steps as the time of writing,
// because the maximum over more steps would be larger.
func (b *bench) round(ctx context.Context, dir string, r *result) error {
	var at [6]time.Time
	b.take()
	at[0] = time.Now()
	b.wait(b.quiet(r))
	at[1] = time.Now()
	req := api.ProfileRequest{
		ID: "1", OutputDir: dir, NumSteps: b.o.steps, Activities: api.ActivityCPU | api.ActivityGPU,
		WithStack: b.o.stack, RecordShapes: true, Merge: b.o.merge,
	}
	if b.o.mem {
		req.Activities |= api.ActivityMem
	}
	if err := b.e.StartProfile(ctx, req); err != nil {
		return err
	}
	for b.e.Profiling() {
		b.wait(1)
	}
	at[2] = time.Now()
	text := <-b.done
	at[3] = time.Now()
	if b.o.merge && !strings.Contains(text, "Merged trace: ") {
		return errors.New(text) // the log line contains the error
	}
	b.wait(2) // wait until the current step has ended
	at[4] = time.Now()
	b.wait(b.quiet(r))
	at[5] = time.Now()
	for _, s := range b.take() {
		in := func(i int) bool { return !s.start.Before(at[i]) && !s.end.After(at[i+1]) }
		switch {
		case in(0):
			r.add(beforePhase, s)
		case in(1):
			r.add(recordPhase, s)
		case s.end.After(at[2]) && s.start.Before(at[3]):
			r.add(writePhase, s)
		case in(4):
			r.add(afterPhase, s)
		}
	}
	r.exports = append(r.exports, at[3].Sub(at[2]))
	return nil
}

func (r *result) add(p phase, s step) { r.took[p] = append(r.took[p], s.end.Sub(s.start)) }

// quiet returns the number of steps in a quiet time of the round.
func (b *bench) quiet(r *result) int {
	if len(r.exports) == 0 {
		return b.o.steps / 2
	}
	return max(len(r.took[writePhase])/len(r.exports), 1)
}

// take returns the steps since the last call of take.
func (b *bench) take() []step {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.steps
	b.steps = nil
	return s
}

// wait returns after n more steps.
func (b *bench) wait(n int) {
	for range n {
		select {
		case <-b.more:
		case <-time.After(time.Minute):
			log.Fatal("export: no step for a minute, the engine hangs")
		}
	}
}

// start starts an engine and its requests.
func (b *bench) start(ctx context.Context, s setup) (stop func(), err error) {
	cfg, err := model.BuiltinConfig("llama-tiny", []byte(s.overrides))
	if err != nil {
		return nil, err
	}
	const tokens = 2048 // number of tokens per sequence
	sizes := engine.Sizes{TP: s.tp}
	blocks := (b.o.batch + 1) * tokens / model.BlockLen
	group, err := engine.NewRanks(engine.RanksOptions{
		TeamOptions: engine.TeamOptions{Sizes: sizes, Host: "bench"}, Config: cfg, Source: model.NewDummy(cfg, 1),
		Model: model.Options{Format: model.FormatFor(cfg.DType), NumBlocks: blocks, MaxTokens: 512, MaxSeqs: b.o.batch, GraphSizes: []int{b.o.batch}},
	})
	if err != nil {
		return nil, err
	}
	var last time.Time // end of the last decode step of the whole batch
	b.e = engine.New([]engine.Group{group}, engine.Options{
		Sched:      sched.Options{Blocks: blocks, Vocab: cfg.Vocab, MaxRunning: b.o.batch, ChunkedPrefill: 512, Graphs: true},
		ContextLen: cfg.ContextLen(), Sizes: sizes,
		OnStep: func(_ int, rep api.Step) {
			if rep.Prefill || rep.Running < b.o.batch {
				last = time.Time{}
				return
			}
			now := time.Now()
			if !last.IsZero() {
				b.mu.Lock()
				b.steps = append(b.steps, step{last, now})
				b.mu.Unlock()
				select {
				case b.more <- struct{}{}:
				default:
				}
			}
			last = now
		},
		Log: func(line string) {
			if strings.HasPrefix(line, "Profiling done.") {
				b.done <- line
			}
		},
	})
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for i := range b.o.batch {
		wg.Go(func() {
			for ctx.Err() == nil {
				b.request(ctx, i, tokens)
			}
		})
	}
	return func() {
		cancel()
		wg.Wait()
		b.e.Close()
	}, nil
}

// request generates one sequence.
func (b *bench) request(ctx context.Context, i, tokens int) {
	events, err := b.e.Submit(ctx, &api.Request{
		Input: slices.Repeat([]int32{int32(i) + 1}, 16), LogprobStart: -1, DPRank: -1,
		Params: api.Sampling{MaxNewTokens: tokens - 32, IgnoreEOS: true, TopP: 1},
	})
	if err != nil {
		return
	}
	for range events {
	}
}
