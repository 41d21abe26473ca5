package sched

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine/kvcache"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
)

const fakeVocab = 97

// fake is a model whose memory of a sequence consists only of its blocks: it stores tokens there and computes logits
// from everything it finds. A block that is wrongly shared, lost or overwritten changes the tokens.
type fake struct {
	t     *testing.T
	kv    [][kvcache.BlockSize]int32
	steps []string
	hold  func(Step) // called in each step
	fail  error
	fatal error

	maxTokens, maxSeqs int // the largest batches so far
}

func newFake(t *testing.T, blocks int) *fake {
	f := &fake{t: t, kv: make([][kvcache.BlockSize]int32, blocks)}
	for i := range f.kv {
		f.spoil(int32(i))
	}
	return f
}

// spoil makes a block's old content useless.
func (f *fake) spoil(b int32) {
	for i := range f.kv[b] {
		f.kv[b][i] = -7
	}
}

func (f *fake) Err() error { return f.fatal }

func (f *fake) Forward(s Step) ([][]float32, error) {
	f.steps = append(f.steps, s.Name())
	f.maxSeqs = max(f.maxSeqs, len(s.Batch.Seqs))
	f.maxTokens = max(f.maxTokens, s.Batch.Tokens())
	if f.hold != nil {
		f.hold(s)
	}
	if f.fail != nil {
		return nil, f.fail
	}
	var rows [][]float32
	written := map[[2]int32]bool{}
	for _, q := range s.Batch.Seqs {
		if s.Batch.Mode == model.Decode && len(q.Tokens) != 1 {
			return nil, fmt.Errorf("%d tokens in a decode step", len(q.Tokens))
		}
		for i, token := range q.Tokens {
			pos := q.Start + i
			slot := [2]int32{q.Blocks[pos/kvcache.BlockSize], int32(pos % kvcache.BlockSize)}
			if written[slot] {
				f.t.Errorf("step %d writes slot %v twice", s.Count, slot)
			}
			written[slot] = true
			f.kv[slot[0]][slot[1]] = token
			if q.NoLogits || (!q.WantAll && i < len(q.Tokens)-1) {
				continue
			}
			seen := make([]int32, pos+1)
			for p := range seen {
				seen[p] = f.kv[q.Blocks[p/kvcache.BlockSize]][p%kvcache.BlockSize]
				if seen[p] < 0 {
					return nil, errors.New("a position was never computed")
				}
			}
			rows = append(rows, fakeLogits(seen))
		}
	}
	return rows, nil
}

// fakeLogits depends on every token and its position.
func fakeLogits(tokens []int32) []float32 {
	h := uint64(1469598103934665603)
	for _, t := range tokens {
		h = (h ^ uint64(t+1)) * 1099511628211
	}
	row := make([]float32, fakeVocab)
	for i := range row {
		h ^= h << 13
		h ^= h >> 7
		h ^= h << 17
		row[i] = float32(h%4096)/512 - 4
	}
	return row
}

// start runs a scheduler on a fake and stops it when the test ends.
func start(t *testing.T, f *fake, opt Options) *Scheduler {
	t.Helper()
	opt.Blocks = len(f.kv)
	if opt.Vocab == 0 {
		opt.Vocab = fakeVocab
	}
	s := New(f, opt)
	var wg sync.WaitGroup
	wg.Go(s.Run)
	t.Cleanup(func() {
		s.Stop()
		wg.Wait()
		if err := s.cache.Check(); err != nil {
			t.Error(err)
		}
		if u := s.cache.Usage(); u.Used() != 0 {
			t.Errorf("%d blocks are held by nobody", u.Used())
		}
	})
	return s
}

// log collects the events of one request.
type log struct {
	mu     sync.Mutex
	events []api.Event
	done   chan struct{}
}

func newLog() *log { return &log{done: make(chan struct{})} }

func (l *log) emit(e api.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
	if e.Finish != nil {
		close(l.done) // panics if closed twice
	}
}

// wait returns the tokens and the last event.
func (l *log) wait() ([]int32, api.Event) {
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	var tokens []int32
	for _, e := range l.events {
		if e.Token != api.NoToken {
			tokens = append(tokens, e.Token)
		}
	}
	return tokens, l.events[len(l.events)-1]
}

// submit queues a request and returns its events.
func submit(t *testing.T, s *Scheduler, r api.Request) (*log, *Handle) {
	t.Helper()
	return submitHalf(t, s, Request{Request: r})
}

// submitHalf is submit for a request whose other half runs on another scheduler.
func submitHalf(t *testing.T, s *Scheduler, r Request) (*log, *Handle) {
	t.Helper()
	l := newLog()
	r.Emit = l.emit
	h, err := s.Submit(&r)
	if err != nil {
		t.Fatal(err)
	}
	return l, h
}

// ask is a request for n tokens.
func ask(input []int32, n int) api.Request {
	return api.Request{Input: input, Params: api.Sampling{MaxNewTokens: n}, LogprobStart: -1}
}

// prompt makes tokens from a seed.
func prompt(seed, n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		seed = seed*1103515245 + 12345
		out[i] = int32(uint32(seed)>>16) % fakeVocab
	}
	return out
}
