package sched

import (
	"time"

	"github.com/stepscope/stepscope/internal/engine/kvcache"
	"github.com/stepscope/stepscope/internal/engine/model"
)

// Stats is the state of one data-parallel rank, after its last step. Tokens are
// positions of the KV cache, whole blocks, unless said otherwise. Totals count
// since the start.
type Stats struct {
	Running   int
	Waiting   int
	ForwardCt int64

	Capacity        int // of the KV cache
	UsedTokens      int // held by requests
	EvictableTokens int // held by the prefix cache alone
	FreeTokens      int
	WaitingTokens   int // prompt tokens that wait to be computed, the cut prompt's rest included
	SumSeqLens      int // tokens of the running sequences

	GenThroughput float64 // generated tokens/s, over the last so many decode steps, or up to the last idleness
	CacheHitRate  float64 // part of the last prefill batch's prompt tokens
	NewTokenRatio float64
	Graph         bool // the last decode step was a replayed graph
	Retracted     int  // requests, by the last decode step

	PromptTokens    int64 // of requests whose prompt is computed
	CachedTokens    int64 // of those, found in the cache
	ComputedTokens  int64 // prompt tokens that went through the model, retracted ones again
	GeneratedTokens int64
	Finished        int64 // requests that ended by themselves
	Aborted         int64

	RetractedRequests int64 // retractions
	RetractedInput    int64 // prompt tokens of them
	RetractedOutput   int64 // generated tokens of them

	PrefillBusy, DecodeBusy time.Duration // in forward passes

	// Requests that wait for another server, see disagg.go (SetAside were retracted
	// on a decode server), and those that came to nothing since the start.
	Bootstrap, Inflight, Prealloc, Transfer, SetAside int
	BootstrapFailed, TransferFailed                   int64
}

// Usage is the part of the KV cache that requests hold.
func (s *Stats) Usage() float64 {
	if s.Capacity == 0 {
		return 0
	}
	return float64(s.UsedTokens) / float64(s.Capacity)
}

// Stats returns the present state. Any goroutine may call it.
func (s *Scheduler) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	for _, q := range s.adds {
		st.Waiting++
		st.WaitingTokens += len(q.tokens)
	}
	return st
}

// note brings the state up to date for other goroutines.
func (s *Scheduler) note() {
	u := s.cache.Usage()
	m := &s.meter
	st := Stats{
		Running: len(s.running), Waiting: len(s.waiting), ForwardCt: s.count,
		Capacity:        s.Capacity(),
		UsedTokens:      u.Used() * kvcache.BlockSize,
		EvictableTokens: u.Evictable * kvcache.BlockSize,
		FreeTokens:      u.Free * kvcache.BlockSize,
		GenThroughput:   m.genThroughput, CacheHitRate: m.hitRate, NewTokenRatio: s.ratio.now, Graph: m.graph, Retracted: m.lastRetracted,
		PromptTokens: m.prompts, CachedTokens: m.cached, ComputedTokens: m.prompt, GeneratedTokens: m.generated,
		Finished: m.finished, Aborted: m.aborted,
		RetractedRequests: m.retracted, RetractedInput: m.retractedIn, RetractedOutput: m.retractedOut,
		PrefillBusy: m.busy[model.Extend], DecodeBusy: m.busy[model.Decode],
	}
	a := &s.away
	st.Bootstrap, st.Inflight, st.Prealloc, st.Transfer = len(a.bootstrap), len(a.inflight), len(a.prealloc), len(a.transfer)
	st.SetAside = len(a.retracted)
	st.BootstrapFailed, st.TransferFailed = m.bootstrapFailed, m.transferFailed
	for _, q := range s.waiting {
		st.WaitingTokens += len(q.tokens)
	}
	for _, q := range s.running {
		st.SumSeqLens += len(q.tokens)
	}
	if q := s.chunked; q != nil {
		st.Running++
		st.WaitingTokens += len(q.tokens) - q.computed
	}
	s.mu.Lock()
	s.stats = st
	s.queued = len(s.adds) + len(s.waiting) + len(a.bootstrap) + len(a.prealloc)
	s.mu.Unlock()
}

