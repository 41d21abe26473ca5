package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/api/wire"
)

// Reasons for the server to end a sequence, used as the cause of its context.
var (
	errStopString = errors.New("a stop string was found") // a normal end of the sequence
	errClientGone = errors.New("the client disconnected")
	errAborted    = errors.New("aborted by /abort_request")
	errSlowReader = errors.New("the client reads too slowly: its unread events exceed the limit")
	errShutdown   = errors.New("the server is shutting down")
	errLost       = errors.New("the engine ended the request without a reason")
)

// spec is a sequence as requested by the client.
type spec struct {
	req         *api.Request
	stops       []string
	noTrim      bool
	skipSpecial bool
	interval    int  // tokens between events
	textLogprob bool // whether logprobs include the tokens' texts
	prompt      string
}

// sequence is one sequence in flight. A goroutine, the collector, converts the engine's events to text. The handler of
// the request sends the new part of the text to the client.
type sequence struct {
	*spec
	b      *batch
	index  int
	cancel context.CancelCauseFunc
	ctx    context.Context

	// The following fields are owned by the collector.
	dec        TextStream
	stop       *stopper
	start      time.Time
	last       time.Time // time of the last token
	firstToken time.Time

	// The following fields are guarded by b.mu. text, ids and the logprobs only grow, so a prefix of them remains valid
	// after the lock has been released.
	text     []byte // escaped for JSON
	ids      []byte // joined by commas
	n        int    // tokens
	logprobs []wire.TokenLogprob
	top      [][]wire.TokenLogprob
	prompts  []wire.TokenLogprob
	ptop     [][]wire.TokenLogprob
	cached   int
	retracts int
	dpRank   int
	finish   *api.Finish
	matched  *string
	e2e      time.Duration
	marks    []mark // states not yet taken by the handler
	taken    int    // number of tokens that the handler has taken
	queued   bool   // whether the sequence is in b.dirty
}

// mark describes a state of a growing sequence by the lengths of its parts.
type mark struct {
	text, ids, n int
	final        bool
}

// collect reads the engine's events until the sequence ends. It then receives the remaining events, so that the engine
// can release the sequence.
func (q *sequence) collect(events <-chan api.Event) {
	for open := true; open; {
		select {
		case ev, ok := <-events:
			switch {
			case !ok && q.ctx.Err() != nil:
				q.abort(context.Cause(q.ctx))
				open = false
			case !ok:
				q.abort(errLost)
				open = false
			default:
				open = q.take(ev)
			}
		case <-q.ctx.Done():
			q.abort(context.Cause(q.ctx))
			open = false
		}
	}
	q.cancel(nil)
	for range events { // until the engine closes the channel
	}
}

// take applies one event and reports whether more events may follow.
func (q *sequence) take(ev api.Event) bool {
	now := q.b.s.o.Now()
	text, rest := "", ""
	var matched *string
	if ev.Token != api.NoToken {
		if !q.ends(ev) || q.noTrim {
			text = q.dec.Push(ev.Token)
		}
		q.clock(now)
		if ev.Prefilled > 0 && !q.req.Probe {
			m := q.b.s.metrics
			m.queue[ev.DPRank].Observe(ev.Waited.Seconds())
			m.prefill[ev.DPRank].Observe(ev.Prefilled.Seconds())
		}
	}
	if ev.Finish != nil {
		text += q.dec.Flush()
	}
	text, matched, rest = q.stop.feed(text)
	if matched != nil && q.noTrim {
		text += rest
	}
	finish := ev.Finish
	if matched != nil {
		finish = &api.Finish{Type: api.FinishStop, Matched: api.NoToken}
	} else if finish != nil {
		text += q.stop.flush()
	}

	b := q.b
	b.mu.Lock()
	defer b.mu.Unlock()
	q.cached, q.retracts, q.dpRank = max(q.cached, ev.Cached), max(q.retracts, ev.Retractions), ev.DPRank
	if ev.Token != api.NoToken {
		q.n++
		q.ids = wire.AppendTokens(q.ids, ev.Token)
		if q.req.ReturnLogprob {
			q.logprobs = append(q.logprobs, q.logprob(api.Logprob{ID: ev.Token, Logprob: ev.Logprob}))
			q.top = append(q.top, q.logprobList(ev.Top))
		}
	}
	if ev.Prompt != nil {
		for _, p := range ev.Prompt {
			q.prompts = append(q.prompts, q.logprob(p))
		}
		for _, p := range ev.PromptTop {
			q.ptop = append(q.ptop, q.logprobList(p))
		}
	}
	q.text = wire.AppendEscaped(q.text, text)
	if finish != nil {
		if matched != nil {
			q.cancel(errStopString)
		}
		q.end(finish, matched, now)
		return false
	}
	if q.b.stream {
		if q.n-q.taken > b.s.o.StreamBuffer {
			q.cancel(errSlowReader)
			return true
		}
		if q.interval <= 1 || q.n%q.interval == 1 {
			q.mark(false)
		}
	}
	return true
}

