// Package fakeengine is an engine without a model, for tests of servers. The engine steps at a set pace and prefills
// before it decodes. It has a bounded queue, a prefix cache, a KV cache that can fill up, and profile windows that
// count forward steps. The engine never blocks on a channel. The generated tokens are the bytes of a text that is
// either given by Options.Reply or derived from the prompt.
package fakeengine

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/server"
)

// Options configure the engine. The zero value answers at once.
type Options struct {
	Pace       time.Duration              // duration of a forward step
	Reply      func(prompt string) string // default: words derived from the prompt
	MaxRunning int                        // default 64
	MaxQueue   int                        // default 1024
	Capacity   int                        // KV tokens, default 1<<20
	ContextLen int                        // default 4096
	DP         int                        // default 1
	OnStep     func(api.Step)             // batch log
	// If Trap returns a result, that result ends the request before the first token.
	Trap func(r *api.Request) *api.Finish
}

// Engine is the fake engine.
type Engine struct {
	o       Options
	wake    chan struct{}
	stop    context.CancelFunc
	stopped chan struct{}

	mu        sync.Mutex
	waiting   []*slot
	running   []*slot
	forward   int64
	seen      [][]int32 // prompts in the prefix cache
	prefilled int64
	unhealthy error
	profile   *window
	results   []api.ProfileResult
	requests  []api.ProfileRequest
	submitted []*api.Request
}

type slot struct {
	r      *api.Request
	ctx    context.Context
	out    chan api.Event
	reply  []int32
	n      int
	cached int
}

// New starts the engine.
func New(o Options) *Engine {
	def := func(v *int, absent int) {
		if *v == 0 {
			*v = absent
		}
	}
	def(&o.MaxRunning, 64)
	def(&o.MaxQueue, 1024)
	def(&o.Capacity, 1<<20)
	def(&o.ContextLen, 4096)
	def(&o.DP, 1)
	if o.Reply == nil {
		o.Reply = words
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &Engine{o: o, wake: make(chan struct{}, 1), stop: cancel, stopped: make(chan struct{})}
	go e.loop(ctx)
	return e
}

// Close stops the engine. It closes channels that are still open without sending a finish.
func (e *Engine) Close() {
	e.stop()
	<-e.stopped
}

// words returns a text that depends only on the prompt.
func words(prompt string) string {
	list := []string{"step", "rank", "the", "late", "café", "kernel", "a", "stream", "waits", "日本"}
	h := uint32(2166136261)
	for i := range len(prompt) {
		h = (h ^ uint32(prompt[i])) * 16777619
	}
	var out string
	for range 400 {
		h = h*1664525 + 1013904223
		out += list[h>>16%uint32(len(list))] + " "
	}
	return out
}

// Submit queues a request.
func (e *Engine) Submit(ctx context.Context, r *api.Request) (<-chan api.Event, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.stopped:
		return nil, api.ErrUnavailable
	default:
	}
	if len(e.waiting) >= e.o.MaxQueue {
		return nil, fmt.Errorf("%w: %d requests are waiting", api.ErrQueueFull, len(e.waiting))
	}
	if need := len(r.Input) + r.Params.MaxNewTokens; need > e.o.Capacity {
		return nil, fmt.Errorf("%w: %d tokens, the KV cache holds %d", api.ErrTooLong, need, e.o.Capacity)
	}
	e.submitted = append(e.submitted, r)
	t := Tokenizer{}
	reply, _ := t.Encode(e.o.Reply(t.Decode(r.Input, false)), false)
	s := &slot{r: r, ctx: ctx, reply: append(reply, EOS), out: make(chan api.Event, r.Params.MaxNewTokens+2)}
	e.waiting = append(e.waiting, s)
	e.poke()
	return s.out, nil
}

