package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine/sched"
)

// Submit queues a request. The last event of the request has a Finish. The channel is closed after the last event.
// Cancelling ctx aborts the request, and the channel is closed soon afterwards. A slow reader does not delay other
// requests, because events are queued in memory, at most one per requested token.
func (e *Engine) Submit(ctx context.Context, r *api.Request) (<-chan api.Event, error) {
	if err := e.check(r); err != nil {
		return nil, err // the other engine detects the same error and rejects the request
	}
	e.life.RLock()
	defer e.life.RUnlock()
	if e.draining.Load() {
		return nil, api.ErrUnavailable
	}
	out := newOutbox()
	dp := e.choose(r)
	q := e.request(r)
	q.Emit = func(ev api.Event) {
		ev.DPRank = dp
		out.put(ev)
	}
	e.transfers.attach(dp, q)
	h, err := e.ranks[dp].Submit(q)
	if err != nil {
		e.transfers.refuse(dp, r, err)
		return nil, err
	}
	events := make(chan api.Event, 8)
	leave := func() { h.Abort(api.Finish{Type: api.FinishAbort, Message: context.Cause(ctx).Error()}) }
	unhook := context.AfterFunc(ctx, leave)
	e.pumps.Go(func() {
		defer close(events)
		defer func() {
			// ctx may have ended before its hook has run. If unhook prevents the hook from running, abort the request
			// here.
			if unhook() && ctx.Err() != nil {
				leave()
			}
		}()
		for {
			batch := out.take(ctx, e.dead)
			if batch == nil {
				return
			}
			for _, ev := range batch {
				select {
				case events <- ev:
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

// request converts r to a request for the scheduler.
func (e *Engine) request(r *api.Request) *sched.Request {
	q := &sched.Request{Request: *r}
	p := &q.Params
	seed := int64(e.seed + e.seeds.Add(1))
	if p.Seed == nil {
		p.Seed = &seed
	}
	// Reduce an output length that exceeds the cache. It is not rejected, because clients do not know the size of the
	// cache.
	p.MaxNewTokens = min(p.MaxNewTokens, e.Capacity()-len(r.Input))
	p.StopTokens = slices.Concat(e.opt.EOS, p.StopTokens)
	return q
}

// check returns an error if a request cannot be served.
func (e *Engine) check(r *api.Request) error {
	n, most, vocab := len(r.Input), e.opt.ContextLen, e.opt.Sched.Vocab
	switch {
	case n == 0:
		return fmt.Errorf("%w: the input is empty", api.ErrInvalid)
	case r.DPRank >= len(e.ranks):
		return fmt.Errorf("%w: there is no data-parallel rank %d, the engine has %d", api.ErrInvalid, r.DPRank, len(e.ranks))
	case r.Params.MaxNewTokens < 0:
		return fmt.Errorf("%w: max_new_tokens must be at least 0, got %d", api.ErrInvalid, r.Params.MaxNewTokens)
	case r.TopLogprobs < 0 || r.TopLogprobs > vocab:
		return fmt.Errorf("%w: top_logprobs_num must be in [0, %d], got %d", api.ErrInvalid, vocab, r.TopLogprobs)
	case n >= most:
		return fmt.Errorf("%w: the input (%d tokens) is longer than the model's context length (%d tokens)", api.ErrTooLong, n, most)
	case n+r.Params.MaxNewTokens > most:
		return fmt.Errorf("%w: requested token count exceeds the model's maximum context length of %d tokens: "+
			"%d tokens from the input and %d tokens for the completion", api.ErrTooLong, most, n, r.Params.MaxNewTokens)
	case n >= e.Capacity():
		return fmt.Errorf("%w: the input (%d tokens) is longer than the KV cache (%d tokens), raise --mem-fraction-static", api.ErrTooLong, n, e.Capacity())
	}
	for i, id := range r.Input {
		if id < 0 || int(id) >= vocab {
			return fmt.Errorf("%w: input token %d is %d, outside the vocabulary of %d", api.ErrInvalid, i, id, vocab)
		}
	}
	for id := range r.Params.LogitBias {
		if id < 0 || int(id) >= vocab {
			return fmt.Errorf("%w: logit_bias of token %d, outside the vocabulary of %d", api.ErrInvalid, id, vocab)
		}
	}
	if r.Params.MinNewTokens > 0 {
		stops := map[int32]bool{}
		for _, id := range slices.Concat(e.opt.EOS, r.Params.StopTokens) {
			stops[id] = id >= 0 && int(id) < vocab
		}
		maps.DeleteFunc(stops, func(_ int32, known bool) bool { return !known })
		if len(stops) == vocab {
			return fmt.Errorf("%w: min_new_tokens is %d, but every token of the vocabulary is a stop token", api.ErrInvalid, r.Params.MinNewTokens)
		}
	}
	return nil
}

// choose picks the data-parallel rank of a request. On a prefill engine the rank is a function of the room, so that the
// decode engine can compute the same rank.
func (e *Engine) choose(r *api.Request) int {
	if t := e.transfers; t != nil && t.role == api.Prefill && r.Bootstrap != nil {
		return int(r.Bootstrap.Room % uint64(len(e.ranks)))
	}
	if r.DPRank >= 0 {
		return r.DPRank
	}
	first := int((e.turn.Add(1) - 1) % uint64(len(e.ranks)))
	if e.opt.Balance != ShortestQueue && e.opt.Balance != TotalTokens {
		return first
	}
	// Among equally loaded ranks, choose by round robin.
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