// Report is one forward step as a log tells it, with SGLang's figures.
type Report struct {
	Time    time.Time // of the step's end
	Step    int64     // forward_ct
	Prefill bool      // else decode
	Running int       // sequences that decode; of a prefill batch: that would have
	Queued  int
	Tokens  int     // positions held in the KV cache
	Usage   float64 // the part of the KV cache that is
	Graph   bool    // a replayed graph

	NewTokens int // prefill: computed; decode: generated

	// Of prefill batches.
	NewSeqs       int // sequences in the batch
	CachedTokens  int // found in the prefix cache
	PendingTokens int // prompt tokens that wait to be computed

	// With a server of each kind; Preallocated is the part of the KV cache that the
	// transfer queue holds.
	Bootstrap, Inflight, Prealloc, Transfer, SetAside int
	Preallocated                                      float64
}

// meter counts for statistics and reports.
type meter struct {
	prompts, cached, prompt, generated, finished, aborted int64
	retracted, retractedIn, retractedOut                  int64
	lastRetracted                                         int // by the last decode step
	bootstrapFailed, transferFailed                       int64
	busy                                                  [2]time.Duration
	graph                                                 bool
	hitRate, genThroughput                                float64

	sinceLine  int64 // tokens generated since genThroughput was worked out
	lastDecode time.Time
	steps      int // decode steps since
}

// ran counts one forward pass.
func (m *meter) ran(mode model.Mode, took time.Duration) {
	m.busy[mode&1] += took
	if mode == model.Decode {
		m.steps++
	}
}

// admitted counts a request whose prompt is computed, once.
func (m *meter) admitted(q *seq) {
	if q.retractions > 0 {
		return
	}
	m.prompts += int64(len(q.Input))
	m.cached += int64(q.cached)
}

func (m *meter) retract(q *seq) {
	m.retracted++
	m.lastRetracted++
	m.retractedIn += int64(len(q.Input))
	m.retractedOut += int64(q.generated())
}

// pause ends the counting of generated tokens when there is nothing more to do.
func (m *meter) pause() {
	if m.sinceLine > 0 {
		m.lineDecode(time.Now())
	}
}

// lineDecode ends one stretch of decoding and begins the next.
func (m *meter) lineDecode(now time.Time) {
	m.genThroughput = rate(m.sinceLine, now.Sub(m.lastDecode))
	m.sinceLine, m.lastDecode, m.steps = 0, now, 0
}

func rate(n int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

// report tells of the step that ended.
func (s *Scheduler) report(mode model.Mode) {
	m := &s.meter
	r := Report{Time: time.Now(), Step: s.count, Prefill: mode == model.Extend, Queued: len(s.waiting)}
	u := s.cache.Usage()
	r.Tokens = u.Used() * kvcache.BlockSize
	r.Usage = float64(u.Used()) / float64(max(u.Total, 1))
	a := &s.away
	r.Bootstrap, r.Inflight, r.Prealloc, r.Transfer = len(a.bootstrap), len(a.inflight), len(a.prealloc), len(a.transfer)
	r.SetAside = len(a.retracted)
	held := 0
	for _, q := range a.transfer {
		held += len(q.table.Blocks)
	}
	r.Preallocated = float64(held) / float64(max(u.Total, 1))
	if mode == model.Extend {
		s.reportPrefill(&r)
	} else {
		m.graph = s.opt.Graphs
		if m.steps >= s.opt.DecodeInterval {
			m.lineDecode(r.Time)
		}
		r.Running, r.NewTokens, r.Graph = len(s.acts), len(s.acts), m.graph
	}
	if s.opt.Report != nil {
		s.opt.Report(r)
	}
}

func (s *Scheduler) reportPrefill(r *Report) {
	m := &s.meter
	r.Running, r.NewSeqs = s.decoding, len(s.acts)
	for i, a := range s.acts {
		r.NewTokens += len(s.seqs[i].Tokens)
		r.CachedTokens += a.hit
	}
	for _, q := range s.waiting {
		r.PendingTokens += len(q.tokens)
	}
	if q := s.chunked; q != nil {
		r.PendingTokens += len(q.tokens) - q.computed
	}
	m.hitRate = float64(r.CachedTokens) / float64(max(r.CachedTokens+r.NewTokens, 1))
}