func (e *Engine) poke() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// loop runs forward steps while there is work.
func (e *Engine) loop(ctx context.Context) {
	defer close(e.stopped)
	for {
		e.mu.Lock()
		busy := len(e.waiting)+len(e.running) > 0
		e.mu.Unlock()
		if !busy {
			select {
			case <-e.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		if e.o.Pace > 0 {
			select {
			case <-time.After(e.o.Pace):
			case <-ctx.Done():
			}
		}
		e.mu.Lock()
		if ctx.Err() != nil {
			for _, s := range append(e.waiting, e.running...) {
				close(s.out)
			}
			e.waiting, e.running = nil, nil
			e.mu.Unlock()
			return
		}
		e.step()
		e.mu.Unlock()
	}
}

// step runs one forward step. The step is a prefill if a waiting request fits, and a decode otherwise.
func (e *Engine) step() {
	gone := func(s *slot) bool {
		if s.ctx.Err() != nil {
			close(s.out)
			return true
		}
		return false
	}
	e.waiting = slices.DeleteFunc(e.waiting, gone)
	e.running = slices.DeleteFunc(e.running, gone)
	n := min(len(e.waiting), e.o.MaxRunning-len(e.running))
	if n == 0 && len(e.running) == 0 {
		return
	}
	e.forward++
	e.profile.before(e, n > 0)
	st := api.Step{Time: time.Now(), ForwardCt: e.forward, Prefill: n > 0}
	batch := e.running
	if n > 0 {
		batch = slices.Clone(e.waiting[:n])
		e.waiting = slices.Delete(e.waiting, 0, n)
		e.running = append(e.running, batch...)
		for _, s := range batch {
			s.cached = e.lookup(s.r.Input)
			st.NewTokens += len(s.r.Input) - s.cached
			st.CachedTokens += s.cached
		}
		st.NewSeqs = n
		e.prefilled += int64(st.NewTokens)
	} else {
		st.NewTokens = len(batch)
	}
	for _, s := range batch {
		e.advance(s, n > 0)
	}
	e.running = slices.DeleteFunc(e.running, func(s *slot) bool { return s.n < 0 })
	st.Running, st.Queued, st.UsedTokens = len(e.running), len(e.waiting), e.used()
	st.Usage = float64(st.UsedTokens) / float64(e.o.Capacity)
	if e.o.OnStep != nil {
		e.o.OnStep(st)
	}
}

// advance produces one token of a request. It sets s.n < 0 at the end of the request.
func (e *Engine) advance(s *slot, first bool) {
	p := s.r.Params
	ev := api.Event{Token: api.NoToken, Cached: s.cached, DPRank: max(0, s.r.DPRank)}
	if first && s.r.ReturnLogprob && s.r.LogprobStart >= 0 {
		for i, id := range s.r.Input[s.r.LogprobStart:] {
			lp := -float64(id%7) - .5
			if i+s.r.LogprobStart == 0 {
				lp = math.NaN()
			}
			ev.Prompt = append(ev.Prompt, api.Logprob{ID: id, Logprob: lp})
			ev.PromptTop = append(ev.PromptTop, top(id, s.r.TopLogprobs))
		}
	}
	if e.o.Trap != nil {
		ev.Finish = e.o.Trap(s.r)
	}
	if ev.Finish == nil && s.n < p.MaxNewTokens {
		ev.Token = e.next(s)
		s.n++
		ev.Logprob = -float64(ev.Token%5) / 4
		if s.r.ReturnLogprob {
			ev.Top = top(ev.Token, s.r.TopLogprobs)
		}
		stops := ev.Token == EOS && !p.IgnoreEOS || slices.Contains(p.StopTokens, ev.Token)
		if stops && s.n >= p.MinNewTokens {
			ev.Finish = &api.Finish{Type: api.FinishStop, Matched: ev.Token}
		}
	}
	if ev.Finish == nil && s.n >= p.MaxNewTokens {
		ev.Finish = &api.Finish{Type: api.FinishLength, Matched: api.NoToken}
	}
	select {
	case s.out <- ev:
	default:
		panic("fakeengine: channel full")
	}
	if ev.Finish != nil {
		close(s.out)
		e.remember(s.r.Input)
		s.n = -1
	}
}

func (e *Engine) next(s *slot) int32 {
	id := s.reply[s.n%len(s.reply)]
	if id == EOS && (s.r.Params.IgnoreEOS || s.n < s.r.Params.MinNewTokens) {
		return ' '
	}
	return id
}

func top(id int32, n int) []api.Logprob {
	var out []api.Logprob
	for k := range n {
		out = append(out, api.Logprob{ID: (id + int32(k)) % 256, Logprob: -float64(k) - .25})
	}
	return out
}

// lookup returns the number of leading tokens of ids that are cached. It never counts the last token, which is always
// computed.
func (e *Engine) lookup(ids []int32) int {
	best := 0
	for _, s := range e.seen {
		n := 0
		for n < len(s) && n < len(ids)-1 && s[n] == ids[n] {
			n++
		}
		best = max(best, n)
	}
	return best
}

func (e *Engine) remember(ids []int32) {
	if len(e.seen) >= 16 {
		e.seen = e.seen[1:]
	}
	e.seen = append(e.seen, ids)
}

func (e *Engine) used() (sum int) {
	for _, s := range e.running {
		sum += len(s.r.Input) + s.n
	}
	return sum
}

// FlushCache waits until the engine is idle.
func (e *Engine) FlushCache(ctx context.Context) error {
	for {
		e.mu.Lock()
		idle := len(e.running)+len(e.waiting) == 0
		if idle {
			e.seen = nil
		}
		e.mu.Unlock()
		if idle {
			return nil
		}
		select {
		case <-ctx.Done():
			return api.ErrNotIdle
		case <-time.After(time.Millisecond):
		}
	}
}

// Stats describes the present state.
func (e *Engine) Stats() []api.Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]api.Stats, e.o.DP)
	for i := range out {
		out[i].DPRank = i
	}
	used := e.used()
	out[0].Running, out[0].Waiting, out[0].ForwardCt = len(e.running), len(e.waiting), e.forward
	out[0].UsedTokens, out[0].FreeTokens = used, e.o.Capacity-used
	out[0].ComputedTokens = e.prefilled
	out[0].Utilization = float64(len(e.running)) / float64(e.o.MaxRunning)
	return out
}

// Info describes the model.
func (e *Engine) Info() server.Info {
	return server.Info{
		ModelPath: "fake/model", TokenizerPath: "fake/model", ModelType: "llama", Architectures: []string{"LlamaForCausalLM"},
		LoadFormat: "dummy", WeightVersion: "default", ContextLen: e.o.ContextLen, VocabSize: 512,
		DP: e.o.DP, TP: 1, PP: 1, EP: 1, MaxRunningRequests: e.o.MaxRunning, TokenCapacity: e.o.Capacity, PageSize: 16,
		WeightBytes: 1 << 30, KVBytes: 1 << 29, Accelerator: "fake",
	}
}

// Tokenizer returns the byte tokenizer.
func (e *Engine) Tokenizer() server.Tokenizer { return Tokenizer{} }

// Healthy returns the error given to SetHealth.
func (e *Engine) Healthy() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.unhealthy
}

// SetHealth makes the engine unhealthy with the given error. If err is nil, SetHealth makes the engine healthy again.
func (e *Engine) SetHealth(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unhealthy = err
}

// Submitted returns all requests that have been submitted so far.
func (e *Engine) Submitted() []*api.Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.submitted)
}

// Busy returns the number of requests in the engine.
func (e *Engine) Busy() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.running) + len(e.waiting)
}
