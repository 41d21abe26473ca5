package sched

import (
	"errors"
	"slices"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine/kvcache"
)

// Prefill and decode on two servers, as in python/sglang/srt/disaggregation.
//
// On the prefill server, a request with a [Sender] waits in the bootstrap queue until the decode server has memory for
// the request. Then the request waits for its prefill, like any other request. After the first token, the request is in
// the inflight queue until its keys and values have arrived at the decode server. On the decode server, a request with
// a [Receiver] waits in the prealloc queue for memory. While its keys and values arrive, it is in the transfer queue.
// Then the request decodes.
//
// A transfer reads or writes blocks outside this package's control. If a request ends before its transfer, the client
// gets the last event at once, but the request's blocks are held until the transfer ends.

// Sender sends the keys and values of one request to a decode server. It may call its callbacks from any goroutine.
type Sender interface {
	// Expect begins the transfer. opened is called when the decode server has memory for the request. ended is called
	// once, after the last read of the blocks.
	Expect(opened func(), ended func(error))
	// Finish declares that the prompt has been computed. It passes on the first token, if there is one.
	Finish(first api.Event)
	// Abort ends the transfer. ended is called soon afterwards.
	Abort(reason error)
}

// Receiver receives the keys and values of one request from a prefill server.
type Receiver interface {
	// Receive fills the blocks. ended is called once, from any goroutine, after the last write to the blocks.
	Receive(blocks []int32, ended func(first api.Event, err error))
	// Abort ends the transfer. ended is called soon afterwards. If Receive has not been called, Abort notifies the
	// prefill server that no transfer will follow.
	Abort(reason error)
}

// ErrBootstrap is wrapped by the error of every transfer that ended before it started.
var ErrBootstrap = errors.New("bootstrap failed")

// away holds the requests that wait for another server.
type away struct {
	bootstrap, inflight []*seq // on the prefill server
	prealloc, transfer  []*seq // on the decode server
	retracted           []*seq // on the decode server: retracted sequences whose keys and values are kept
	leaving             []*seq // requests that have ended but whose blocks a transfer still reads or writes
}

func (a *away) empty() bool {
	return len(a.all())+len(a.leaving) == 0
}

// holding reports whether transfers hold blocks. Such blocks may become free without a step.
func (a *away) holding() bool { return len(a.inflight)+len(a.transfer)+len(a.leaving) > 0 }

func (a *away) queues() api.Queues {
	return api.Queues{Bootstrap: len(a.bootstrap), Inflight: len(a.inflight), Prealloc: len(a.prealloc), Transfer: len(a.transfer), SetAside: len(a.retracted)}
}

func (a *away) remove(q *seq) {
	for _, list := range []*[]*seq{&a.bootstrap, &a.inflight, &a.prealloc, &a.transfer, &a.retracted} {
		remove(list, q)
	}
}

func (a *away) all() []*seq {
	return slices.Concat(a.bootstrap, a.inflight, a.prealloc, a.transfer, a.retracted)
}

// arrive puts a new request into its first queue.
func (s *Scheduler) arrive(q *seq) {
	switch {
	case q.Send != nil:
		s.away.bootstrap = append(s.away.bootstrap, q)
		q.table.Pinned, q.moving = true, true
		q.Send.Expect(func() { s.Do(func() { s.opened(q) }) }, func(err error) { s.Do(func() { s.sent(q, err) }) })
	case q.Recv != nil:
		enqueue(&s.away.prealloc, q)
	case !s.overfull(q):
		enqueue(&s.waiting, q)
	}
}

// opened is called when the decode server has memory for q.
func (s *Scheduler) opened(q *seq) {
	if i := slices.Index(s.away.bootstrap, q); i >= 0 {
		s.away.bootstrap = slices.Delete(s.away.bootstrap, i, i+1)
		enqueue(&s.waiting, q)
	}
}

// Send lists the blocks of one sequence that a step sends to another server. They begin at index First, and no later
// step changes them.
type Send struct {
	To     Sender
	Blocks []int32
	First  int
}

// Sends lists the blocks that a step sends.
func (s Step) Sends() []Send {
	var out []Send
	for _, p := range s.parts {
		if p.upto > p.seq.sent {
			out = append(out, Send{p.seq.Send, slices.Clone(p.seq.table.Blocks[p.seq.sent:p.upto]), p.seq.sent})
		}
	}
	return out
}

// upto returns the number of blocks of q that can be sent to another server after q has been computed up to position
// end.
func (q *seq) upto(end int) int {
	switch {
	case q.Send == nil:
		return 0
	case end == len(q.tokens):
		return kvcache.Blocks(end)
	}
	return end / kvcache.BlockSize
}

