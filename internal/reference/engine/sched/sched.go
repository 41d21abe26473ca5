// Package sched decides which sequences run in each forward step of one data-parallel rank. It implements continuous
// batching in the same way as SGLang's scheduler.
//
// A [Scheduler] owns a queue, the running sequences and the blocks of the KV cache. Its loop, [Scheduler.Run], prefers
// prefill: as long as waiting requests fit, the loop computes their prompts. Long prompts are computed in chunks.
// Otherwise all running sequences decode one token together. When a decode step needs more blocks than are available,
// sequences are retracted: they release their blocks and return to the queue. The prompt of a retracted sequence is
// computed again, together with the tokens generated so far. The next token depends only on the tokens before it, the
// seed and the position. Therefore batching, caching and retraction do not change a request's tokens.
//
// The rules follow python/sglang/srt/managers/{scheduler,schedule_policy,schedule_batch}.py. Lengths are in tokens,
// cache sizes in blocks of kvcache.BlockSize positions.
package sched

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine/kvcache"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
	"github.com/stepscope/stepscope/internal/reference/engine/sample"
)

// Model runs the forward pass of all ranks that share the scheduler's batches.
type Model interface {
	// Forward runs one step. It returns when every rank has finished the step. The result is the requested rows of
	// logits, in the order of the sequences. The rows are valid until the next call. An error concerns only this step.
	Forward(s Step) ([][]float32, error)
	// Err returns the error that prevents all further steps, or nil.
	Err() error
}

// Step is one forward step.
type Step struct {
	Count int64 // forward_ct: steps so far, including this one
	Batch *model.Batch
	parts []part // parts of the batch's sequences; valid as long as the batch

	Detailed bool // whether the name includes sums of lengths
}

var escapeID = strings.NewReplacer("%", "%25", ",", "%2C")

// EscapeID escapes the commas in a request's id, because commas separate ids in traces.
func EscapeID(id string) string { return escapeID.Replace(id) }

// Requests lists the ids of the step's requests in order, separated by commas. In an id, "%2C" represents a comma and
// "%25" represents a per cent sign.
func (s Step) Requests() string {
	ids := make([]string, len(s.parts))
	for i, p := range s.parts {
		ids[i] = EscapeID(p.seq.ID)
	}
	return strings.Join(ids, ",")
}

// Name is the step's annotation in a trace, in SGLang's format.
func (s Step) Name() string {
	if s.Batch.Mode == model.Extend {
		return fmt.Sprintf("step[EXTEND bs=%d toks=%d%s]", len(s.Batch.Seqs), s.Batch.Tokens(), s.sums("c"))
	}
	return fmt.Sprintf("step[%s bs=%d%s]", s.Batch.Mode, len(s.Batch.Seqs), s.sums("g"))
}

// sums formats the sums that SGLang's detailed annotations contain. The work of a step can be computed from these sums.
// For a sequence, let n be the number of new tokens and k the number of positions that these tokens attend to. Each of
// n, n², n·k and k is summed over all sequences.
func (s Step) sums(group string) string {
	if !s.Detailed {
		return ""
	}
	var sq, sqsq, sqsk, sk int
	for i := range s.Batch.Seqs {
		n := len(s.Batch.Seqs[i].Tokens)
		all := s.Batch.Seqs[i].Start + n
		sq, sqsq, sqsk, sk = sq+n, sqsq+n*n, sqsk+n*all, sk+all
	}
	return fmt.Sprintf(" %s_sq=%d %[1]s_sqsq=%[3]d %[1]s_sqsk=%[4]d %[1]s_sk=%[5]d forward_id=%[6]d", group, sq, sqsq, sqsk, sk, s.Count)
}

// Hooks are called by the loop before and after each forward pass, while no rank is running.
type Hooks interface {
	BeforeStep(Step) (detailed bool) // detailed: the step's name includes sums
	AfterStep(Step)
}

// Options configure a scheduler.
type Options struct {
	Blocks         int // number of blocks in the KV cache
	DisableRadix   bool
	ChunkedPrefill int // maximum new tokens of one prefill batch; below 1: prompts are not chunked
	MaxPrefill     int // maximum new tokens of a prefill batch; a single prompt may have more; default 16384
	MaxRunning     int // concurrent sequences; default 64
	MaxQueued      int // waiting requests; 0: no limit
	Priority       Priority
	Vocab          int
	// Conservativeness scales the future tokens reserved for running sequences when new sequences are admitted
	// (--schedule-conservativeness); default 1.
	Conservativeness float64
	Graphs           bool // whether decode steps replay graphs; used only in reports
	DecodeInterval   int  // decode steps per throughput measurement; default 40
	Hooks            Hooks
	Report           func(api.Step) // called for each step by the loop; must not block
}

