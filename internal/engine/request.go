package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/stepscope/stepscope/internal/engine/sample"
	"github.com/stepscope/stepscope/internal/engine/sched"
)

// Request is one sequence to generate.
type Request struct {
	ID            string
	Input         []int32
	Params        Sampling
	ReturnLogprob bool
	TopLogprobs   int
	LogprobStart  int        // first prompt position whose logprob is wanted; -1: output only
	DPRank        int        // -1: the engine chooses
	Bootstrap     *Bootstrap // of an engine that shares the work; nil: as if there were another
}

// Sampling says how the next token is chosen and when to end; package sample
// defines the terms.
type Sampling struct {
	MaxNewTokens      int // at least 0
	MinNewTokens      int
	Temperature       float64 // 0 is greedy
	TopP              float64 // (0, 1]
	TopK              int     // 0: the whole vocabulary
	MinP              float64 // [0, 1]
	FrequencyPenalty  float64
	PresencePenalty   float64
	RepetitionPenalty float64 // 1: none
	StopTokens        []int32
	IgnoreEOS         bool // neither EOS nor StopTokens end the sequence, as in SGLang
	Seed              *int64
	LogitBias         map[int32]float32
}

// Event is what one step made of a request.
type Event struct {
	sched.Event
	DPRank int
}

// Submit queues a request. The last event has a Finish; then, or soon after ctx
// is cancelled, the channel is closed. Cancelling ctx aborts the request.
func (e *Engine) Submit(ctx context.Context, r *Request) (<-chan Event, error) {
	return Stream(ctx, e, r, func(ev Event) Event { return ev })
}

// Stream is Submit with events in the caller's form. A slow reader holds nobody
// up: events wait in memory, at most one for each token asked for.
func Stream[E any](ctx context.Context, e *Engine, r *Request, form func(Event) E) (<-chan E, error) {
	if err := e.check(r); err != nil {
		return nil, err // by what both engines of a request know: the other refuses it too
	}
	e.life.RLock()
	defer e.life.RUnlock()
	if e.draining.Load() {
		return nil, ErrClosed
	}
	out := newOutbox()
	dp := e.choose(r)
	q := e.request(r, out.put)
	e.transfers.attach(dp, r, q)
	h, err := e.ranks[dp].Submit(q)
	if err != nil {
		e.transfers.refuse(dp, r, err)
		return nil, err
	}
	events := make(chan E, 8)
	unhook := context.AfterFunc(ctx, func() {
		h.Abort(sched.Finish{Type: sched.FinishAbort, Message: context.Cause(ctx).Error()})
	})
	e.pumps.Go(func() {
		defer close(events)
		defer unhook()
		for {
			batch := out.take(ctx, e.dead)
			if batch == nil {
				return
			}
			for _, ev := range batch {
				select {
				case events <- form(Event{ev, dp}):
				case <-ctx.Done():
					return
				case <-e.dead:
					return
				}
				if ev.Finish != nil {
					return
				}
			}
		}
	})
	return events, nil
}

// request is the scheduler's form of r.
func (e *Engine) request(r *Request, emit func(sched.Event)) *sched.Request {
	p := &r.Params
	seed := e.seed + e.seeds.Add(1)
	if p.Seed != nil {
		seed = uint64(*p.Seed)
	}
	// More than the cache can hold is not refused: nobody knows its size.
	room := e.Capacity() - len(r.Input)
	return &sched.Request{
		ID: r.ID, Input: r.Input,
		Params: sample.Params{
			Temperature: p.Temperature, TopP: p.TopP, TopK: p.TopK, MinP: p.MinP,
			FrequencyPenalty: p.FrequencyPenalty, PresencePenalty: p.PresencePenalty, RepetitionPenalty: p.RepetitionPenalty,
			LogitBias: p.LogitBias, Seed: seed,
			MinNewTokens: p.MinNewTokens, Ends: slices.Concat(e.opt.EOS, p.StopTokens),
		},
		MaxNewTokens: min(p.MaxNewTokens, room), IgnoreEOS: p.IgnoreEOS,
		Logprobs: r.ReturnLogprob, Top: r.TopLogprobs, LogprobStart: r.LogprobStart,
		Emit: emit,
	}
}

// check tells why a request cannot be served.
func (e *Engine) check(r *Request) error {
	n, most, vocab := len(r.Input), e.opt.ContextLen, e.opt.Sched.Vocab
	switch {
	case n == 0:
		return fmt.Errorf("%w: the input is empty", ErrInvalid)
	case r.DPRank >= len(e.ranks):
		return fmt.Errorf("%w: there is no data-parallel rank %d, the engine has %d", ErrInvalid, r.DPRank, len(e.ranks))
	case r.Params.MaxNewTokens < 0:
		return fmt.Errorf("%w: max_new_tokens must be at least 0, got %d", ErrInvalid, r.Params.MaxNewTokens)
	case r.TopLogprobs < 0 || r.TopLogprobs > vocab:
		return fmt.Errorf("%w: top_logprobs_num must be in [0, %d], got %d", ErrInvalid, vocab, r.TopLogprobs)
	case n >= most:
		return fmt.Errorf("%w: the input (%d tokens) is longer than the model's context length (%d tokens)", ErrTooLong, n, most)
	case n+r.Params.MaxNewTokens > most:
		return fmt.Errorf("%w: requested token count exceeds the model's maximum context length of %d tokens: "+
			"%d tokens from the input and %d tokens for the completion", ErrTooLong, most, n, r.Params.MaxNewTokens)
	case n >= e.Capacity():
		return fmt.Errorf("%w: the input (%d tokens) is longer than the KV cache (%d tokens), raise --mem-fraction-static", ErrTooLong, n, e.Capacity())
	}
	for i, id := range r.Input {
		if id < 0 || int(id) >= vocab {
			return fmt.Errorf("%w: input token %d is %d, outside the vocabulary of %d", ErrInvalid, i, id, vocab)
		}
	}
	for id := range r.Params.LogitBias {
		if id < 0 || int(id) >= vocab {
			return fmt.Errorf("%w: logit_bias of token %d, outside the vocabulary of %d", ErrInvalid, id, vocab)
		}
	}
	return nil
}

// choose picks the data-parallel rank of a request. That of a prefill engine follows
// from the room, so that the decode engine knows it.
func (e *Engine) choose(r *Request) int {
	if t := e.transfers; t != nil && t.role == Prefill && r.Bootstrap != nil {
		return int(r.Bootstrap.Room % uint64(len(e.ranks)))
	}
	if r.DPRank >= 0 {
		return r.DPRank
	}
	first := int((e.turn.Add(1) - 1) % uint64(len(e.ranks)))
	if e.opt.Balance != ShortestQueue && e.opt.Balance != TotalTokens {
		return first
	}
	// Of equals, the next in turn.
	best, least := first, -1
	for i := range e.ranks {
		at := (first + i) % len(e.ranks)
		st := e.ranks[at].Stats()
		load := st.Running + st.Waiting
		if e.opt.Balance == TotalTokens {
			load = st.UsedTokens + st.WaitingTokens
		}
		if least < 0 || load < least {
			best, least = at, load
		}
	}
	return best
}