// handOver ends the prefill of a request and passes the first token to the decode server.
func (s *Scheduler) handOver(q *seq, logits []float32) {
	q.first = api.Event{Token: api.NoToken}
	if q.left() > 0 {
		e, err := s.choose(q, logits)
		if err != nil {
			s.abort(q, api.Finish{Type: api.FinishAbort, Message: err.Error(), Status: 500})
			return
		}
		q.first = e
	}
	q.complete(&q.first)
	s.away.inflight = append(s.away.inflight, q)
	q.Send.Finish(q.first)
}

// abort ends a request with a reason.
func (s *Scheduler) abort(q *seq, f api.Finish) {
	s.drop(q)
	q.finish(f)
	s.meter.aborted++
}

// sent is called when the decode server has received all keys and values of q, or when the transfer has failed.
func (s *Scheduler) sent(q *seq, err error) {
	q.moving = false
	if s.left(q) {
		return
	}
	if err != nil {
		s.moveFailed(q, err)
		return
	}
	s.drop(q)
	q.first.Finish = &api.Finish{Type: api.FinishLength}
	q.tell(q.first)
	s.meter.finished++
}

// left reports whether q ended before its transfer. If so, left releases the blocks of q.
func (s *Scheduler) left(q *seq) bool {
	i := slices.Index(s.away.leaving, q)
	if i < 0 {
		return false
	}
	s.away.leaving = slices.Delete(s.away.leaving, i, i+1)
	s.letGo(q)
	return true
}

func (s *Scheduler) moveFailed(q *seq, err error) {
	if errors.Is(err, ErrBootstrap) {
		s.meter.bootstrapFailed++
	} else {
		s.meter.transferFailed++
	}
	s.abort(q, api.Finish{Type: api.FinishAbort, Message: err.Error(), Status: 500})
}

// Keeper is a model that can copy keys and values in order to restore them later. A decode server copies the keys and
// values of retracted sequences, because it cannot compute prompts again.
type Keeper interface {
	// Keep copies the contents of blocks and returns a function that writes these contents to the same number of other
	// blocks. Both functions are called between steps.
	Keep(blocks []int32) (restore func(blocks []int32))
}

// keep copies the keys and values of a retracted sequence if the prompt was computed on another server and the model is
// a Keeper. It reports whether they were copied.
func (s *Scheduler) keep(q *seq) bool {
	k, ok := s.model.(Keeper)
	if !ok || q.Recv == nil {
		return false
	}
	q.restore, q.kept = k.Keep(q.table.Blocks[:kvcache.Blocks(q.computed)]), q.computed
	return true
}

// preallocate allocates memory first for retracted requests and then for new requests in the order of arrival. It
// continues as long as the rules for admission to a prefill allow.
func (s *Scheduler) preallocate() {
	a := &s.away
	for len(s.running)+len(a.transfer) < s.opt.MaxRunning {
		list := &a.retracted
		if len(*list) == 0 {
			list = &a.prealloc
		}
		if len(*list) == 0 || !s.place((*list)[0]) {
			return
		}
		q := (*list)[0]
		*list = slices.Delete(*list, 0, 1)
		if q.restore != nil {
			q.restore(q.table.Blocks[:kvcache.Blocks(q.kept)])
			q.computed, q.restore = q.kept, nil
			s.running = append(s.running, q)
			continue
		}
		a.transfer = append(a.transfer, q)
		q.moving = true
		q.Recv.Receive(slices.Clone(q.table.Blocks), func(first api.Event, err error) { s.Do(func() { s.received(q, first, err) }) })
	}
}

// place allocates the blocks of q and reports whether it succeeded. If other sequences are running or arriving, enough
// blocks must also be available for the tokens that all sequences are expected to generate.
func (s *Scheduler) place(q *seq) bool {
	if len(s.running)+len(s.away.transfer) > 0 {
		come := q.reserve()
		for _, r := range s.running {
			come += int(float64(r.reserve()) * s.ratio.now)
		}
		for _, r := range s.away.transfer {
			come += r.reserve()
		}
		if !s.cache.Fits(kvcache.Blocks(len(q.tokens)) + kvcache.Blocks(come)) {
			return false
		}
	}
	return s.cache.Grow(&q.table, len(q.tokens))
}

// received is called when the keys and values of q have arrived, or when the transfer has failed.
func (s *Scheduler) received(q *seq, first api.Event, err error) {
	q.moving = false
	if s.left(q) {
		return
	}
	if err != nil {
		s.moveFailed(q, err)
		return
	}
	remove(&s.away.transfer, q)
	q.computed, q.cached, q.scored = len(q.Input), first.Cached, true
	s.meter.admitted(q)
	if first.Token == api.NoToken {
		first.Finish = &api.Finish{Type: api.FinishLength}
	} else {
		first.Finish = q.accept(first.Token)
		s.meter.generated++
		s.meter.sinceLine++
	}
	q.tell(first)
	if first.Finish == nil {
		s.running = append(s.running, q)
		return
	}
	s.letGo(q)
	s.meter.finished++
}