// WithDefaults replaces zero values by the defaults.
func (o Options) WithDefaults() Options {
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&o.MaxPrefill, 16384)
	def(&o.MaxRunning, 64)
	def(&o.DecodeInterval, 40)
	if o.Conservativeness <= 0 {
		o.Conservativeness = 1
	}
	return o
}

// Scheduler is the scheduler of one data-parallel rank. Fields that no mutex guards belong to the goroutine in Run.
type Scheduler struct {
	opt   Options
	model Model

	cache   *kvcache.Cache
	sampler sample.Sampler
	waiting []*seq // by rank, then by arrival
	running []*seq // the sequences that decode together
	chunked *seq   // admitted sequence whose prompt is not yet fully computed
	away    away   // requests that wait for another server
	count   int64  // forward_ct
	ratio   newTokenRatio
	meter   meter
	fatal   error // error that prevents all further steps

	seqs     []model.Seq // sequences of the current batch
	acts     []part
	decoding int // sequences in running when the step began

	mu        sync.Mutex
	inbox     []func() // functions submitted by other goroutines, to be run between steps
	adds      []*seq
	queued    int // len(adds) + len(waiting) + requests that wait for another server before they are admitted
	arrival   uint64
	stopped   bool
	stats     api.Stats
	idleSince time.Time     // zero: the loop is not idle
	wake      chan struct{} // signals that inbox or stopped has changed; buffers one signal
	idle      chan struct{} // closed while there is no work; replaced when work arrives
	isIdle    bool
}

// New returns a scheduler. The caller must start Run.
func New(m Model, opt Options) *Scheduler {
	opt = opt.WithDefaults()
	s := &Scheduler{
		opt:    opt,
		model:  m,
		cache:  kvcache.New(kvcache.Options{Blocks: opt.Blocks, DisableRadix: opt.DisableRadix}),
		ratio:  newRatio(opt.Conservativeness),
		wake:   make(chan struct{}, 1),
		idle:   make(chan struct{}),
		isIdle: true,
	}
	close(s.idle)
	s.meter.lastDecode = time.Now()
	s.meter.since = s.meter.lastDecode
	s.note()
	return s
}

// PageSize is the allocation unit of the KV cache, in positions.
const PageSize = kvcache.BlockSize

// Capacity is the number of positions in the KV cache.
func (s *Scheduler) Capacity() int { return s.opt.Blocks * kvcache.BlockSize }

// Run is the scheduler's loop. After Stop it aborts the remaining requests and returns.
func (s *Scheduler) Run() {
	for {
		alive := s.take()
		if !alive {
			s.abortAll(api.Finish{Type: api.FinishAbort, Message: api.ErrUnavailable.Error(), Status: 503})
			s.note()
			s.mu.Lock()
			s.nowIdle()
			s.mu.Unlock()
			return
		}
		s.step()
		s.meter.enter(api.Other)
		s.note()
	}
}

// take runs the functions submitted by other goroutines. If the scheduler has no work at all, take waits for work. It
// returns false after Stop.
func (s *Scheduler) take() bool {
	for {
		s.meter.enter(api.RecvRequests)
		s.mu.Lock()
		calls, adds, stopped := s.inbox, s.adds, s.stopped
		s.inbox, s.adds = nil, nil
		for _, q := range adds { // published statistics omit these requests until the next note
			s.stats.Waiting++
			s.stats.WaitingTokens += len(q.tokens)
		}
		s.mu.Unlock()
		s.meter.enter(api.ProcessInputRequests)
		for _, q := range adds {
			s.arrive(q)
		}
		for _, call := range calls {
			call()
		}
		if len(calls) > 0 {
			s.note()
		}
		if stopped {
			return false
		}
		if s.fatal != nil {
			s.abortAll(api.Finish{Type: api.FinishAbort, Message: s.fatal.Error(), Status: 500})
			s.note()
		}
		s.meter.enter(api.ProcessQueue)
		s.preallocate()
		if s.busy() {
			return true
		}
		s.meter.pause()
		s.ratio.reset()
		s.meter.enter(api.Idle)
		s.note()
		if s.setIdle() {
			<-s.wake
		}
	}
}

func (s *Scheduler) busy() bool { return len(s.waiting)+len(s.running) > 0 || s.chunked != nil }

