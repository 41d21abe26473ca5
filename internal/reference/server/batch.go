package server

import (
	"context"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/wire"
)

// coalesceAfter is the number of events that may wait for a client before they are combined into one event. As long as
// fewer events are waiting, each step has a separate event, so that clients can measure steps.
const coalesceAfter = 20

// batch is the set of sequences of one HTTP request.
type batch struct {
	s      *Server
	stream bool
	seqs   []*sequence
	wake   chan struct{} // holds a value while updates are available
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	dirty []*sequence // sequences that have states which the handler has not taken
	open  int         // sequences in progress
}

// launch submits either all of the sequences or none. The batch ends when ctx ends. Latencies are measured from the
// time received.
func (s *Server) launch(ctx context.Context, received time.Time, specs []*spec, stream bool) (*batch, error) {
	if s.draining.Load() {
		return nil, unavailable("the server is shutting down")
	}
	b := &batch{s: s, stream: stream, wake: make(chan struct{}, 1), open: len(specs)}
	// The context of the sequences is derived from the server's context, so that the context's cause shows whether the
	// server was shut down or the client disconnected.
	parent, cancel := context.WithCancelCause(s.base)
	b.cancel = cancel
	context.AfterFunc(ctx, func() { cancel(errClientGone) })

	for i, sp := range specs {
		q := &sequence{spec: sp, b: b, index: i, start: received, dec: s.tok.Stream(sp.skipSpecial), stop: newStopper(sp.stops)}
		q.ctx, q.cancel = context.WithCancelCause(parent)
		b.seqs = append(b.seqs, q)
	}
	if err := s.admit(b.seqs); err != nil {
		cancel(err)
		return nil, err
	}
	for i, q := range b.seqs {
		events, err := s.engine.Submit(q.ctx, q.req)
		if err != nil {
			cancel(err)
			for _, left := range b.seqs[i:] {
				s.forget(left)
			}
			return nil, err
		}
		if !q.req.Probe {
			s.logReceived(q)
		}
		s.work.Go(func() { q.collect(events) })
	}
	return b, nil
}

// update describes a state of a sequence that the client has not yet received.
type update struct {
	q    *sequence
	prev mark
	mark mark

	text, ids []byte // full text and ids, escaped and joined
	cached    int
	retracts  int
	dpRank    int
	logprobs  []wire.TokenLogprob
	top       [][]wire.TokenLogprob
	prompts   []wire.TokenLogprob
	ptop      [][]wire.TokenLogprob
}

// next waits for updates and appends them to dst. more is false if every sequence has ended and all updates have been
// taken. If the client has disconnected, next returns the context's error.
func (b *batch) next(ctx context.Context, sent []mark, dst []update) (news []update, more bool, err error) {
	select {
	case <-b.wake:
	case <-ctx.Done():
		return dst, false, ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range b.dirty {
		marks := q.marks
		if len(marks) > coalesceAfter {
			marks = marks[len(marks)-1:]
		}
		for _, m := range marks {
			dst = append(dst, q.update(sent[q.index], m))
			sent[q.index] = m
		}
		q.taken = sent[q.index].n
		q.marks = q.marks[:0]
		q.queued = false
	}
	b.dirty = b.dirty[:0]
	return dst, b.open > 0, nil
}

// update returns the update from the state prev to the state m. The caller holds b.mu.
func (q *sequence) update(prev, m mark) update {
	u := update{
		q: q, prev: prev, mark: m,
		text: q.text[:m.text:m.text], ids: q.ids[:m.ids:m.ids],
		cached: q.cached, retracts: q.retracts, dpRank: q.dpRank,
		prompts: q.prompts, ptop: q.ptop,
	}
	if q.req.ReturnLogprob {
		u.logprobs, u.top = q.logprobs[:m.n:m.n], q.top[:m.n:m.n]
	}
	return u
}

// wait returns the final state of every sequence.
func (b *batch) wait(ctx context.Context) ([]update, error) {
	for {
		select {
		case <-b.wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		b.mu.Lock()
		if b.open > 0 {
			b.mu.Unlock()
			continue
		}
		out := make([]update, len(b.seqs))
		for i, q := range b.seqs {
			out[i] = q.update(mark{}, mark{text: len(q.text), ids: len(q.ids), n: q.n, final: true})
		}
		b.mu.Unlock()
		return out, nil
	}
}

// failure returns the error of a sequence that was aborted with an HTTP status. For other sequences it returns nil.
func (u *update) failure() *apiError {
	if !u.mark.final { // until the end the collector owns this field
		return nil
	}
	f := u.q.finish
	if f.Type != api.FinishAbort || f.Status == 0 {
		return nil
	}
	e := &apiError{status: f.Status, message: f.Message}
	if f.Status == 503 {
		e.retry = 1
	}
	return e
}

// reason returns the finish reason. It returns nil before the sequence has ended.
func (u *update) reason() *wire.FinishReason {
	if !u.mark.final {
		return nil
	}
	f, out := u.q.finish, &wire.FinishReason{Type: u.q.finish.Type, Message: u.q.finish.Message, Status: u.q.finish.Status}
	switch {
	case u.q.matched != nil: // a stop string
		out.Matched = wire.AppendString(nil, *u.q.matched)
	case f.Type == api.FinishStop && f.Matched != api.NoToken:
		out.Matched = wire.AppendTokens(nil, f.Matched)
	case f.Type == api.FinishLength:
		out.Length = u.mark.n
	}
	return out
}

// meta builds the meta_info of the state. If incremental is set, lists contain only the part that was added since the
// previous state.
func (u *update) meta(incremental bool) *wire.MetaInfo {
	q := u.q
	m := &wire.MetaInfo{
		ID:               q.req.ID,
		FinishReason:     u.reason(),
		PromptTokens:     len(q.req.Input),
		CompletionTokens: u.mark.n,
		CachedTokens:     u.cached,
		CachedDetails:    &wire.CachedTokensDetails{Device: u.cached}, // all cached tokens are on the device
		WeightVersion:    q.b.s.info.WeightVersion,
		Retractions:      u.retracts,
	}
	if q.b.s.info.DP > 1 {
		m.DPRank = &u.dpRank
	}
	if q.req.ReturnLogprob {
		m.HasLogprobs, m.HasTop = true, q.req.TopLogprobs > 0
		m.InputLogprobs, m.OutputLogprobs = u.prompts, u.logprobs
		m.InputTop, m.OutputTop = u.ptop, u.top
		if q.b.s.info.Role == api.Decode { // SGLang's routers add the prompt's log probabilities
			m.InputLogprobs, m.InputTop = nil, nil
		}
		if incremental {
			m.OutputLogprobs, m.OutputTop = u.logprobs[u.prev.n:], u.top[u.prev.n:]
			if u.prev != (mark{}) {
				m.InputLogprobs, m.InputTop = nil, nil
			}
		}
	}
	if u.mark.final {
		m.E2ELatency = new(q.e2e.Seconds())
	}
	return m
}