// ends reports whether the event's token stopped the sequence. Such a token is not part of the text.
func (q *sequence) ends(ev api.Event) bool {
	return ev.Finish != nil && ev.Finish.Type == api.FinishStop && ev.Finish.Matched == ev.Token
}

// abort ends the sequence for a reason that arose in the server.
func (q *sequence) abort(cause error) {
	f := &api.Finish{Type: api.FinishAbort, Matched: api.NoToken, Message: cause.Error()}
	switch {
	case errors.Is(cause, errShutdown):
		f.Status = http.StatusServiceUnavailable
	case errors.Is(cause, errLost):
		f.Status = http.StatusInternalServerError
	}
	text := q.stop.flush()
	q.b.mu.Lock()
	defer q.b.mu.Unlock()
	q.text = wire.AppendEscaped(q.text, text)
	q.end(f, nil, q.b.s.o.Now())
}

// end records the end of the sequence. The caller holds b.mu. end first updates the metrics and releases the request
// id, because a client may read the metrics and reuse the id as soon as the client has received the last event.
func (q *sequence) end(f *api.Finish, matched *string, now time.Time) {
	q.finish, q.matched, q.e2e = f, matched, now.Sub(q.start)
	q.b.open--
	q.b.s.finished(q, now)
	q.b.s.forget(q)
	q.mark(true)
}

// mark records the current state for the handler. The caller holds b.mu.
func (q *sequence) mark(final bool) {
	q.marks = append(q.marks, mark{text: len(q.text), ids: len(q.ids), n: q.n, final: final})
	if !q.queued {
		q.queued = true
		q.b.dirty = append(q.b.dirty, q)
	}
	if q.b.stream || q.b.open == 0 {
		select {
		case q.b.wake <- struct{}{}:
		default:
		}
	}
}

// clock records the latencies of one token in the metrics.
func (q *sequence) clock(now time.Time) {
	if q.req.Probe {
		return
	}
	m := q.b.s.metrics
	if q.firstToken.IsZero() {
		q.firstToken = now
		m.ttft(q.b.stream).Observe(now.Sub(q.start).Seconds())
	} else {
		m.itl.Observe(now.Sub(q.last).Seconds())
	}
	q.last = now
}

func (q *sequence) logprob(p api.Logprob) wire.TokenLogprob {
	t := wire.TokenLogprob{Logprob: p.Logprob, ID: p.ID}
	if q.textLogprob {
		t.Text = new(q.b.s.tok.Decode([]int32{p.ID}, false))
	}
	return t
}

func (q *sequence) logprobList(list []api.Logprob) []wire.TokenLogprob {
	if list == nil {
		return nil
	}
	out := make([]wire.TokenLogprob, len(list))
	for i, p := range list {
		out[i] = q.logprob(p)
	}
	return out
}