// setIdle marks the scheduler as idle, unless a request waits for another server. If new work has arrived, setIdle
// returns false.
func (s *Scheduler) setIdle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.inbox)+len(s.adds) > 0 || s.stopped {
		return false
	}
	if s.away.empty() {
		s.nowIdle()
	}
	return true
}

// signal wakes the loop. The caller holds s.mu.
func (s *Scheduler) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// step runs one forward step.
func (s *Scheduler) step() {
	s.meter.enter(api.GetNextBatch)
	s.acts = s.acts[:0]
	s.seqs = s.seqs[:0]
	mode := model.Extend
	s.planPrefill()
	if len(s.acts) == 0 {
		mode = model.Decode
		s.planDecode()
	}
	if len(s.acts) == 0 {
		s.stuck()
		return
	}
	s.decoding = len(s.running)
	s.count++
	st := Step{Count: s.count, Batch: &model.Batch{Mode: mode, Seqs: s.seqs}, parts: s.acts}
	start := s.meter.enter(api.RunBatch)
	for _, a := range s.acts {
		if a.seq.began.IsZero() {
			a.seq.began = start
		}
	}
	if s.opt.Hooks != nil {
		st.Detailed = s.opt.Hooks.BeforeStep(st)
	}
	rows, err := s.model.Forward(st)
	if s.opt.Hooks != nil {
		s.opt.Hooks.AfterStep(st)
	}
	if err == nil && len(rows) != wanted(s.seqs) {
		err = fmt.Errorf("the model returned %d rows of logits; want %d", len(rows), wanted(s.seqs))
	}
	if err != nil {
		s.failed(err)
		return
	}
	s.meter.ran(mode, s.meter.enter(api.ProcessBatchResult).Sub(start))
	s.absorb(mode, rows)
	s.report(mode)
	if mode == model.Decode {
		s.ratio.decay()
	}
}

// stuck ends the first waiting request if the request does not fit although no other request is running. This happens
// if the submitter did not check Capacity. While transfers hold blocks, the request waits for the transfers to end.
func (s *Scheduler) stuck() {
	switch {
	case len(s.waiting) == 0:
	case s.away.holding():
		s.meter.enter(api.Idle)
		s.note()
		<-s.wake
	default:
		q := s.waiting[0]
		s.abort(q, api.Finish{Type: api.FinishAbort, Message: fmt.Sprintf("%d tokens do not fit in the KV cache of %d", len(q.tokens), s.Capacity()), Status: 400})
	}
}

// wanted counts the rows of logits that a batch requests.
func wanted(seqs []model.Seq) int {
	n := 0
	for i := range seqs {
		switch q := &seqs[i]; {
		case q.NoLogits:
		case q.WantAll:
			n += len(q.Tokens)
		default:
			n++
		}
	}
	return n
}

// failed ends the sequences of a step that could not run.
func (s *Scheduler) failed(err error) {
	for _, a := range s.acts {
		s.abort(a.seq, api.Finish{Type: api.FinishAbort, Message: err.Error(), Status: 500})
	}
	s.fatal = s.model.Err()
}

// drop removes a sequence from the scheduler and frees its blocks. Its computed prefix stays in the cache.
func (s *Scheduler) drop(q *seq) {
	if s.chunked == q {
		s.chunked = nil
	}
	remove(&s.waiting, q)
	remove(&s.running, q)
	s.away.remove(q)
	if q.Recv != nil && q.computed == 0 {
		q.Recv.Abort(errDropped)
	}
	if q.Send != nil && q.moving {
		q.Send.Abort(errDropped)
	}
	if q.moving {
		s.away.leaving = append(s.away.leaving, q)
		return
	}
	s.letGo(q)
}

// errDropped is the reason sent to the other server when a request has ended on this server.
var errDropped = errors.New("the request has ended")

// letGo publishes and releases the blocks of a sequence.
func (s *Scheduler) letGo(q *seq) {
	q.table.Pinned = false
	s.cache.Publish(&q.table, q.tokens[:q.computed])
	s.cache.Release(&q.table)
	q.computed = 0
}

func remove(list *[]*seq, q *seq) {
	if i := slices.Index(*list, q); i >= 0 {
		*list = slices.Delete(*list, i, i+1)
	}
}

// abortAll aborts all requests.
func (s *Scheduler) abortAll(f api.Finish) {
	all := slices.Concat(s.running, s.waiting, s.away.all())
	if s.chunked != nil {
		all = append(all, s.chunked)
	}
	for _, q := range all {
		s.abort(q, f)
	}
}
